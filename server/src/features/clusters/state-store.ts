import type { Reader, Tx } from '../../kernel/storage/database.ts';
import type { Cutoff } from '../../kernel/time/cutoff.ts';
import { type Page, pageOf } from '../../kernel/wire/cursor.ts';
import type { ClusterKey } from './store.ts';

export interface ClustersStateTables {
  cluster_states: StateRow;
  cluster_apply_log: ApplyRow;
}

/** How far a cluster has come. It decides no access: anyone who changes it can only make the operator fetch again, or not fetch. */
export interface StateRow {
  tenant_id: string;
  cluster_id: string;
  generation: number;
  /** Digest of the policies' decisions and the versions of the secrets. While it stays, so does the content. */
  basis: string;
  /** MAC of the content, because a plain digest of values would let a reader of the database guess them. */
  content_mac: Uint8Array;
  mac_version: number;
  applied_generation: number;
  last_report_at: number | null;
  /** Digest of the last report, by which a repeated one is recognized. */
  last_report: string;
  failed: number;
}

/** What was delivered and reported. It holds names and counts, and decides no access. */
export interface ApplyRow {
  tenant_id: string;
  cluster_id: string;
  apply_id: string;
  kind: 'delivered' | 'reported';
  generation: number;
  secrets: number;
  withheld: number;
  /** JSON. */
  results: string;
  created_at: number;
}

export const APPLY_CURSOR_KIND = 'cluster-apply-log';
const DELETED_AT_ONCE = 1000;

const NEW: Omit<StateRow, 'tenant_id' | 'cluster_id'> = {
  generation: 0,
  basis: '',
  content_mac: new Uint8Array(),
  mac_version: 0,
  applied_generation: 0,
  last_report_at: null,
  last_report: '',
  failed: 0,
};

export function newState({ tenant_id, cluster_id }: ClusterKey): StateRow {
  return { tenant_id, cluster_id, ...NEW };
}

export async function insertState(tx: Tx, row: StateRow): Promise<void> {
  await tx.insertInto('cluster_states').values(row).execute();
}

export function findState(db: Reader, { tenant_id, cluster_id }: ClusterKey): Promise<StateRow | undefined> {
  return db
    .selectFrom('cluster_states')
    .selectAll()
    .where('tenant_id', '=', tenant_id)
    .where('cluster_id', '=', cluster_id)
    .executeTakeFirst();
}

export async function statesOf(
  db: Reader,
  tenantId: string,
  clusterIds: readonly string[],
): Promise<Map<string, StateRow>> {
  if (clusterIds.length === 0) return new Map();
  const rows = await db
    .selectFrom('cluster_states')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('cluster_id', 'in', clusterIds)
    .execute();
  return new Map(rows.map((row) => [row.cluster_id, row]));
}

export function lockState(tx: Tx, { tenant_id, cluster_id }: ClusterKey): Promise<StateRow | undefined> {
  return tx
    .selectFrom('cluster_states')
    .selectAll()
    .where('tenant_id', '=', tenant_id)
    .where('cluster_id', '=', cluster_id)
    .forUpdate()
    .executeTakeFirst();
}

export async function updateState(
  tx: Tx,
  { tenant_id, cluster_id }: ClusterKey,
  change: Partial<StateRow>,
): Promise<void> {
  await tx
    .updateTable('cluster_states')
    .set(change)
    .where('tenant_id', '=', tenant_id)
    .where('cluster_id', '=', cluster_id)
    .execute();
}

export async function insertApply(tx: Tx, row: ApplyRow): Promise<void> {
  await tx.insertInto('cluster_apply_log').values(row).execute();
}

/** Newest first. */
export async function listApplies(
  db: Reader,
  { tenant_id, cluster_id }: ClusterKey,
  before: string | null,
  limit: number,
): Promise<Page<ApplyRow>> {
  let query = db
    .selectFrom('cluster_apply_log')
    .selectAll()
    .where('tenant_id', '=', tenant_id)
    .where('cluster_id', '=', cluster_id)
    .orderBy('apply_id', 'desc')
    .limit(limit + 1);
  if (before !== null) query = query.where('apply_id', '<', before);
  return pageOf(await query.execute(), limit, (row) => [APPLY_CURSOR_KIND, cluster_id, row.apply_id]);
}

export async function deleteStateOf(tx: Tx, { tenant_id, cluster_id }: ClusterKey): Promise<void> {
  for (const table of ['cluster_states', 'cluster_apply_log'] as const) {
    await tx.deleteFrom(table).where('tenant_id', '=', tenant_id).where('cluster_id', '=', cluster_id).execute();
  }
}

/** Deletes entries of the apply log from before; returns how many. */
export async function deleteOldApplies(tx: Tx, cutoff: Cutoff): Promise<number> {
  const rows = await tx
    .selectFrom('cluster_apply_log')
    .select(['tenant_id', 'cluster_id', 'apply_id'])
    .where('created_at', '<', cutoff)
    .limit(DELETED_AT_ONCE)
    .execute();
  for (const { tenant_id, cluster_id, apply_id } of rows) {
    await tx
      .deleteFrom('cluster_apply_log')
      .where('tenant_id', '=', tenant_id)
      .where('cluster_id', '=', cluster_id)
      .where('apply_id', '=', apply_id)
      .execute();
  }
  return rows.length;
}
