import type { RouteOutput } from '@coffer/client';

export type ClusterItem = RouteOutput<'GET /clusters/{cluster_id}'>;
