import { type Linked, port } from '../../kernel/feature/links.ts';
import type { Kernel } from '../../kernel/request/kernel.ts';
import type { Reader } from '../../kernel/storage/database.ts';
import { sharedSecretReader } from '../secrets/index.ts';
import type { SameRights } from './readers.ts';
import type { AnomalyPoints } from './scoring.ts';

/**
 * What open anomalies add to the risk of secrets: 10 points for each high one and 20 for each critical one, also for 7 days after it ended. `why`
 * counts them and names nobody.
 */
export const anomalyPoints =
  port<(db: Reader, tenantId: string, secretIds: readonly string[]) => Promise<ReadonlyMap<string, AnomalyPoints>>>(
    'anomalyPoints',
  );

/** Finds the attack paths of a tenant anew, once its risks are computed. */
export const recomputeAttackPaths =
  port<(tenantId: string, readers: readonly SameRights[], signal: AbortSignal) => Promise<void>>(
    'recomputeAttackPaths',
  );

/** What it needs of other features. */
export const riskNeeds = { anomalyPoints, recomputeAttackPaths, reader: sharedSecretReader };
export type RiskParts = Linked<typeof riskNeeds>;

/** The services of the kernel that it uses. */
export type RiskKernel = Pick<Kernel, 'activity' | 'clock' | 'database' | 'keyring' | 'log' | 'nodeId' | 'regionGate'>;
