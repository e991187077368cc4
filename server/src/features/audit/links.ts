import { type Linked, port } from '../../kernel/feature/links.ts';
import { allEndpoints } from '../../kernel/feature/wiring.ts';
import type { Kernel } from '../../kernel/request/kernel.ts';
import type { Reader } from '../../kernel/storage/database.ts';
import { sharedPqcKeys } from '../pqc/index.ts';

/** The last entry that every enabled exporter of a tenant has delivered; infinity if it has none. */
export const exportedSeq = port<(db: Reader, tenantId: string) => Promise<number>>('exportedSeq');

/** The last entry that was counted; infinity before the first one is. */
export const countedSeq = port<(db: Reader, tenantId: string) => Promise<number>>('countedSeq');

/** What it needs of other features. */
export const auditNeeds = { countedSeq, exportedSeq, keys: sharedPqcKeys, endpoints: allEndpoints };
export type AuditParts = Linked<typeof auditNeeds>;

/** The services of the kernel that it uses. */
export type AuditKernel = Pick<
  Kernel,
  | 'audit'
  | 'authenticatedTables'
  | 'clock'
  | 'config'
  | 'damagedSegments'
  | 'database'
  | 'heads'
  | 'http'
  | 'keyring'
  | 'log'
  | 'metrics'
  | 'nodeId'
  | 'operatorTenantId'
  | 'regionGate'
>;
