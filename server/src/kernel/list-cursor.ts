import { timingSafeEqual } from 'node:crypto';
import type { Context } from './context.ts';
import { type EndpointDeclaration, type Input, NONE } from './endpoint.ts';
import { BINDING_LENGTH, foreignCursor } from './storage/cursor.ts';

/** The key does not rotate by itself: it would refuse whoever turns pages at that moment. */
const PURPOSE = 'list-cursors';

export type CursorPlace = 'query' | 'body';

/** Where a list takes its cursor; null of what is no list. */
export function placeOfCursor({ query, body }: EndpointDeclaration): CursorPlace | null {
  if (query !== NONE && 'cursor' in query.properties) return 'query';
  return body !== NONE && 'cursor' in body.properties ? 'body' : null;
}

/** Which list of the tenant is asked for, with its filters: all of the input but where in the list, and how much. */
export function listAsked({ name }: EndpointDeclaration, { params, query, body }: Input): string {
  const parts = [params, query, body].map((part) =>
    Object.entries((part ?? {}) as object)
      .filter(isFilter)
      .sort(),
  );
  return JSON.stringify([name, ...parts]);
}

function isFilter([name]: [string, unknown]): boolean {
  return name !== 'cursor' && name !== 'limit';
}

/**
 * The input with the cursor as the list itself made it. One that another list made, or this one with other filters or for another tenant, is
 * refused: it would pass over rows without a word.
 */
export async function withPlainCursor(ctx: Context, place: CursorPlace, input: Input): Promise<Input> {
  ctx.listAsked = listAsked(ctx.declaration, input);
  const part = (input[place] ?? {}) as { cursor?: string };
  if (part.cursor === undefined) return input;
  const end = part.cursor.length - BINDING_LENGTH;
  const cursor = part.cursor.slice(0, Math.max(end, 0));
  const [given, own] = [Buffer.from(part.cursor), Buffer.from(await bound(ctx, cursor))];
  if (given.length !== own.length || !timingSafeEqual(given, own)) throw foreignCursor(`/${place}/cursor`);
  return { ...input, [place]: { ...part, cursor } };
}

/** The answer of a list with a cursor that is good for this list and its filters only. One that streams its answer binds its own. */
export async function withBoundCursor<T>(ctx: Context, result: T): Promise<T> {
  const { next_cursor } = result as { next_cursor?: string | null };
  return next_cursor == null ? result : { ...result, next_cursor: await boundCursor(ctx, next_cursor) };
}

export async function boundCursor(ctx: Context, cursor: string | null): Promise<string | null> {
  return cursor === null ? null : bound(ctx, cursor);
}

async function bound(ctx: Context, cursor: string): Promise<string> {
  if (ctx.listAsked === null) throw new Error(`${ctx.declaration.name} declares no cursor`);
  const { mac } = await ctx.kernel.keyring.macKey(ctx.tenantId, PURPOSE, Number.POSITIVE_INFINITY);
  const tag = Buffer.from(mac(Buffer.from(JSON.stringify([ctx.listAsked, cursor]), 'utf8'))).toString('base64url');
  return `${cursor}.${tag.slice(0, BINDING_LENGTH - 1)}`;
}
