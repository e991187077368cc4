import { isId } from '../../../kernel/base/ids.ts';
import { AuthenticatedTable } from '../../../kernel/integrity/authenticated-table.ts';
import { countRows } from '../../../kernel/storage/count-rows.ts';
import type { Reader, Tx } from '../../../kernel/storage/database.ts';
import type { Authenticated } from '../../../kernel/storage/tables.ts';
import { type Page, pageOf } from '../../../kernel/wire/cursor.ts';

export interface GroupsTables {
  groups: Authenticated<GroupRow>;
  group_members: Authenticated<GroupMemberRow>;
}

export interface GroupRow {
  tenant_id: string;
  group_id: string;
  name: string;
  description: string;
  created_at: number;
}

export interface GroupMemberRow {
  tenant_id: string;
  group_id: string;
  user_id: string;
  added_at: number;
}

export const GROUPS = new AuthenticatedTable<'groups', GroupRow>('groups', {
  key: ['group_id'],
  covered: ['name', 'description', 'created_at'],
});

export const GROUP_MEMBERS = new AuthenticatedTable<'group_members', GroupMemberRow>('group_members', {
  key: ['group_id', 'user_id'],
  covered: ['added_at'],
});

export type CountedGroup = GroupRow & { members_count: number };

export async function insertGroup(tx: Tx, row: GroupRow): Promise<void> {
  await GROUPS.insert(tx, row);
}

export async function findGroup(db: Reader, tenantId: string, groupId: string): Promise<CountedGroup | undefined> {
  return counted(db).where('g.tenant_id', '=', tenantId).where('g.group_id', '=', groupId).executeTakeFirst();
}

export async function lockGroup(tx: Tx, tenantId: string, groupId: string): Promise<GroupRow | undefined> {
  const [row] = await GROUPS.lockedWhere(tx, (eb) => eb.and({ tenant_id: tenantId, group_id: groupId }));
  return row;
}

export async function listGroups(
  db: Reader,
  tenantId: string,
  after: string,
  limit: number,
): Promise<Page<CountedGroup>> {
  const rows = await counted(db)
    .where('g.tenant_id', '=', tenantId)
    .where('g.group_id', '>', after)
    .orderBy('g.group_id')
    .limit(limit + 1)
    .execute();
  return pageOf(rows, limit, (row) => [row.group_id]);
}

function counted(db: Reader) {
  return db
    .selectFrom('groups as g')
    .selectAll('g')
    .select((eb) =>
      eb
        .selectFrom('group_members as m')
        .select((m) => m.fn.countAll<number>().as('n'))
        .whereRef('m.tenant_id', '=', 'g.tenant_id')
        .whereRef('m.group_id', '=', 'g.group_id')
        .as('members_count'),
    )
    .$castTo<CountedGroup>();
}

export async function updateGroup(tx: Tx, tenantId: string, groupId: string, description: string): Promise<void> {
  await GROUPS.updateWhere(tx, (eb) => eb.and({ tenant_id: tenantId, group_id: groupId }), { description });
}

export function countGroups(tx: Tx, tenantId: string): Promise<number> {
  return countRows(tx.selectFrom('groups').where('tenant_id', '=', tenantId));
}

export async function deleteGroup(tx: Tx, tenantId: string, groupId: string): Promise<void> {
  await GROUP_MEMBERS.deleteWhere(tx, (eb) => eb.and({ tenant_id: tenantId, group_id: groupId }));
  await GROUPS.deleteWhere(tx, (eb) => eb.and({ tenant_id: tenantId, group_id: groupId }));
}

export async function insertMember(tx: Tx, row: GroupMemberRow): Promise<void> {
  await GROUP_MEMBERS.insert(tx, row);
}

/** For a provider that adds many at once. */
export async function insertMembers(tx: Tx, rows: readonly GroupMemberRow[]): Promise<void> {
  for (let at = 0; at < rows.length; at += MEMBERS_AT_ONCE) {
    await GROUP_MEMBERS.insert(tx, ...rows.slice(at, at + MEMBERS_AT_ONCE));
  }
}
/** Each takes five parameters of a statement. */
const MEMBERS_AT_ONCE = 500;

/** The ids of all members, of which a plan allows some thousands. */
export async function memberIdsOf(db: Reader, tenantId: string, groupId: string): Promise<string[]> {
  const query = db.selectFrom('group_members').select('user_id').where('tenant_id', '=', tenantId);
  const rows = await query.where('group_id', '=', groupId).orderBy('user_id').execute();
  return rows.map(({ user_id }) => user_id);
}

