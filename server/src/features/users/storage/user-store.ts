import { ADMIN_ROLES, type Role } from '../../../kernel/authz/roles.ts';
import { AuthenticatedTable } from '../../../kernel/integrity/authenticated-table.ts';
import { countRows } from '../../../kernel/storage/count-rows.ts';
import type { Reader, Tx } from '../../../kernel/storage/database.ts';
import type { Authenticated } from '../../../kernel/storage/tables.ts';
import { type Page, pageOf } from '../../../kernel/wire/cursor.ts';
import { canonicalEmail } from '../../../kernel/wire/wire.ts';

export interface UsersTables {
  users: Authenticated<UserRow>;
}

export interface UserRow {
  tenant_id: string;
  user_id: string;
  /** Canonical form: lower case. */
  email: string;
  name: string;
  role: Role;
  /** An invited user has no password yet and cannot authenticate. */
  status: 'invited' | 'active' | 'disabled';
  /** Empty if the user has no password. */
  password_hash: string;
  created_at: number;
  /** How often all their sessions were revoked; null means never. A session created under another number is revoked. */
  session_generation: number | null;
  /** The same for their personal access tokens. */
  pat_generation: number | null;
  /** 1 for an owner who gets in without the identity provider; null or 0 for everybody else. */
  break_glass: number | null;
  /** 1 if an identity provider made the account, by a sign-in or by SCIM; null for every other, and in older rows. */
  made_by_provider: number | null;
}

export const USERS = new AuthenticatedTable<'users', UserRow>('users', {
  key: ['user_id'],
  covered: ['email', 'name', 'role', 'status', 'password_hash', 'created_at'],
  appended: ['session_generation', 'pat_generation', 'break_glass', 'made_by_provider'],
});

export async function insertUser(tx: Tx, row: UserRow): Promise<void> {
  await USERS.insert(tx, row);
}

export async function findUser(db: Reader, tenantId: string, userId: string): Promise<UserRow | undefined> {
  return USERS.checked(db, await byId(db, tenantId, userId).executeTakeFirst());
}

/** Accepts an id, or an e-mail address in any case. */
export async function findUserByIdOrEmail(db: Reader, tenantId: string, text: string): Promise<UserRow | undefined> {
  return (await findUser(db, tenantId, text)) ?? (await findUserByEmail(db, tenantId, canonicalEmail(text)));
}

export async function findUserByEmail(db: Reader, tenantId: string, email: string): Promise<UserRow | undefined> {
  const query = db.selectFrom('users').selectAll().where('tenant_id', '=', tenantId).where('email', '=', email);
  return USERS.checked(db, await query.executeTakeFirst());
}

export function countUsers(db: Reader, tenantId: string): Promise<number> {
  return countRows(db.selectFrom('users').where('tenant_id', '=', tenantId));
}

/** Whether the address has an account in any tenant. */
export async function hasAccountAnywhere(db: Reader, email: string): Promise<boolean> {
  return (
    (await db.selectFrom('users').select('user_id').where('email', '=', email).limit(1).executeTakeFirst()) !==
    undefined
  );
}

export async function lockUser(tx: Tx, tenantId: string, userId: string): Promise<UserRow | undefined> {
  return USERS.checked(tx, await byId(tx, tenantId, userId).forUpdate().executeTakeFirst());
}

function byId(db: Reader, tenantId: string, userId: string) {
  return db.selectFrom('users').selectAll().where('tenant_id', '=', tenantId).where('user_id', '=', userId);
}

export async function listUsers(db: Reader, tenantId: string, after: string, limit: number): Promise<Page<UserRow>> {
  const rows = await db
    .selectFrom('users')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('user_id', '>', after)
    .orderBy('user_id')
    .limit(limit + 1)
    .execute();
  return pageOf(rows, limit, (row) => [row.user_id]);
}

/** The only user of the whole installation; null if there are several. */
export async function onlyUser(db: Reader): Promise<UserRow | null> {
  const [user, another] = await db.selectFrom('users').selectAll().limit(2).execute();
  return another === undefined ? ((await USERS.checked(db, user)) ?? null) : null;
}

