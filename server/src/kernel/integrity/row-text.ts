import { sha256 } from '../crypto/digest.ts';

export type ColumnValue = string | number | null | Uint8Array;

/** Of a sealed value the head is enough: its tag authenticates the rest to whoever holds the key, and nobody else makes another with that tag. */
export const SEALED_HEAD_BYTES = 1 + 4 + 12 + 16;

/**
 * A row as one text, the same for the same row and for no other: each field carries its type and length, so that nothing can be shifted
 * from one field into the next.
 */
export function fieldText(value: ColumnValue | undefined): string {
  if (value === null || value === undefined) return 'n;';
  if (typeof value === 'number') return `i${value};`;
  if (typeof value === 'string') return `s${value.length}:${value};`;
  return `b${value.length}:${hexOf(value)};`;
}

/**
 * Columns that a later migration added. Nulls at the end are left out, so that the text of a row from before the migration stays what it was;
 * it is still the text of no other row, since every field that is there carries its type and length.
 */
export function appendedText(values: readonly (ColumnValue | undefined)[]): string {
  const last = values.findLastIndex((value) => value !== null && value !== undefined);
  return values
    .slice(0, last + 1)
    .map(fieldText)
    .join('');
}

/** The head and the length of what is sealed. */
export function sealedText(value: Uint8Array | null): string {
  if (value === null) return 'n;';
  return `h${value.length}:${hexOf(value.subarray(0, SEALED_HEAD_BYTES))};`;
}

function hexOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex');
}

/** What the audit log says of a row: not keyed, so that it outlives a change of keys. Rows hold no short secrets, only hashes and sealed values. */
export function rowDigest(text: string): string {
  return sha256(text).toString('base64url');
}
