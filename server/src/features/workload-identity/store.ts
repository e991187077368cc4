import { AuthenticatedTable } from '../../kernel/integrity/authenticated-table.ts';
import { countRows } from '../../kernel/storage/count-rows.ts';
import type { Reader, Tx } from '../../kernel/storage/database.ts';
import type { Authenticated } from '../../kernel/storage/tables.ts';
import { type Page, pageOf } from '../../kernel/wire/cursor.ts';

export interface WorkloadIdentityTables {
  workload_methods: Authenticated<MethodRow>;
}

export interface MethodRow {
  tenant_id: string;
  /** Unique in the installation, because a login names only this number. */
  method_no: number;
  connection_no: number;
  name: string;
  type: 'k8s_sa' | 'aws_iam' | 'gcp_iam' | 'azure_msi' | 'oidc_generic' | 'spiffe';
  /** JSON without the secret members. */
  config: string;
  /** JSON of the secret members, sealed. */
  sealed_secrets: Uint8Array | null;
  /** Incremented by every change, so that a login verified before a change does not complete after it. */
  revision: number;
  created_by: string;
  created_at: number;
  updated_at: number;
}

export const METHODS = new AuthenticatedTable<'workload_methods', MethodRow>('workload_methods', {
  key: ['method_no'],
  covered: [
    'connection_no',
    'name',
    'type',
    'config',
    'sealed_secrets',
    'revision',
    'created_by',
    'created_at',
    'updated_at',
  ],
});

export const CURSOR_KIND = 'workload_methods';

export function countMethods(tx: Tx, tenantId: string): Promise<number> {
  return countRows(tx.selectFrom('workload_methods').where('tenant_id', '=', tenantId));
}

export async function insertMethod(tx: Tx, row: MethodRow): Promise<void> {
  await METHODS.insert(tx, row);
}

/** Searches all tenants, for a caller who has presented only the number so far. */
export async function findMethodAnywhere(db: Reader, methodNo: number): Promise<MethodRow | undefined> {
  const query = db.selectFrom('workload_methods').selectAll().where('method_no', '=', methodNo);
  return METHODS.checked(db, await query.executeTakeFirst());
}

export async function findMethod(db: Reader, tenantId: string, methodNo: number): Promise<MethodRow | undefined> {
  const row = await findMethodAnywhere(db, methodNo);
  return row?.tenant_id === tenantId ? row : undefined;
}

export async function lockMethod(tx: Tx, tenantId: string, methodNo: number): Promise<MethodRow | undefined> {
  const [row] = await METHODS.lockedWhere(tx, (eb) => eb.and({ tenant_id: tenantId, method_no: methodNo }));
  return row;
}

export async function listMethods(
  db: Reader,
  tenantId: string,
  after: number,
  limit: number,
): Promise<Page<MethodRow>> {
  const rows = await db
    .selectFrom('workload_methods')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('method_no', '>', after)
    .orderBy('method_no')
    .limit(limit + 1)
    .execute();
  return pageOf(rows, limit, (row) => [CURSOR_KIND, String(row.method_no)]);
}

/** The login methods of some connections. A forged row is left out, because a login would refuse it. */
export async function methodsOfConnections(
  db: Reader,
  tenantId: string,
  connectionNos: readonly number[],
): Promise<MethodRow[]> {
  if (connectionNos.length === 0) return [];
  const rows = await db
    .selectFrom('workload_methods')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('connection_no', 'in', connectionNos)
    .orderBy('method_no')
    .execute();
  return METHODS.authenticOf(db, rows);
}

export async function updateMethod(tx: Tx, row: MethodRow): Promise<void> {
  const { tenant_id, method_no, ...change } = row;
  await METHODS.updateWhere(tx, (eb) => eb.and({ tenant_id, method_no }), change);
}

export async function deleteMethod(tx: Tx, tenantId: string, methodNo: number): Promise<void> {
  await METHODS.deleteWhere(tx, (eb) => eb.and({ tenant_id: tenantId, method_no: methodNo }));
}

/** Deletes the login methods of a connection together with it. */
export async function deleteMethodsOf(tx: Tx, tenantId: string, connectionNo: number): Promise<void> {
  await METHODS.deleteWhere(tx, (eb) => eb.and({ tenant_id: tenantId, connection_no: connectionNo }));
}
