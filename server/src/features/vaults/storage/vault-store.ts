import type { ExpressionBuilder } from 'kysely';
import type { PathRange } from '../../../kernel/authz/path-ranges.ts';
import type { VaultRole } from '../../../kernel/authz/vault-roles.ts';
import { AuthenticatedTable, type RowFilter } from '../../../kernel/integrity/authenticated-table.ts';
import { countRows } from '../../../kernel/storage/count-rows.ts';
import type { Reader, Tx } from '../../../kernel/storage/database.ts';
import { PreparedQuery } from '../../../kernel/storage/prepared-query.ts';
import type { Authenticated, Tables } from '../../../kernel/storage/tables.ts';
import type { Cutoff } from '../../../kernel/time/cutoff.ts';
import { type Page, pageOf } from '../../../kernel/wire/cursor.ts';
import { membersOfGroups } from '../../groups/storage/index.ts';

export interface VaultsTables {
  vaults: Authenticated<VaultRow, 'secrets_count'>;
  vault_members: Authenticated<VaultMemberRow>;
}

export interface VaultRow {
  tenant_id: string;
  name: string;
  vault_id: string;
  description: string;
  environment: string;
  /** JSON array. */
  tags: string;
  status: 'active' | 'pending_deletion' | 'deleted';
  rotation_days: number;
  log_reads: number;
  audit_retention_days: number | null;
  is_zero_knowledge: number;
  /** Updated in the transactions that create and delete secrets, because counting a million rows for a list would be too slow. */
  secrets_count: number;
  approval_id: string | null;
  created_at: number;
  updated_at: number;
  deleted_at: number | null;
  purge_at: number | null;
  /** Whether changes of its secrets wait for a second person; null if they do not. */
  change_control: 'review' | null;
}

export type MemberKind = 'user' | 'group';

export interface VaultMemberRow {
  tenant_id: string;
  vault_id: string;
  principal_kind: MemberKind;
  principal_id: string;
  role: VaultRole;
  added_at: number;
  reviewed_at: number | null;
  reviewed_by: string | null;
}

export const VAULTS = new AuthenticatedTable<'vaults', VaultRow>('vaults', {
  key: ['name'],
  covered: [
    'vault_id',
    'description',
    'environment',
    'tags',
    'status',
    'rotation_days',
    'log_reads',
    'audit_retention_days',
    'is_zero_knowledge',
    'approval_id',
    'created_at',
    'updated_at',
    'deleted_at',
    'purge_at',
  ],
  appended: ['change_control'],
  uncovered: { secrets_count: 'a number that is only displayed' },
});

export const VAULT_MEMBERS = new AuthenticatedTable<'vault_members', VaultMemberRow>('vault_members', {
  key: ['vault_id', 'principal_kind', 'principal_id'],
  covered: ['role', 'added_at', 'reviewed_at', 'reviewed_by'],
});

/** Differs after every change of the row that matters to anybody. */
export function vaultDigest(row: VaultRow): string {
  return VAULTS.digest(row);
}

export async function insertVault(tx: Tx, row: VaultRow): Promise<void> {
  await VAULTS.insert(tx, row);
}

/** Also finds a deleted vault. */
export async function findVault(db: Reader, tenantId: string, name: string): Promise<VaultRow | undefined> {
  return VAULTS.checked(db, (await FIND_VAULT.run(db, { tenantId, name }))[0]);
}

const FIND_VAULT = new PreparedQuery<{ tenantId: string; name: string }, VaultRow>((db, parameter) =>
  db
    .selectFrom('vaults')
    .select([...VAULTS.columns, 'row_mac'])
    .where('tenant_id', '=', parameter('tenantId'))
    .where('name', '=', parameter('name')),
);

/** Those of the named vaults that exist. */
export async function findVaults(db: Reader, tenantId: string, names: readonly string[]): Promise<VaultRow[]> {
  if (names.length === 0) return [];
  const query = db.selectFrom('vaults').selectAll().where('tenant_id', '=', tenantId).where('name', 'in', names);
  return VAULTS.checkedAll(db, await query.execute());
}

