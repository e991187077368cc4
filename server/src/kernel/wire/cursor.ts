import { type CofferError, invalidField } from '../base/errors.ts';

/** Room for the longest path (1,024 bytes), sealed and encoded in base64 twice. */
export const CURSOR_LENGTH_MAX = 2048;
/** A dot and 128 bits, which bind a cursor to its list: see `list-cursor.ts`. */
export const BINDING_LENGTH = 23;

/**
 * A keyset cursor holds only the key of the last row that the caller was shown. It is not secret and needs no state. Before it is sent, it is bound
 * to its list (`list-cursor.ts`).
 */
export function encodeCursor(key: readonly string[]): string {
  return Buffer.from(JSON.stringify(key), 'utf8').toString('base64url');
}

/** `forms` describe the parts of this list's key, so that a cursor of another list or a forged one is refused. */
export function decodeCursor(cursor: string | undefined, ...forms: RegExp[]): string[] | null {
  return decodeCursorAt('/query/cursor', cursor, ...forms);
}

/** The same for a cursor in another part of the request. */
export function decodeCursorAt(pointer: string, cursor: string | undefined, ...forms: RegExp[]): string[] | null {
  if (cursor === undefined) return null;
  const key = cursor.length <= CURSOR_LENGTH_MAX ? parse(cursor) : null;
  const isKey = Array.isArray(key) && key.length === forms.length && key.every((part, i) => isOfForm(part, forms[i]));
  if (!isKey || encodeCursor(key) !== cursor) {
    throw foreignCursor(pointer);
  }
  return key;
}

export function foreignCursor(pointer: string): CofferError {
  return invalidField(
    pointer,
    'is not a cursor of this list: send next_cursor of the previous page unchanged, with the same filters',
  );
}

function isOfForm(part: unknown, form: RegExp | undefined): boolean {
  return typeof part === 'string' && (form?.test(part) ?? false);
}

function parse(cursor: string): unknown {
  try {
    return JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'));
  } catch {
    return null;
  }
}

export interface Page<T> {
  rows: T[];
  next_cursor: string | null;
}

/** Stores load one row more than the page holds. That row only shows whether there is a next page. */
export function pageOf<T>(rows: T[], limit: number, key: (row: T) => string[]): Page<T> {
  const last = rows[limit - 1];
  if (rows.length <= limit || last === undefined) return { rows, next_cursor: null };
  return { rows: rows.slice(0, limit), next_cursor: encodeCursor(key(last)) };
}
