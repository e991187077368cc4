import type { Membership } from '../../../kernel/authz/vault-roles.ts';
import { AuthenticatedTable } from '../../../kernel/integrity/authenticated-table.ts';
import { countRows } from '../../../kernel/storage/count-rows.ts';
import type { Reader, Tx } from '../../../kernel/storage/database.ts';
import type { Authenticated } from '../../../kernel/storage/tables.ts';
import type { Cutoff } from '../../../kernel/time/cutoff.ts';

export interface TimedAccessTables {
  timed_access: Authenticated<TimedAccessRow>;
}

/** A role in a vault that somebody has until a time. The row stays after its end, as a record of who had access and why. */
export interface TimedAccessRow {
  tenant_id: string;
  access_id: string;
  vault_id: string;
  user_id: string;
  role: TimedRole;
  /** The path that the access is limited to, with everything below it; null for the whole vault. */
  path: string | null;
  reason: string;
  approval_id: string;
  granted_at: number;
  expires_at: number;
  /** Null while it lasts. From `expires_at` on it gives nothing, whether or not a job has set this. */
  ended_at: number | null;
  /** Who ended it early; null if it ended by itself. */
  ended_by: string | null;
}

/** A manager could make the access permanent, so nobody manages a vault for a time. */
export const TIMED_ROLES = ['reader', 'writer'] as const;
export type TimedRole = (typeof TIMED_ROLES)[number];

export const TIMED_ACCESS = new AuthenticatedTable<'timed_access', TimedAccessRow>('timed_access', {
  key: ['access_id'],
  covered: [
    'vault_id',
    'user_id',
    'role',
    'path',
    'reason',
    'approval_id',
    'granted_at',
    'expires_at',
    'ended_at',
    'ended_by',
  ],
});

export async function insertTimedAccess(tx: Tx, row: TimedAccessRow): Promise<void> {
  await TIMED_ACCESS.insert(tx, row);
}

export async function lockTimedAccess(tx: Tx, tenantId: string, accessId: string): Promise<TimedAccessRow | undefined> {
  const [row] = await TIMED_ACCESS.lockedWhere(tx, (eb) => eb.and({ tenant_id: tenantId, access_id: accessId }));
  return row;
}

export async function findTimedAccess(
  db: Reader,
  tenantId: string,
  accessId: string,
): Promise<TimedAccessRow | undefined> {
  const query = db.selectFrom('timed_access').selectAll().where('tenant_id', '=', tenantId);
  return TIMED_ACCESS.checked(db, await query.where('access_id', '=', accessId).executeTakeFirst());
}

export async function endTimedAccess(
  tx: Tx,
  row: TimedAccessRow,
  end: Pick<TimedAccessRow, 'ended_at' | 'ended_by'>,
): Promise<TimedAccessRow> {
  return TIMED_ACCESS.update(tx, row, end);
}

/** What lasts at this time. Forged rows are left out, because they could only grant. */
export async function timedAccessOf(
  db: Reader,
  tenantId: string,
  userIds: readonly string[],
): Promise<TimedAccessRow[]> {
  if (userIds.length === 0) return [];
  const rows = await db
    .selectFrom('timed_access')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('user_id', 'in', userIds)
    .where('ended_at', 'is', null)
    .execute();
  return TIMED_ACCESS.authenticOf(db, rows);
}

export function countTimedAccessOf(tx: Tx, tenantId: string, userId: string): Promise<number> {
  return countRows(
    tx
      .selectFrom('timed_access')
      .where('tenant_id', '=', tenantId)
      .where('user_id', '=', userId)
      .where('ended_at', 'is', null),
  );
}

/** Newest first. */
export async function timedAccessBack(
  db: Reader,
  tenantId: string,
  { before, limit }: { before: string | null; limit: number },
): Promise<TimedAccessRow[]> {
  let query = db.selectFrom('timed_access').selectAll().where('tenant_id', '=', tenantId);
  if (before !== null) query = query.where('access_id', '<', before);
  return TIMED_ACCESS.authenticOf(db, await query.orderBy('access_id', 'desc').limit(limit).execute());
}

/** Of all tenants: what has ended by itself and is not marked so yet. */
export function endedTimedAccess(
  db: Reader,
  time: Cutoff,
  limit: number,
): Promise<Pick<TimedAccessRow, 'tenant_id' | 'access_id'>[]> {
  return db
    .selectFrom('timed_access')
    .select(['tenant_id', 'access_id'])
    .where('ended_at', 'is', null)
    .where('expires_at', '<=', time)
    .orderBy('expires_at')
    .limit(limit)
    .execute();
}

export async function deleteTimedAccessOf(tx: Tx, tenantId: string, userId: string): Promise<void> {
  await TIMED_ACCESS.deleteWhere(tx, (eb) => eb.and({ tenant_id: tenantId, user_id: userId }));
}

export async function deleteTimedAccessIn(tx: Tx, tenantId: string, vaultId: string): Promise<void> {
  await TIMED_ACCESS.deleteWhere(tx, (eb) => eb.and({ tenant_id: tenantId, vault_id: vaultId }));
}

/** As a membership of the vault of this name. */
export function asMembership({ role, path, expires_at }: TimedAccessRow, vault: string): Membership {
  return { vault, role, path, until: expires_at };
}