export async function findVaultById(db: Reader, tenantId: string, vaultId: string): Promise<VaultRow | undefined> {
  const query = db.selectFrom('vaults').selectAll().where('tenant_id', '=', tenantId).where('vault_id', '=', vaultId);
  return VAULTS.checked(db, await query.executeTakeFirst());
}

/** Locks the row against changes until the transaction ends; others may hold the same share lock. */
export async function shareVault(tx: Tx, tenantId: string, name: string): Promise<VaultRow | undefined> {
  return VAULTS.checked(tx, await byName(tx, tenantId, name).forShare().executeTakeFirst());
}

export async function lockVault(tx: Tx, tenantId: string, name: string): Promise<VaultRow | undefined> {
  return VAULTS.checked(tx, await byName(tx, tenantId, name).forUpdate().executeTakeFirst());
}

function byName(db: Reader, tenantId: string, name: string) {
  return db.selectFrom('vaults').selectAll().where('tenant_id', '=', tenantId).where('name', '=', name);
}

export function vaultsAfter(db: Reader, tenantId: string, after: string, limit: number): Promise<VaultRow[]> {
  return db
    .selectFrom('vaults')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('name', '>', after)
    .orderBy('name')
    .limit(limit)
    .execute();
}

export interface WantedVaults {
  names: readonly PathRange[];
  /** If undefined, all but deleted vaults. */
  status: VaultRow['status'] | undefined;
  environment: string | undefined;
}

export function vaultsWanted(
  db: Reader,
  tenantId: string,
  wanted: WantedVaults,
  { after, limit }: { after: string; limit: number },
): Promise<VaultRow[]> {
  return db
    .selectFrom('vaults')
    .selectAll()
    .where((eb) => isWanted(eb, tenantId, wanted))
    .where('name', '>', after)
    .orderBy('name')
    .limit(limit)
    .execute();
}

export async function countVaultsWanted(db: Reader, tenantId: string, wanted: WantedVaults): Promise<number> {
  const { count } = await db
    .selectFrom('vaults')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where((eb) => isWanted(eb, tenantId, wanted))
    .executeTakeFirstOrThrow();
  return Number(count);
}

function isWanted(
  eb: ExpressionBuilder<Tables, 'vaults'>,
  tenantId: string,
  { names, status, environment }: WantedVaults,
) {
  const ranges = names.map(({ from, to }) => eb.and([eb('name', '>=', from), eb('name', '<', to)]));
  return eb.and([
    eb('tenant_id', '=', tenantId),
    eb.or(ranges),
    status === undefined ? eb('status', '!=', 'deleted') : eb('status', '=', status),
    ...(environment === undefined ? [] : [eb('environment', '=', environment)]),
  ]);
}

export async function updateVault(
  tx: Tx,
  tenantId: string,
  name: string,
  change: Partial<Omit<VaultRow, 'tenant_id' | 'name' | 'vault_id' | 'secrets_count'>>,
): Promise<void> {
  await VAULTS.updateWhere(tx, (eb) => eb.and({ tenant_id: tenantId, name }), change);
}

export async function countSecrets(tx: Tx, tenantId: string, vaultId: string, difference: number): Promise<void> {
  await tx
    .updateTable('vaults')
    .set((eb) => ({ secrets_count: eb('secrets_count', '+', difference) }))
    .where('tenant_id', '=', tenantId)
    .where('vault_id', '=', vaultId)
    .execute();
}

/** What a tenant has in vaults that are not deleted. */
export async function countLive(db: Reader, tenantId: string): Promise<{ vaults: number; secrets: number }> {
  const rows = await db
    .selectFrom('vaults')
    .select((eb) => [
      'status',
      eb.fn.countAll<number | string>().as('vaults'),
      eb.fn.sum<number | string>('secrets_count').as('secrets'),
    ])
    .where('tenant_id', '=', tenantId)
    .groupBy('status')
    .execute();
  const live = rows.filter(({ status }) => status !== 'deleted');
  const total = (of: 'vaults' | 'secrets') => live.reduce((sum, row) => sum + Number(row[of]), 0);
  return { vaults: total('vaults'), secrets: total('secrets') };
}