/** Active users after an id, and the id to continue after; null at the end. A forged row is left out, because nobody can act as it. */
export async function activeUsersAfter(
  db: Reader,
  tenantId: string,
  after: string,
  limit: number,
): Promise<{ users: UserRow[]; next: string | null }> {
  const { rows, next_cursor } = await listUsers(db, tenantId, after, limit);
  const users = (await USERS.authenticOf(db, rows)).filter(({ status }) => status === 'active');
  return { users, next: next_cursor === null ? null : (rows.at(-1)?.user_id ?? null) };
}

export async function updateUser(tx: Tx, tenantId: string, userId: string, change: Partial<UserRow>): Promise<void> {
  await USERS.updateWhere(tx, (eb) => eb.and({ tenant_id: tenantId, user_id: userId }), change);
}

export async function deleteUser(tx: Tx, tenantId: string, userId: string): Promise<void> {
  await USERS.deleteWhere(tx, (eb) => eb.and({ tenant_id: tenantId, user_id: userId }));
}

/** Everybody in the tenant, for comparing names with them. It decides no access, so rows are not verified one by one. */
export function listPeople(
  db: Reader,
  tenantId: string,
): Promise<Pick<UserRow, 'user_id' | 'email' | 'status' | 'role'>[]> {
  return db
    .selectFrom('users')
    .select(['user_id', 'email', 'status', 'role'])
    .where('tenant_id', '=', tenantId)
    .orderBy('user_id')
    .execute();
}

/** Active owners and admins. */
export async function listActiveAdmins(db: Reader, tenantId: string, limit: number): Promise<UserRow[]> {
  return USERS.checkedAll(db, await activeWithRole(db, tenantId, ADMIN_ROLES, limit));
}

export async function listActiveOwners(db: Reader, tenantId: string, limit: number): Promise<UserRow[]> {
  return USERS.checkedAll(db, await activeWithRole(db, tenantId, ['owner'], limit));
}

/** For display only: a forged row is left out instead of failing the request. */
export async function countActiveAdmins(db: Reader, tenantId: string, limit: number): Promise<number> {
  return (await USERS.authenticOf(db, await activeWithRole(db, tenantId, ADMIN_ROLES, limit))).length;
}

function activeWithRole(db: Reader, tenantId: string, roles: readonly Role[], limit: number) {
  return db
    .selectFrom('users')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('role', 'in', roles)
    .where('status', '=', 'active')
    .orderBy('user_id')
    .limit(limit)
    .execute();
}

/** Those of the given users who exist. */
export async function findUsers(db: Reader, tenantId: string, userIds: readonly string[]): Promise<UserRow[]> {
  if (userIds.length === 0) return [];
  const query = db.selectFrom('users').selectAll().where('tenant_id', '=', tenantId);
  return USERS.checkedAll(db, await query.where('user_id', 'in', userIds).execute());
}

/** Those of the given users who exist and are active. */
export async function findActiveUsers(db: Reader, tenantId: string, userIds: readonly string[]): Promise<UserRow[]> {
  if (userIds.length === 0) return [];
  const rows = await db
    .selectFrom('users')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('user_id', 'in', userIds)
    .where('status', '=', 'active')
    .execute();
  return USERS.checkedAll(db, rows);
}

/** Whether the tenant has an active owner who is marked as break-glass. A forged row does not count. */
export async function hasBreakGlassOwner(db: Reader, tenantId: string): Promise<boolean> {
  const rows = await db
    .selectFrom('users')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('role', '=', 'owner')
    .where('status', '=', 'active')
    .where('break_glass', '=', 1)
    .execute();
  return (await USERS.authenticOf(db, rows)).length > 0;
}

/** Locks the owners, so that two concurrent requests cannot each remove one and leave none. */
export async function lockActiveOwners(tx: Tx, tenantId: string): Promise<string[]> {
  const rows = await USERS.lockedWhere(tx, (eb) => eb.and({ tenant_id: tenantId, role: 'owner', status: 'active' }));
  return rows.map((row) => row.user_id);
}
