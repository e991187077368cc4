import { signal } from '@preact/signals';

/** Who has a second factor shows it; who has none, where that would do, signs in again. */
export type Proof = 'factor' | 'sign_in';

/** Whether a request was refused because it takes a second factor that is a day old or trusted. Why is explained where the error is shown. */
export function takesTrustedFactor(error: { readonly details: Readonly<Record<string, unknown>> } | null): boolean {
  return error?.details['trusted_factor'] === true;
}

/** Refusals after which somebody was asked for a proof and decided to give none. They know why nothing happened. */
export const cancelled = new WeakSet<object>();

/** Somebody is asked to prove again who they are; `decide` is called with whether they did. */
export const stepUpRequest = signal<{ proof: Proof; decide: (isShown: boolean) => void } | null>(null);
