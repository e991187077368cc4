import type { CallOptions, Connection } from './connection.ts';
import { CofferError } from './errors.ts';
import type { AnyInput, Route, RouteInput, RouteOutput } from './routes.ts';

/** The routes that answer page by page. */
export type PagedRoute = { [R in Route]: RouteOutput<R> extends { next_cursor: string | null } ? R : never }[Route];

/** All pages of a list, each asked for when the one before it was consumed. */
export async function* pages<R extends PagedRoute>(
  connection: Connection,
  route: R,
  input: AnyInput,
  options: CallOptions,
): AsyncGenerator<RouteOutput<R>> {
  let cursor: string | null = null;
  do {
    const query = cursor === null ? input.query : { ...input.query, cursor };
    const asked = { ...input, ...(query !== undefined && { query }) } as RouteInput<R>;
    const page: RouteOutput<R> = await connection.call(route, asked, options);
    yield page;
    const next: string | null = (page as { next_cursor?: string | null }).next_cursor ?? null;
    if (next !== null && next === cursor) {
      throw new CofferError('The service repeats a page.', { code: 'UNEXPECTED_ANSWER' });
    }
    cursor = next;
  } while (cursor !== null);
}
