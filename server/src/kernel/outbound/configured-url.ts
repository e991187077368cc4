import { invalidField } from '../base/errors.ts';
import type { AddressGuard } from './address-guard.ts';

/** Refuses a URL that is being configured if no call to it could ever be allowed. `text` was parsed before. */
export function refuseForbidden(guard: AddressGuard, pointer: string, text: string): void {
  const { hostname, protocol } = new URL(text);
  const refusal = guard.refusalOf(hostname, protocol === 'https:' || protocol === 'tls:');
  if (refusal !== null) throw invalidField(pointer, refusal);
}
