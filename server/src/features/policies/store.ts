import { AuthenticatedTable } from '../../kernel/integrity/authenticated-table.ts';
import type { Reader, Tx } from '../../kernel/storage/database.ts';
import type { Authenticated } from '../../kernel/storage/tables.ts';
import { type Page, pageOf } from '../../kernel/wire/cursor.ts';

export interface PoliciesTables {
  policies: Authenticated<PolicyRow>;
  policy_attachments: Authenticated<AttachmentRow>;
  policy_versions: Authenticated<FormerVersionRow>;
}

export interface PolicyRow {
  tenant_id: string;
  name: string;
  policy_id: string;
  description: string;
  /** JSON, validated when it was written. */
  document: string;
  version: number;
  created_at: number;
  updated_at: number;
}

/** A version that a later one replaced. */
export interface FormerVersionRow {
  tenant_id: string;
  policy_id: string;
  version: number;
  description: string;
  document: string;
  written_at: number;
}

/** A connection is identified by its client id, which is never reused. */
export type PrincipalKind = 'group' | 'user' | 'app_connection';

export interface AttachmentRow {
  tenant_id: string;
  principal_kind: PrincipalKind;
  principal_id: string;
  policy_name: string;
  attached_at: number;
}

export const POLICIES = new AuthenticatedTable<'policies', PolicyRow>('policies', {
  key: ['name'],
  covered: ['policy_id', 'description', 'document', 'version', 'created_at', 'updated_at'],
});

export const ATTACHMENTS = new AuthenticatedTable<'policy_attachments', AttachmentRow>('policy_attachments', {
  key: ['principal_kind', 'principal_id', 'policy_name'],
  covered: ['attached_at'],
});

export const FORMER_VERSIONS = new AuthenticatedTable<'policy_versions', FormerVersionRow>('policy_versions', {
  key: ['policy_id', 'version'],
  covered: ['description', 'document', 'written_at'],
});

export async function insertPolicy(tx: Tx, row: PolicyRow): Promise<void> {
  await POLICIES.insert(tx, row);
}

export async function findPolicy(db: Reader, tenantId: string, name: string): Promise<PolicyRow | undefined> {
  const query = db.selectFrom('policies').selectAll().where('tenant_id', '=', tenantId).where('name', '=', name);
  return POLICIES.checked(db, await query.executeTakeFirst());
}

export async function lockPolicy(tx: Tx, tenantId: string, name: string): Promise<PolicyRow | undefined> {
  const [row] = await POLICIES.lockedWhere(tx, (eb) => eb.and({ tenant_id: tenantId, name }));
  return row;
}

