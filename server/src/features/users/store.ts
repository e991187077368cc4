import { ADMIN_ROLES, type Role } from '../../kernel/authz/roles.ts';
import { type Page, pageOf } from '../../kernel/storage/cursor.ts';
import type { Reader, Tx } from '../../kernel/storage/database.ts';

declare module '../../kernel/storage/tables.ts' {
  interface Tables {
    users: UserRow;
  }
}

export interface UserRow {
  tenant_id: string;
  user_id: string;
  /** Canonical: lower case. */
  email: string;
  name: string;
  role: Role;
  status: 'active' | 'disabled';
  /** Empty if the person has none and cannot log in with one. */
  password_hash: string;
  created_at: number;
}

export async function insertUser(tx: Tx, row: UserRow): Promise<void> {
  await tx.insertInto('users').values(row).execute();
}

export function findUser(db: Reader, tenantId: string, userId: string): Promise<UserRow | undefined> {
  return db
    .selectFrom('users')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('user_id', '=', userId)
    .executeTakeFirst();
}

export function findUserByEmail(db: Reader, tenantId: string, email: string): Promise<UserRow | undefined> {
  return db
    .selectFrom('users')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('email', '=', email)
    .executeTakeFirst();
}

export function lockUser(tx: Tx, tenantId: string, userId: string): Promise<UserRow | undefined> {
  return tx
    .selectFrom('users')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('user_id', '=', userId)
    .forUpdate()
    .executeTakeFirst();
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

export async function updateUser(tx: Tx, tenantId: string, userId: string, change: Partial<UserRow>): Promise<void> {
  await tx.updateTable('users').set(change).where('tenant_id', '=', tenantId).where('user_id', '=', userId).execute();
}

export async function deleteUser(tx: Tx, tenantId: string, userId: string): Promise<void> {
  await tx.deleteFrom('users').where('tenant_id', '=', tenantId).where('user_id', '=', userId).execute();
}

/** Owners and admins who are not disabled. */
export function listActiveAdmins(db: Reader, tenantId: string, limit: number): Promise<UserRow[]> {
  return db
    .selectFrom('users')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('role', 'in', ADMIN_ROLES)
    .where('status', '=', 'active')
    .orderBy('user_id')
    .limit(limit)
    .execute();
}

/** Locks the owners, so that two requests cannot each remove what they think is the last but one. */
export async function lockActiveOwners(tx: Tx, tenantId: string): Promise<string[]> {
  const rows = await tx
    .selectFrom('users')
    .select('user_id')
    .where('tenant_id', '=', tenantId)
    .where('role', '=', 'owner')
    .where('status', '=', 'active')
    .forUpdate()
    .execute();
  return rows.map((row) => row.user_id);
}
