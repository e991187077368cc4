import type { KeyObject } from 'node:crypto';
import { hmacSha256 } from './digest.ts';

/** A key used only for MACs. HMAC needs no IV, so its number of uses is neither limited nor counted. */
export interface MacKey {
  readonly version: number;
  mac(data: string | Uint8Array): Buffer;
}

export function macKeyOf(key: KeyObject, version: number): MacKey {
  return { version, mac: (data) => hmacSha256(key, data) };
}
