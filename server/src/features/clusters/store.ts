import { AuthenticatedTable, type RowFilter } from '../../kernel/integrity/authenticated-table.ts';
import { countRows } from '../../kernel/storage/count-rows.ts';
import type { Reader, Tx } from '../../kernel/storage/database.ts';
import type { Authenticated } from '../../kernel/storage/tables.ts';
import { type Page, pageOf } from '../../kernel/wire/cursor.ts';

export interface ClustersTables {
  clusters: Authenticated<ClusterRow>;
  cluster_policies: Authenticated<PolicyRow>;
}

export interface ClusterRow {
  tenant_id: string;
  cluster_id: string;
  name: string;
  kind: 'kubernetes' | 'hosts';
  environment: string | null;
  token_hash: Uint8Array;
  token_created_at: number;
  /** The previous token, while both are accepted. */
  former_token_hash: Uint8Array | null;
  former_token_until: number | null;
  created_by: string;
  created_at: number;
}

export interface PolicyRow {
  tenant_id: string;
  policy_id: string;
  cluster_id: string;
  namespace: string;
  secret_name: string;
  secret_type: string;
  /** The vault by its id, because its name could later be given to another one. */
  vault_id: string | null;
  vault: string | null;
  /** JSON: a list of pairs of key and path. */
  mappings: string | null;
  prefix: string | null;
  environment_id: number | null;
  author_id: string;
  created_at: number;
}

export type ClusterKey = Pick<ClusterRow, 'tenant_id' | 'cluster_id'>;

export const CLUSTERS = new AuthenticatedTable<'clusters', ClusterRow>('clusters', {
  key: ['cluster_id'],
  covered: [
    'name',
    'kind',
    'environment',
    'token_hash',
    'token_created_at',
    'former_token_hash',
    'former_token_until',
    'created_by',
    'created_at',
  ],
});

export const CLUSTER_POLICIES = new AuthenticatedTable<'cluster_policies', PolicyRow>('cluster_policies', {
  key: ['policy_id'],
  covered: [
    'cluster_id',
    'namespace',
    'secret_name',
    'secret_type',
    'vault_id',
    'vault',
    'mappings',
    'prefix',
    'environment_id',
    'author_id',
    'created_at',
  ],
});

export const CURSOR_KIND = 'clusters';
export const POLICY_CURSOR_KIND = 'cluster-policies';

function isIt({ tenant_id, cluster_id }: ClusterKey): RowFilter<'clusters'> {
  return (eb) => eb.and({ tenant_id, cluster_id });
}

export async function insertCluster(tx: Tx, row: ClusterRow): Promise<void> {
  await CLUSTERS.insert(tx, row);
}

export async function findCluster(db: Reader, key: ClusterKey): Promise<ClusterRow | undefined> {
  return CLUSTERS.checked(db, await db.selectFrom('clusters').selectAll().where(isIt(key)).executeTakeFirst());
}

/** Searches all tenants for the cluster with this token or previous token. Forged rows are ignored: they could only let somebody in. */
export async function findByToken(db: Reader, hash: Uint8Array): Promise<ClusterRow | undefined> {
  const rows = await db
    .selectFrom('clusters')
    .selectAll()
    .where((eb) => eb.or([eb('token_hash', '=', hash), eb('former_token_hash', '=', hash)]))
    .execute();
  const authentic = await CLUSTERS.authenticOf(db, rows);
  return authentic.length === 1 ? authentic[0] : undefined;
}

export async function lockCluster(tx: Tx, key: ClusterKey): Promise<ClusterRow | undefined> {
  const [row] = await CLUSTERS.lockedWhere(tx, isIt(key));
  return row;
}

export async function replaceToken(
  tx: Tx,
  row: ClusterRow,
  change: Pick<ClusterRow, 'token_hash' | 'token_created_at' | 'former_token_hash' | 'former_token_until'>,
): Promise<ClusterRow> {
  return CLUSTERS.update(tx, row, change);
}

/** With its policies. What it delivered and reported is deleted by its own stores. */
export async function deleteCluster(tx: Tx, key: ClusterKey): Promise<void> {
  await CLUSTER_POLICIES.deleteWhere(tx, (eb) => eb.and({ ...keyOf(key) }));
  await CLUSTERS.deleteWhere(tx, isIt(key));
}

function keyOf({ tenant_id, cluster_id }: ClusterKey): ClusterKey {
  return { tenant_id, cluster_id };
}

export function countClusters(db: Reader, tenantId: string): Promise<number> {
  return countRows(db.selectFrom('clusters').where('tenant_id', '=', tenantId));
}

export async function listClusters(
  db: Reader,
  tenantId: string,
  after: string,
  limit: number,
): Promise<Page<ClusterRow>> {
  const rows = await db
    .selectFrom('clusters')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('cluster_id', '>', after)
    .orderBy('cluster_id')
    .limit(limit + 1)
    .execute();
  return pageOf(rows, limit, (row) => [CURSOR_KIND, row.cluster_id]);
}

/** Ids of the clusters whose hosts are production hosts. */
export async function productionClusters(db: Reader, tenantId: string): Promise<string[]> {
  const rows = await db
    .selectFrom('clusters')
    .select('cluster_id')
    .where('tenant_id', '=', tenantId)
    .where('environment', '=', 'production')
    .execute();
  return rows.map(({ cluster_id }) => cluster_id);
}

export async function insertPolicy(tx: Tx, row: PolicyRow): Promise<void> {
  await CLUSTER_POLICIES.insert(tx, row);
}

export function countPolicies(db: Reader, { tenant_id, cluster_id }: ClusterKey): Promise<number> {
  const query = db.selectFrom('cluster_policies').where('tenant_id', '=', tenant_id);
  return countRows(query.where('cluster_id', '=', cluster_id));
}

/** All policies of a cluster, in the order in which it gets them. A forged policy could only deliver more, so it is ignored. */
export async function policiesOf(db: Reader, { tenant_id, cluster_id }: ClusterKey): Promise<PolicyRow[]> {
  const rows = await db
    .selectFrom('cluster_policies')
    .selectAll()
    .where('tenant_id', '=', tenant_id)
    .where('cluster_id', '=', cluster_id)
    .orderBy('namespace')
    .orderBy('secret_name')
    .execute();
  return CLUSTER_POLICIES.authenticOf(db, rows);
}

export async function listPolicies(
  db: Reader,
  { tenant_id, cluster_id }: ClusterKey,
  after: string,
  limit: number,
): Promise<Page<PolicyRow>> {
  const rows = await db
    .selectFrom('cluster_policies')
    .selectAll()
    .where('tenant_id', '=', tenant_id)
    .where('cluster_id', '=', cluster_id)
    .where('policy_id', '>', after)
    .orderBy('policy_id')
    .limit(limit + 1)
    .execute();
  return pageOf(rows, limit, (row) => [POLICY_CURSOR_KIND, cluster_id, row.policy_id]);
}

export async function deletePolicy(
  tx: Tx,
  { tenant_id, cluster_id }: ClusterKey,
  policyId: string,
): Promise<PolicyRow | undefined> {
  const [row] = await CLUSTER_POLICIES.deleteWhere(tx, (eb) => eb.and({ tenant_id, cluster_id, policy_id: policyId }));
  return row;
}
