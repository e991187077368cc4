import { type Page, pageOf } from '../../kernel/storage/cursor.ts';
import type { Reader, Tx } from '../../kernel/storage/database.ts';

declare module '../../kernel/storage/tables.ts' {
  interface Tables {
    workload_methods: MethodRow;
  }
}

export interface MethodRow {
  tenant_id: string;
  /** Unique in the installation: a login names nothing else. */
  method_no: number;
  connection_no: number;
  name: string;
  type: 'k8s_sa' | 'aws_iam' | 'gcp_iam' | 'azure_msi' | 'oidc_generic' | 'spiffe';
  /** JSON, without what is secret in it. */
  config: string;
  /** JSON of what is, sealed. */
  sealed_secrets: Uint8Array | null;
  /** Counted up by every change, so that a login that was decided on before it is not completed after it. */
  revision: number;
  created_by: string;
  created_at: number;
  updated_at: number;
}

export const CURSOR_KIND = 'workload_methods';

export async function insertMethod(tx: Tx, row: MethodRow): Promise<void> {
  await tx.insertInto('workload_methods').values(row).execute();
}

/** Of whichever tenant: for a caller who has shown nothing but the number so far. */
export function findMethodAnywhere(db: Reader, methodNo: number): Promise<MethodRow | undefined> {
  return db.selectFrom('workload_methods').selectAll().where('method_no', '=', methodNo).executeTakeFirst();
}

export function findMethod(db: Reader, tenantId: string, methodNo: number): Promise<MethodRow | undefined> {
  return db
    .selectFrom('workload_methods')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('method_no', '=', methodNo)
    .executeTakeFirst();
}

export function lockMethod(tx: Tx, tenantId: string, methodNo: number): Promise<MethodRow | undefined> {
  return tx
    .selectFrom('workload_methods')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('method_no', '=', methodNo)
    .forUpdate()
    .executeTakeFirst();
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

export async function updateMethod(tx: Tx, row: MethodRow): Promise<void> {
  const { tenant_id, method_no, ...change } = row;
  await tx
    .updateTable('workload_methods')
    .set(change)
    .where('tenant_id', '=', tenant_id)
    .where('method_no', '=', method_no)
    .execute();
}

export async function deleteMethod(tx: Tx, tenantId: string, methodNo: number): Promise<void> {
  await tx.deleteFrom('workload_methods').where('tenant_id', '=', tenantId).where('method_no', '=', methodNo).execute();
}

/** With the connection go the ways to become it. */
export async function deleteMethodsOf(tx: Tx, tenantId: string, connectionNo: number): Promise<void> {
  await tx
    .deleteFrom('workload_methods')
    .where('tenant_id', '=', tenantId)
    .where('connection_no', '=', connectionNo)
    .execute();
}