/** What counts against the policy quotas. */
export async function policiesUsed(tx: Tx, tenantId: string): Promise<{ policies: number; bytes: number }> {
  const row = await tx
    .selectFrom('policies')
    .select((eb) => [
      eb.fn.countAll().as('policies'),
      eb.fn.sum(eb.fn<number>('octet_length', ['document'])).as('bytes'),
    ])
    .where('tenant_id', '=', tenantId)
    .executeTakeFirstOrThrow();
  return { policies: Number(row.policies), bytes: Number(row.bytes ?? 0) };
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

/** Stores the version that is replaced too, and deletes those that are too old to be among the newest `versionsMax`. */
export async function updatePolicy(tx: Tx, before: PolicyRow, row: PolicyRow, versionsMax: number): Promise<void> {
  const { tenant_id, name, ...change } = row;
  const { policy_id, version, description, document, updated_at: written_at } = before;
  await FORMER_VERSIONS.insert(tx, { tenant_id, policy_id, version, description, document, written_at });
  await FORMER_VERSIONS.deleteWhere(tx, (eb) =>
    eb.and([eb.and({ tenant_id, policy_id }), eb('version', '<=', row.version - versionsMax)]),
  );
  await POLICIES.updateWhere(tx, (eb) => eb.and({ tenant_id, name }), change);
}

export async function deletePolicy(tx: Tx, { tenant_id, name, policy_id }: PolicyRow): Promise<void> {
  await FORMER_VERSIONS.deleteWhere(tx, (eb) => eb.and({ tenant_id, policy_id }));
  await POLICIES.deleteWhere(tx, (eb) => eb.and({ tenant_id, name }));
}

/** Newest first. */
export async function formerVersions(
  db: Reader,
  { tenant_id, policy_id }: PolicyRow,
  before: number,
  limit: number,
): Promise<FormerVersionRow[]> {
  const rows = await db
    .selectFrom('policy_versions')
    .selectAll()
    .where('tenant_id', '=', tenant_id)
    .where('policy_id', '=', policy_id)
    .where('version', '<', before)
    .orderBy('version', 'desc')
    .limit(limit)
    .execute();
  return FORMER_VERSIONS.checkedAll(db, rows);
}

export async function insertAttachment(tx: Tx, row: AttachmentRow): Promise<void> {
  await ATTACHMENTS.insert(tx, row);
}

export async function deleteAttachment(tx: Tx, row: Omit<AttachmentRow, 'attached_at'>): Promise<boolean> {
  const { tenant_id, principal_kind, principal_id, policy_name } = row;
  const deleted = await ATTACHMENTS.deleteWhere(tx, (eb) =>
    eb.and({ tenant_id, principal_kind, principal_id, policy_name }),
  );
  return deleted.length === 1;
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

/** Every policy attached to these principals, each once. */
export async function policiesFor(
  db: Reader,
  tenantId: string,
  principals: readonly { kind: PrincipalKind; id: string }[],
): Promise<PolicyRow[]> {
  if (principals.length === 0) return [];
  const attachments = await db
    .selectFrom('policy_attachments')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where((eb) => eb.or(principals.map(({ kind, id }) => eb.and({ principal_kind: kind, principal_id: id }))))
    .execute();
  await ATTACHMENTS.checkedAll(db, attachments);
  return policiesNamed(db, tenantId, new Set(attachments.map(({ policy_name }) => policy_name)));
}

/** The attachments of some principals of one kind. */
export async function attachmentsTo(
  db: Reader,
  tenantId: string,
  kind: PrincipalKind,
  ids: readonly string[],
): Promise<AttachmentRow[]> {
  if (ids.length === 0) return [];
  const rows = await db
    .selectFrom('policy_attachments')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('principal_kind', '=', kind)
    .where('principal_id', 'in', ids)
    .execute();
  return ATTACHMENTS.checkedAll(db, rows);
}

/** An attached policy cannot be deleted through the service, so a missing one was deleted by tampering, and may have contained a deny. */
export async function policiesNamed(db: Reader, tenantId: string, names: ReadonlySet<string>): Promise<PolicyRow[]> {
  if (names.size === 0) return [];
  const query = db.selectFrom('policies').selectAll().where('tenant_id', '=', tenantId);
  const policies = await POLICIES.checkedAll(db, await query.where('name', 'in', [...names]).execute());
  const found = new Set(policies.map(({ name }) => name));
  const missing = [...names].find((name) => !found.has(name));
  if (missing !== undefined) throw db.rowKeys.refuse('policies', missing);
  return policies;
}

/** Every policy attached to somebody, ordered by name. */
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

export async function policyNamesOf(db: Reader, tenantId: string, kind: PrincipalKind, id: string): Promise<string[]> {
  const rows = await db
    .selectFrom('policy_attachments')
    .select('policy_name')
    .where('tenant_id', '=', tenantId)
    .where('principal_kind', '=', kind)
    .where('principal_id', '=', id)
    .orderBy('policy_name')
    .execute();
  return rows.map((row) => row.policy_name);
}

/** Deletes the attachments of a deleted principal. No later principal has the same id, but lists would show the attachments. */
export async function deleteAttachmentsOf(tx: Tx, tenantId: string, kind: PrincipalKind, id: string): Promise<void> {
  await ATTACHMENTS.deleteWhere(tx, (eb) => eb.and({ tenant_id: tenantId, principal_kind: kind, principal_id: id }));
}
