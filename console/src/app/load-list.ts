import type { Route, RouteInput, RouteOutput } from '@coffer/client';
import { all, call } from './api.ts';

type ListName<R extends Route> = {
  [K in keyof RouteOutput<R>]: RouteOutput<R>[K] extends readonly unknown[] ? K : never;
}[keyof RouteOutput<R>];
type ItemOf<List> = List extends readonly (infer Item)[] ? Item : never;

const PAGE = 200;

/** Every item of an endpoint that lists in pages. `name` is the field of its answer that has them. */
export function loadList<R extends Route, K extends ListName<R>>(
  route: R,
  name: K,
  signal: AbortSignal,
  { max, ...input }: { path?: object; query?: object; max?: number } = {},
): Promise<ItemOf<RouteOutput<R>[K]>[]> {
  return all(async (cursor) => {
    const query = { limit: PAGE, ...input.query, ...(cursor !== undefined && { cursor }) };
    const page = await call(route, { ...input, query } as RouteInput<R>, { signal });
    const { next_cursor } = page as { next_cursor: string | null };
    return { items: page[name] as readonly ItemOf<RouteOutput<R>[K]>[], next_cursor };
  }, max);
}