/** Vaults of every tenant whose retention is over. */
export function vaultsToPurge(db: Reader, time: Cutoff, limit: number): Promise<VaultRow[]> {
  return db
    .selectFrom('vaults')
    .selectAll()
    .where('purge_at', '<=', time)
    .where('status', '=', 'deleted')
    .orderBy('purge_at')
    .limit(limit)
    .execute();
}

export function countToPurge(db: Reader, time: Cutoff): Promise<number> {
  return countRows(db.selectFrom('vaults').where('purge_at', '<=', time).where('status', '=', 'deleted'));
}

export function countVaults(db: Reader): Promise<number> {
  return countRows(db.selectFrom('vaults'));
}

export async function deleteVaultRow(tx: Tx, tenantId: string, vaultId: string): Promise<void> {
  await VAULT_MEMBERS.deleteWhere(tx, (eb) => eb.and({ tenant_id: tenantId, vault_id: vaultId }));
  await VAULTS.deleteWhere(tx, (eb) => eb.and({ tenant_id: tenantId, vault_id: vaultId }));
}

export async function insertMember(tx: Tx, row: VaultMemberRow): Promise<void> {
  await VAULT_MEMBERS.insert(tx, row);
}

export function countMembers(tx: Tx, tenantId: string, vaultId: string): Promise<number> {
  return countRows(tx.selectFrom('vault_members').where('tenant_id', '=', tenantId).where('vault_id', '=', vaultId));
}

export async function listMembers(
  db: Reader,
  tenantId: string,
  vaultId: string,
  { after, limit }: { after: readonly [kind: string, id: string]; limit: number },
): Promise<Page<VaultMemberRow>> {
  const [kind, id] = after;
  const rows = await db
    .selectFrom('vault_members')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('vault_id', '=', vaultId)
    .where((eb) =>
      eb.or([
        eb('principal_kind', '>', kind as MemberKind),
        eb.and([eb('principal_kind', '=', kind as MemberKind), eb('principal_id', '>', id)]),
      ]),
    )
    .orderBy('principal_kind')
    .orderBy('principal_id')
    .limit(limit + 1)
    .execute();
  return pageOf(rows, limit, (row) => [row.principal_kind, row.principal_id]);
}

/** Users and groups that manage some vaults. Forged memberships are left out. */
export async function managersOfVaults(
  db: Reader,
  tenantId: string,
  vaultIds: readonly string[],
): Promise<VaultMemberRow[]> {
  if (vaultIds.length === 0) return [];
  const rows = await db
    .selectFrom('vault_members')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('vault_id', 'in', vaultIds)
    .where('role', '=', 'manager')
    .execute();
  return VAULT_MEMBERS.authenticOf(db, rows);
}

export async function lockMember(
  tx: Tx,
  tenantId: string,
  vaultId: string,
  principalId: string,
): Promise<VaultMemberRow | undefined> {
  const [row] = await VAULT_MEMBERS.lockedWhere(tx, (eb) =>
    eb.and({ tenant_id: tenantId, vault_id: vaultId, principal_id: principalId }),
  );
  return row;
}

export async function setMemberRole(tx: Tx, row: VaultMemberRow): Promise<void> {
  await VAULT_MEMBERS.updateWhere(tx, isMember(row), { role: row.role });
}

export async function deleteMember(tx: Tx, row: VaultMemberRow): Promise<void> {
  await VAULT_MEMBERS.deleteWhere(tx, isMember(row));
}

function isMember({ tenant_id, vault_id, principal_id }: VaultMemberRow): RowFilter<'vault_members'> {
  return (eb) => eb.and({ tenant_id, vault_id, principal_id });
}

