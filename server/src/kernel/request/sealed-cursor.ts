import { UnsealError } from '../crypto/sealing.ts';
import { decodeCursorAt, encodeCursor, foreignCursor } from '../wire/cursor.ts';
import type { Context } from './context.ts';

const PURPOSE = 'cursors';
const KIND = /^(?:at|sealed)$/;
const SEALED = /^[A-Za-z0-9_-]{1,2000}$/;

/** A list that is filtered by what the caller may see. `name` distinguishes it from every other list of the tenant. */
export interface SearchedList {
  name: string;
  /** The form of a row's position in the list. */
  form: RegExp;
}

/** A page that ended at a row the caller was shown. */
export function cursorAt(position: string): string {
  return encodeCursor(['at', position]);
}

/** A page that ended at a row the caller may not see. Its position is sealed, because a cursor reveals its contents. */
export async function sealedCursor(ctx: Context, { name }: SearchedList, position: string): Promise<string> {
  const key = await ctx.kernel.keyring.sealingKey(ctx.tenantId, PURPOSE);
  const sealed = key.seal(sealedAs(name), Buffer.from(position, 'utf8'));
  return encodeCursor(['sealed', sealed.toString('base64url')]);
}

/** The position in a cursor of either kind; null without a cursor. */
export async function openedCursor(
  ctx: Context,
  list: SearchedList,
  cursor: string | undefined,
  pointer = '/query/cursor',
): Promise<string | null> {
  const [kind, text = ''] = decodeCursorAt(pointer, cursor, KIND, ANYTHING) ?? [];
  if (kind === undefined) return null;
  const position = kind === 'at' ? text : await unsealed(ctx, list, text);
  if (position === null || !list.form.test(position)) throw foreignCursor(pointer);
  return position;
}
const ANYTHING = /^/;

async function unsealed(ctx: Context, { name }: SearchedList, text: string): Promise<string | null> {
  if (!SEALED.test(text)) return null;
  const at = { tenantId: ctx.tenantId, ...sealedAs(name) };
  try {
    return (await ctx.kernel.keyring.unseal(PURPOSE, at, Buffer.from(text, 'base64url'))).toString('utf8');
  } catch (error) {
    if (error instanceof UnsealError) return null;
    throw error;
  }
}

function sealedAs(list: string) {
  return { table: 'cursors', row: list };
}
