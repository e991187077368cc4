import { isId } from '../../kernel/ids.ts';
import { type Page, pageOf } from '../../kernel/storage/cursor.ts';
import type { Reader, Tx } from '../../kernel/storage/database.ts';

declare module '../../kernel/storage/tables.ts' {
  interface Tables {
    groups: GroupRow;
    group_members: GroupMemberRow;
  }
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

export type CountedGroup = GroupRow & { members_count: number };

export async function insertGroup(tx: Tx, row: GroupRow): Promise<void> {
  await tx.insertInto('groups').values(row).execute();
}

export async function findGroup(db: Reader, tenantId: string, groupId: string): Promise<CountedGroup | undefined> {
  return counted(db).where('g.tenant_id', '=', tenantId).where('g.group_id', '=', groupId).executeTakeFirst();
}

export async function lockGroup(tx: Tx, tenantId: string, groupId: string): Promise<GroupRow | undefined> {
  return tx
    .selectFrom('groups')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('group_id', '=', groupId)
    .forUpdate()
    .executeTakeFirst();
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
  await tx
    .updateTable('groups')
    .set({ description })
    .where('tenant_id', '=', tenantId)
    .where('group_id', '=', groupId)
    .execute();
}

export async function deleteGroup(tx: Tx, tenantId: string, groupId: string): Promise<void> {
  for (const table of ['group_members', 'groups'] as const) {
    await tx.deleteFrom(table).where('tenant_id', '=', tenantId).where('group_id', '=', groupId).execute();
  }
}

export async function insertMember(tx: Tx, row: GroupMemberRow): Promise<void> {
  await tx.insertInto('group_members').values(row).execute();
}

export async function listMembers(
  db: Reader,
  tenantId: string,
  groupId: string,
  after: string,
  limit: number,
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

/** Tells whether anybody joined or left since: who joins is the latest to have joined. */
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

export async function deleteMember(tx: Tx, tenantId: string, groupId: string, userId: string): Promise<boolean> {
  const { numDeletedRows } = await tx
    .deleteFrom('group_members')
    .where('tenant_id', '=', tenantId)
    .where('group_id', '=', groupId)
    .where('user_id', '=', userId)
    .executeTakeFirst();
  return numDeletedRows === 1n;
}

/** A group is named by people and known by its id; an id never has the form of a name that could be another's. */
export function findGroupByIdOrName(db: Reader, tenantId: string, idOrName: string): Promise<GroupRow | undefined> {
  return db
    .selectFrom('groups')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where(isId('group', idOrName) ? 'group_id' : 'name', '=', idOrName)
    .executeTakeFirst();
}

/** With the time each was joined. */
export function joinedBy(
  db: Reader,
  tenantId: string,
  userId: string,
): Promise<Pick<GroupMemberRow, 'group_id' | 'added_at'>[]> {
  return db
    .selectFrom('group_members')
    .select(['group_id', 'added_at'])
    .where('tenant_id', '=', tenantId)
    .where('user_id', '=', userId)
    .execute();
}

export async function groupsOfUser(db: Reader, tenantId: string, userId: string): Promise<string[]> {
  return (await joinedBy(db, tenantId, userId)).map((row) => row.group_id);
}

export async function forgetUser(tx: Tx, tenantId: string, userId: string): Promise<void> {
  await tx.deleteFrom('group_members').where('tenant_id', '=', tenantId).where('user_id', '=', userId).execute();
}
