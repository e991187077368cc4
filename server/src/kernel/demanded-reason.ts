import { invalidField } from './errors.ts';

/** A reason as it is recorded. Blanks around it do not count, and alone they are none. */
export function demandedReason(text: string, lengthMin: number): string {
  const reason = text.trim();
  if (reason.length >= Math.max(lengthMin, 1)) return reason;
  throw invalidField('/body/reason', `must be at least ${lengthMin} characters, without the blanks around them`);
}