export async function listMembers(
  db: Reader,
  tenantId: string,
  groupId: string,
  { after, limit }: { after: string; limit: number },
): Promise<Page<GroupMemberRow>> {
  const rows = await db
    .selectFrom('group_members')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('group_id', '=', groupId)
    .where('user_id', '>', after)
    .orderBy('user_id')
    .limit(limit + 1)
    .execute();
  return pageOf(rows, limit, (row) => [row.user_id]);
}

/** Shows whether anybody joined or left since: a new member always has the latest `added_at`. */
export async function membershipOf(
  db: Reader,
  tenantId: string,
  groupId: string,
): Promise<{ members: number; last_added_at: number | null }> {
  const row = await db
    .selectFrom('group_members')
    .select((eb) => [eb.fn.countAll<number>().as('members'), eb.fn.max('added_at').as('last_added_at')])
    .where('tenant_id', '=', tenantId)
    .where('group_id', '=', groupId)
    .executeTakeFirstOrThrow();
  return { members: Number(row.members), last_added_at: row.last_added_at };
}

/** Nobody reads more members than this before approving. */
const MEMBERS_SHOWN_MAX = 100;

/** The members of a group, for approvers of a grant to it: how many, the time of the last addition, and the first of them by id. */
export async function shownGroup(tx: Tx, tenantId: string, groupId: string) {
  const { members, last_added_at } = await membershipOf(tx, tenantId, groupId);
  const first = await listMembers(tx, tenantId, groupId, { after: '', limit: MEMBERS_SHOWN_MAX });
  return { members, last_added_at, shown: { count: members, members: first.rows.map((row) => row.user_id) } };
}

export async function deleteMember(tx: Tx, tenantId: string, groupId: string, userId: string): Promise<boolean> {
  const deleted = await GROUP_MEMBERS.deleteWhere(tx, (eb) =>
    eb.and({ tenant_id: tenantId, group_id: groupId, user_id: userId }),
  );
  return deleted.length === 1;
}

/** A group is named by people and identified by its id. No group name has the form of an id, so the two cannot be confused. */
export async function findGroupByIdOrName(
  db: Reader,
  tenantId: string,
  idOrName: string,
): Promise<GroupRow | undefined> {
  const query = db
    .selectFrom('groups')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where(isId('group', idOrName) ? 'group_id' : 'name', '=', idOrName);
  return GROUPS.checked(db, await query.executeTakeFirst());
}

/** All members of these groups, with the time each joined. A membership only ever allows, so a forged one is left out. */
export async function membersOfGroups(
  db: Reader,
  tenantId: string,
  groupIds: readonly string[],
): Promise<GroupMemberRow[]> {
  if (groupIds.length === 0) return [];
  const query = db.selectFrom('group_members').selectAll().where('tenant_id', '=', tenantId);
  return GROUP_MEMBERS.authenticOf(db, await query.where('group_id', 'in', groupIds).orderBy('user_id').execute());
}

/** Includes the time at which each group was joined. */
export async function joinedBy(
  db: Reader,
  tenantId: string,
  userId: string,
): Promise<Pick<GroupMemberRow, 'group_id' | 'added_at'>[]> {
  const query = db.selectFrom('group_members').selectAll().where('tenant_id', '=', tenantId);
  return GROUP_MEMBERS.checkedAll(db, await query.where('user_id', '=', userId).execute());
}

export async function groupsOfUser(db: Reader, tenantId: string, userId: string): Promise<string[]> {
  return (await joinedBy(db, tenantId, userId)).map((row) => row.group_id);
}

/** The groups of each of some users; those in none are missing. */
export async function groupsOfUsers(
  db: Reader,
  tenantId: string,
  userIds: readonly string[],
): Promise<Map<string, string[]>> {
  if (userIds.length === 0) return new Map();
  const query = db.selectFrom('group_members').selectAll().where('tenant_id', '=', tenantId);
  const rows = await GROUP_MEMBERS.checkedAll(db, await query.where('user_id', 'in', userIds).execute());
  const groups = new Map<string, string[]>();
  for (const { user_id, group_id } of rows) groups.set(user_id, [...(groups.get(user_id) ?? []), group_id]);
  return groups;
}

export async function groupNames(
  db: Reader,
  tenantId: string,
  groupIds: readonly string[],
): Promise<Map<string, string>> {
  if (groupIds.length === 0) return new Map();
  const query = db.selectFrom('groups').select(['group_id', 'name']).where('tenant_id', '=', tenantId);
  const rows = await query.where('group_id', 'in', groupIds).execute();
  return new Map(rows.map(({ group_id, name }) => [group_id, name]));
}

export async function deleteMembershipsOf(tx: Tx, tenantId: string, userId: string): Promise<void> {
  await GROUP_MEMBERS.deleteWhere(tx, (eb) => eb.and({ tenant_id: tenantId, user_id: userId }));
}
