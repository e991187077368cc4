import type { CallOptions, Connection } from './connection.ts';
import { CofferError } from './errors.ts';
import type { AnyInput, Route, RouteInput, RouteOutput } from './routes.ts';

/** The routes that answer page by page. */
export type PagedRoute = { [R in Route]: RouteOutput<R> extends { next_cursor: string | null } ? R : never }[Route];

/** More pages than any list has. */
const PAGES_MAX = 1_000_000;
/** What is collected of a list, at most. */
const ITEMS_MAX = 1_000_000;
const CHARACTERS_MAX = 256 * 1024 * 1024;

/** Checks the cursors of a list: a service that goes round in a circle, or never ends, is not followed for ever. */
export class CursorCheck {
  #pages = 0;
  /** One of the former cursors, replaced after twice as many pages each time, so that a circle of any length is noticed. */
  #former: string | null = null;

  /** The cursor of the next page, or null after the last one. */
  next(page: { next_cursor?: string | null }): string | null {
    const cursor = page.next_cursor ?? null;
    if (cursor === null) return null;
    if (cursor === this.#former) throw unexpected('The service repeats a page of a list.');
    if (++this.#pages > PAGES_MAX) throw unexpected(`The service sent ${PAGES_MAX} pages of a list, and more follow.`);
    if (Number.isInteger(Math.log2(this.#pages))) this.#former = cursor;
    return cursor;
  }
}

/** Everything that a list has, unless it is more than a program should hold: then read it page by page. */
export async function collected<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  let characters = 0;
  for await (const item of items) {
    all.push(item);
    characters += sizeOf(item);
    if (all.length > ITEMS_MAX || characters > CHARACTERS_MAX)
      throw unexpected(`The list has more than ${ITEMS_MAX} items or 256 MiB. Narrow it, or read it page by page.`);
  }
  return all;
}

/** About the length of its JSON. Values are not enumerable. */
function sizeOf(item: unknown): number {
  const { value } = (item ?? {}) as { value?: unknown };
  return (JSON.stringify(item)?.length ?? 0) + (typeof value === 'string' ? value.length : 0);
}

function unexpected(message: string): CofferError {
  return new CofferError(message, { code: 'UNEXPECTED_ANSWER' });
}

/** All pages of a list, each requested when the one before it was consumed. */
export async function* pages<R extends PagedRoute>(
  connection: Connection,
  route: R,
  input: AnyInput,
  options: CallOptions,
): AsyncGenerator<RouteOutput<R>> {
  const cursors = new CursorCheck();
  let cursor: string | null = null;
  do {
    const query = cursor === null ? input.query : { ...input.query, cursor };
    const pageInput = { ...input, ...(query !== undefined && { query }) } as RouteInput<R>;
    const page: RouteOutput<R> = await connection.call(route, pageInput, options);
    yield page;
    cursor = cursors.next(page as { next_cursor?: string | null });
  } while (cursor !== null);
}
