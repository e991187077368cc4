import { AuthenticatedTable, type RowFilter } from '../../kernel/integrity/authenticated-table.ts';
import type { Reader, Tx } from '../../kernel/storage/database.ts';
import type { Authenticated } from '../../kernel/storage/tables.ts';
import { badRequest } from './errors.ts';
import type { Filter } from './filter.ts';
import { type Comparison, type Condition, type Expressions, listPage, textCondition, type Window } from './listing.ts';
import type { Owner } from './user-store.ts';

export interface ScimGroupTables {
  scim_groups: Authenticated<GroupState>;
}

/** A group as its provider knows it. Its members are those of the group. */
export interface GroupState {
  tenant_id: string;
  group_id: string;
  issuer_hash: Uint8Array;
  display_name: string;
  /** In lower case, because displayName is unique in any case. */
  display_name_key: string;
  external_id: string | null;
  /** Incremented by every change by the provider. */
  revision: number;
  created_at: number;
  updated_at: number;
}

export const SCIM_GROUPS = new AuthenticatedTable<'scim_groups', GroupState>('scim_groups', {
  key: ['group_id'],
  covered: ['issuer_hash', 'display_name', 'display_name_key', 'external_id', 'revision', 'created_at', 'updated_at'],
});

function isIt({ tenant_id, issuer_hash }: Owner, groupId: string): RowFilter<'scim_groups'> {
  return (eb) => eb.and({ tenant_id, issuer_hash, group_id: groupId });
}

export async function insertState(tx: Tx, row: GroupState): Promise<void> {
  await SCIM_GROUPS.insert(tx, row);
}

export async function findState(db: Reader, owner: Owner, groupId: string): Promise<GroupState | undefined> {
  const query = db.selectFrom('scim_groups').selectAll().where(isIt(owner, groupId));
  return SCIM_GROUPS.checked(db, await query.executeTakeFirst());
}

export async function findStateByName(db: Reader, owner: Owner, key: string): Promise<GroupState | undefined> {
  const { tenant_id, issuer_hash } = owner;
  const query = db
    .selectFrom('scim_groups')
    .selectAll()
    .where((eb) => eb.and({ tenant_id, issuer_hash, display_name_key: key }));
  return SCIM_GROUPS.checked(db, await query.executeTakeFirst());
}

export async function lockState(tx: Tx, owner: Owner, groupId: string): Promise<GroupState | undefined> {
  const [row] = await SCIM_GROUPS.lockedWhere(tx, isIt(owner, groupId));
  return row;
}

export function updateState(tx: Tx, row: GroupState, change: Partial<GroupState>): Promise<GroupState> {
  return SCIM_GROUPS.update(tx, row, change);
}

export async function deleteStateOf(tx: Tx, tenantId: string, groupId: string): Promise<void> {
  await SCIM_GROUPS.deleteWhere(tx, (eb) => eb.and({ tenant_id: tenantId, group_id: groupId }));
}

/** The hash of the issuer whose provider made the group; undefined for a group that people made. */
export async function issuerOf(db: Reader, tenantId: string, groupId: string): Promise<Uint8Array | undefined> {
  const query = db.selectFrom('scim_groups').selectAll().where('tenant_id', '=', tenantId);
  const row = await SCIM_GROUPS.checked(db, await query.where('group_id', '=', groupId).executeTakeFirst());
  return row?.issuer_hash;
}

/** The names of those of the given groups that belong to the issuer. A forged row could only give a role, so it is left out. */
export async function namesAmong(
  db: Reader,
  { tenant_id, issuer_hash }: Owner,
  groupIds: readonly string[],
): Promise<Map<string, string>> {
  if (groupIds.length === 0) return new Map();
  const rows = await db
    .selectFrom('scim_groups')
    .selectAll()
    .where('tenant_id', '=', tenant_id)
    .where('group_id', 'in', groupIds)
    .execute();
  const own = rows.filter((row) => Buffer.from(row.issuer_hash).equals(issuer_hash));
  const authentic = await SCIM_GROUPS.authenticOf(db, own);
  return new Map(authentic.map(({ group_id, display_name }) => [group_id, display_name]));
}

export async function listStates(
  db: Reader,
  { tenant_id, issuer_hash }: Owner,
  filter: Filter | null,
  window: Window,
): Promise<{ total: number; rows: GroupState[] }> {
  const owned = db
    .selectFrom('scim_groups as s')
    .where('s.tenant_id', '=', tenant_id)
    .where('s.issuer_hash', '=', issuer_hash);
  const { total, rows } = await listPage<'scim_groups', GroupState>(owned, 'group_id', { filter, compare }, window);
  return { total, rows: await SCIM_GROUPS.checkedAll(db, rows) };
}

function compare(eb: Expressions<'scim_groups'>, comparison: Comparison): Condition<'scim_groups'> {
  if (comparison.kind === 'some') {
    const { attribute, filter: inner } = comparison;
    if (attribute !== 'members' || inner.kind !== 'eq' || inner.attribute !== 'value') throw unsupported();
    return hasMember(eb, textOf(inner.value));
  }
  const text = (column: string, isKey = false) => textCondition(eb, column, comparison, { textOf, isKey });
  switch (comparison.attribute) {
    case 'id':
      return text('s.group_id');
    case 'displayname':
      return text('s.display_name_key', true);
    case 'externalid':
      return text('s.external_id');
    case 'members':
    case 'members.value':
      if (comparison.kind === 'pr') return hasMember(eb, null);
      if (comparison.kind !== 'eq') throw unsupported();
      return hasMember(eb, textOf(comparison.value));
    default:
      throw unsupported();
  }
}

/** Like the members that a group shows: people of its issuer only. Null stands for anybody. */
function hasMember(eb: Expressions<'scim_groups'>, userId: string | null): Condition<'scim_groups'> {
  return eb.exists(
    eb
      .selectFrom('group_members as m')
      .innerJoin('scim_users as u', (join) =>
        join.onRef('u.tenant_id', '=', 'm.tenant_id').onRef('u.user_id', '=', 'm.user_id'),
      )
      .select('m.user_id')
      .whereRef('u.issuer_hash', '=', 's.issuer_hash')
      .whereRef('m.tenant_id', '=', 's.tenant_id')
      .whereRef('m.group_id', '=', 's.group_id')
      .$if(userId !== null, (query) => query.where('m.user_id', '=', userId as string)),
  );
}

function textOf(value: unknown): string {
  // PostgreSQL cannot compare with NUL.
  if (typeof value !== 'string' || value.includes('\0')) throw unsupported();
  return value;
}

function unsupported(): Error {
  return badRequest(
    'invalidFilter',
    'The filter is not supported. What works: id, displayName, externalId and members.value, compared by eq, ne, co, sw, ew and pr (members.value by eq, ne and pr), joined by and, or and not.',
  );
}
