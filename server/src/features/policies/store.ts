import { type Page, pageOf } from '../../kernel/storage/cursor.ts';
import type { Reader, Tx } from '../../kernel/storage/database.ts';

declare module '../../kernel/storage/tables.ts' {
  interface Tables {
    policies: PolicyRow;
    policy_attachments: AttachmentRow;
  }
}

export interface PolicyRow {
  tenant_id: string;
  name: string;
  policy_id: string;
  description: string;
  /** JSON, as it was checked when it was written. */
  document: string;
  version: number;
  created_at: number;
  updated_at: number;
}

/** A connection is called by its client id, which no other ever has. */
export type PrincipalKind = 'group' | 'user' | 'app_connection';

export interface AttachmentRow {
  tenant_id: string;
  principal_kind: PrincipalKind;
  principal_id: string;
  policy_name: string;
  attached_at: number;
}

export async function insertPolicy(tx: Tx, row: PolicyRow): Promise<void> {
  await tx.insertInto('policies').values(row).execute();
}

export function findPolicy(db: Reader, tenantId: string, name: string): Promise<PolicyRow | undefined> {
  return db
    .selectFrom('policies')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('name', '=', name)
    .executeTakeFirst();
}

export function lockPolicy(tx: Tx, tenantId: string, name: string): Promise<PolicyRow | undefined> {
  return tx
    .selectFrom('policies')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('name', '=', name)
    .forUpdate()
    .executeTakeFirst();
}

export async function listPolicies(
  db: Reader,
  tenantId: string,
  after: string,
  limit: number,
): Promise<Page<PolicyRow>> {
  const rows = await db
    .selectFrom('policies')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('name', '>', after)
    .orderBy('name')
    .limit(limit + 1)
    .execute();
  return pageOf(rows, limit, (row) => [row.name]);
}

export async function updatePolicy(tx: Tx, row: PolicyRow): Promise<void> {
  const { tenant_id, name, ...change } = row;
  await tx.updateTable('policies').set(change).where('tenant_id', '=', tenant_id).where('name', '=', name).execute();
}

export async function deletePolicy(tx: Tx, tenantId: string, name: string): Promise<void> {
  await tx.deleteFrom('policies').where('tenant_id', '=', tenantId).where('name', '=', name).execute();
}

export async function insertAttachment(tx: Tx, row: AttachmentRow): Promise<void> {
  await tx.insertInto('policy_attachments').values(row).execute();
}

export async function deleteAttachment(tx: Tx, row: Omit<AttachmentRow, 'attached_at'>): Promise<boolean> {
  const { numDeletedRows } = await tx
    .deleteFrom('policy_attachments')
    .where('tenant_id', '=', row.tenant_id)
    .where('principal_kind', '=', row.principal_kind)
    .where('principal_id', '=', row.principal_id)
    .where('policy_name', '=', row.policy_name)
    .executeTakeFirst();
  return numDeletedRows === 1n;
}

export function attachmentsOf(db: Reader, tenantId: string, policyName: string): Promise<AttachmentRow[]> {
  return db
    .selectFrom('policy_attachments')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('policy_name', '=', policyName)
    .orderBy('principal_kind')
    .orderBy('principal_id')
    .execute();
}

/** Every policy that counts for these principals, each once. */
export async function policiesFor(
  db: Reader,
  tenantId: string,
  principals: readonly { kind: PrincipalKind; id: string }[],
): Promise<PolicyRow[]> {
  if (principals.length === 0) return [];
  return db
    .selectFrom('policies as p')
    .selectAll('p')
    .where('p.tenant_id', '=', tenantId)
    .where('p.name', 'in', (eb) =>
      eb
        .selectFrom('policy_attachments as a')
        .select('a.policy_name')
        .where('a.tenant_id', '=', tenantId)
        .where((or) =>
          or.or(
            principals.map(({ kind, id }) =>
              or.and([or('a.principal_kind', '=', kind), or('a.principal_id', '=', id)]),
            ),
          ),
        ),
    )
    .execute();
}

/** Every policy that is attached to somebody, by name. */
export function attachedPolicies(db: Reader, tenantId: string): Promise<PolicyRow[]> {
  return db
    .selectFrom('policies as p')
    .selectAll('p')
    .where('p.tenant_id', '=', tenantId)
    .where((eb) =>
      eb.exists(
        eb
          .selectFrom('policy_attachments as a')
          .select('a.policy_name')
          .whereRef('a.tenant_id', '=', 'p.tenant_id')
          .whereRef('a.policy_name', '=', 'p.name'),
      ),
    )
    .orderBy('p.name')
    .execute();
}

export async function hasPolicies(db: Reader, tenantId: string, kind: PrincipalKind, id: string): Promise<boolean> {
  const row = await db
    .selectFrom('policy_attachments')
    .select('policy_name')
    .where('tenant_id', '=', tenantId)
    .where('principal_kind', '=', kind)
    .where('principal_id', '=', id)
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

/** A principal that is gone keeps nothing: a later one could not be mistaken for it, but the list would be. */
export async function forgetPrincipal(tx: Tx, tenantId: string, kind: PrincipalKind, id: string): Promise<void> {
  await tx
    .deleteFrom('policy_attachments')
    .where('tenant_id', '=', tenantId)
    .where('principal_kind', '=', kind)
    .where('principal_id', '=', id)
    .execute();
}
