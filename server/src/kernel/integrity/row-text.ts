import { sha256 } from '../crypto/digest.ts';

export type ColumnValue = string | number | null | Uint8Array;

/** For a sealed value the head is enough: its tag authenticates the rest, and nobody without the key can make another value with that tag. */
export const SEALED_HEAD_BYTES = 1 + 4 + 12 + 16;

/** Serializes a row unambiguously: each field carries its type and length, so that nothing can be shifted from one field into the next. */
export function fieldText(value: ColumnValue | undefined): string {
  if (value === null || value === undefined) return 'n;';
  if (typeof value === 'number') return `i${value};`;
  if (typeof value === 'string') return `s${value.length}:${value};`;
  return `b${value.length}:${hexOf(value)};`;
}

/**
 * Serializes columns that later migrations added. Trailing nulls are left out, so that the text of a row from before the migration does not change.
 * The result is still unambiguous, because every field carries its type and length.
 */
export function appendedText(values: readonly (ColumnValue | undefined)[]): string {
  const last = values.findLastIndex((value) => value !== null && value !== undefined);
  return values
    .slice(0, last + 1)
    .map(fieldText)
    .join('');
}

/** The head and the length of a sealed value. */
export function sealedText(value: Uint8Array | null): string {
  if (value === null) return 'n;';
  return `h${value.length}:${hexOf(value, SEALED_HEAD_BYTES)};`;
}

function hexOf(bytes: Uint8Array, most = bytes.length): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, most)).toString('hex');
}

/** The digest in the audit log. It has no key, so that it outlives a change of keys. Rows hold no short secrets, only hashes and sealed values. */
export function rowDigest(text: string): string {
  return sha256(text).toString('base64url');
}
