import { removalOf } from '../../kernel/feature/links.ts';
import type { Tx } from '../../kernel/storage/database.ts';

export const clusterRemoved = removalOf<[tx: Tx, tenantId: string, clusterId: string]>('cluster');