export async function markReviewed(
  tx: Tx,
  { tenantId, vaultId }: { tenantId: string; vaultId: string },
  now: number,
  reviewer: string,
): Promise<number> {
  const isOfVault: RowFilter<'vault_members'> = (eb) => eb.and({ tenant_id: tenantId, vault_id: vaultId });
  const reviewed = await VAULT_MEMBERS.updateWhere(tx, isOfVault, { reviewed_at: now, reviewed_by: reviewer });
  return reviewed.length;
}

/** Everybody who is a member of a vault that is not deleted, themselves or by a group. For display: rows are not verified one by one. */
export async function memberUserIds(db: Reader, tenantId: string): Promise<Set<string>> {
  const members = await db
    .selectFrom('vault_members as m')
    .innerJoin('vaults as v', (join) =>
      join.onRef('v.tenant_id', '=', 'm.tenant_id').onRef('v.vault_id', '=', 'm.vault_id'),
    )
    .select(['m.principal_kind', 'm.principal_id'])
    .distinct()
    .where('m.tenant_id', '=', tenantId)
    .where('v.status', '<>', 'deleted')
    .execute();
  const idsOf = (kind: MemberKind) =>
    members.filter(({ principal_kind }) => principal_kind === kind).map(({ principal_id }) => principal_id);
  const joined = await membersOfGroups(db, tenantId, idsOf('group'));
  return new Set([...idsOf('user'), ...joined.map(({ user_id }) => user_id)]);
}

/** The lasting memberships of these principals. A membership only ever grants, so forged ones are left out. */
export async function lastingMembershipsOf(
  db: Reader,
  tenantId: string,
  principals: readonly { kind: MemberKind; id: string }[],
): Promise<VaultMemberRow[]> {
  const members = await db
    .selectFrom('vault_members')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where((eb) => eb.or(principals.map(({ kind, id }) => eb.and({ principal_kind: kind, principal_id: id }))))
    .execute();
  return VAULT_MEMBERS.authenticOf(db, members);
}

/** Deleted ones too; forged rows are left out. */
export async function vaultRowsById(
  db: Reader,
  tenantId: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, VaultRow>> {
  if (ids.length === 0) return new Map();
  const query = db
    .selectFrom('vaults')
    .select([...VAULTS.columns, 'row_mac'])
    .where('tenant_id', '=', tenantId)
    .where('vault_id', 'in', ids);
  const rows = await VAULTS.authenticOf(db, await query.execute());
  return new Map(rows.map((row) => [row.vault_id, row]));
}

/** Deleted ones too; forged rows are left out. */
export async function vaultsByName(
  db: Reader,
  tenantId: string,
  names: readonly string[],
): Promise<ReadonlyMap<string, VaultRow>> {
  if (names.length === 0) return new Map();
  const query = db.selectFrom('vaults').selectAll().where('tenant_id', '=', tenantId).where('name', 'in', names);
  const rows = await VAULTS.authenticOf(db, await query.execute());
  return new Map(rows.map((row) => [row.name, row]));
}

/** How long the audit log keeps the entries about a vault. */
export interface AuditRetention {
  vault: string;
  /** Entries from before this time concern an earlier vault of the same name. */
  since: number;
  days: number;
}

/** Only vaults that set a retention. Forged rows are ignored. */
export async function auditRetentions(db: Reader, tenantId: string): Promise<AuditRetention[]> {
  const rows = await db
    .selectFrom('vaults')
    .select([...VAULTS.columns, 'row_mac'])
    .where('tenant_id', '=', tenantId)
    .where('audit_retention_days', 'is not', null)
    .execute();
  const retentions: AuditRetention[] = [];
  for (const row of rows) {
    const { name: vault, created_at: since, audit_retention_days: days } = row;
    if (days !== null && (await VAULTS.isAuthentic(db, row))) retentions.push({ vault, since, days });
  }
  return retentions;
}

export async function deleteVaultMember(tx: Tx, tenantId: string, kind: MemberKind, id: string): Promise<void> {
  await VAULT_MEMBERS.deleteWhere(tx, (eb) => eb.and({ tenant_id: tenantId, principal_kind: kind, principal_id: id }));
}
