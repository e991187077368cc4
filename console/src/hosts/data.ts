import type { RouteOutput } from '@coffer/client';

export type AccountItem = RouteOutput<'GET /endpoint-discovery/accounts'>['accounts'][number];

/** Names of people by their ids, for whoever may see them. */
export type People = ReadonlyMap<string, string>;
