import { timingSafeEqual } from 'node:crypto';
import { type EndpointDeclaration, type Input, NONE } from '../endpoint/declaration.ts';
import { BINDING_LENGTH, foreignCursor } from '../wire/cursor.ts';
import type { Context } from './context.ts';

/** This key has no scheduled rotation, because a rotation would invalidate the cursors of everyone who is paging at that moment. */
const PURPOSE = 'list-cursors';

export type CursorPlace = 'query' | 'body';

/** The part of the input that carries the list's cursor; null if the endpoint is not a list. */
export function placeOfCursor({ query, body }: EndpointDeclaration): CursorPlace | null {
  if (query !== NONE && 'cursor' in query.properties) return 'query';
  return body !== NONE && 'cursor' in body.properties ? 'body' : null;
}

/** Identifies a list and its filters: all of the input except the cursor and the limit. */
export function listDigest({ name }: EndpointDeclaration, { params, query, body }: Input): string {
  const parts = [params, query, body].map((part) =>
    Object.entries((part ?? {}) as object)
      .filter(isFilter)
      .sort(),
  );
  return JSON.stringify([name, ...parts]);
}

function isFilter([name]: [string, unknown]): boolean {
  return !['cursor', 'limit', 'entries'].includes(name);
}

/**
 * Replaces the bound cursor by the one the list created. A cursor of another list, of other filters or of another tenant is refused, because it
 * would silently skip rows.
 */
export async function withPlainCursor(ctx: Context, place: CursorPlace, input: Input): Promise<Input> {
  ctx.requestList(listDigest(ctx.declaration, input));
  const part = (input[place] ?? {}) as { cursor?: string };
  if (part.cursor === undefined) return input;
  const end = part.cursor.length - BINDING_LENGTH;
  const cursor = part.cursor.slice(0, Math.max(end, 0));
  const [given, own] = [Buffer.from(part.cursor), Buffer.from(await bound(ctx, cursor))];
  if (given.length !== own.length || !timingSafeEqual(given, own)) throw foreignCursor(`/${place}/cursor`);
  return { ...input, [place]: { ...part, cursor } };
}

/** Binds the cursor in a list's response to this list and its filters. An endpoint that streams its response binds the cursor itself. */
export async function withBoundCursor<T>(ctx: Context, result: T): Promise<T> {
  const { next_cursor } = result as { next_cursor?: string | null };
  return next_cursor == null ? result : { ...result, next_cursor: await boundCursor(ctx, next_cursor) };
}

export async function boundCursor(ctx: Context, cursor: string | null): Promise<string | null> {
  return cursor === null ? null : bound(ctx, cursor);
}

async function bound(ctx: Context, cursor: string): Promise<string> {
  if (ctx.requestedList === null) throw new Error(`${ctx.declaration.name} declares no cursor`);
  const key = await ctx.kernel.keyring.macKey(ctx.tenantId, PURPOSE, Number.POSITIVE_INFINITY);
  const tag = key.mac(JSON.stringify([ctx.requestedList, cursor])).toString('base64url');
  return `${cursor}.${tag.slice(0, BINDING_LENGTH - 1)}`;
}
