import type { Reader, Tx } from '../../kernel/storage/database.ts';

export interface RollupsActivityTables {
  user_activity: UserActivityRow;
}

/** Without a MAC: it is shown to people, and decides about nobody's access. */
export interface UserActivityRow {
  tenant_id: string;
  user_id: string;
  last_seen_at: number;
}

const ROWS_AT_ONCE = 500;

/** A time that is older than the stored one changes nothing. */
export async function putActivity(tx: Tx, rows: readonly UserActivityRow[]): Promise<void> {
  for (let at = 0; at < rows.length; at += ROWS_AT_ONCE) {
    await tx
      .insertInto('user_activity')
      .values(rows.slice(at, at + ROWS_AT_ONCE))
      .onConflict((c) =>
        c
          .columns(['tenant_id', 'user_id'])
          .doUpdateSet((eb) => ({ last_seen_at: eb.ref('excluded.last_seen_at') }))
          .whereRef('user_activity.last_seen_at', '<', 'excluded.last_seen_at' as never),
      )
      .execute();
  }
}

export async function lastSeenOf(
  db: Reader,
  tenantId: string,
  userIds: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  if (userIds.length === 0) return new Map();
  const rows = await db
    .selectFrom('user_activity')
    .select(['user_id', 'last_seen_at'])
    .where('tenant_id', '=', tenantId)
    .where('user_id', 'in', userIds)
    .execute();
  return new Map(rows.map(({ user_id, last_seen_at }) => [user_id, Number(last_seen_at)]));
}

export async function deleteActivity(tx: Tx, tenantId: string, userId: string): Promise<void> {
  await tx.deleteFrom('user_activity').where('tenant_id', '=', tenantId).where('user_id', '=', userId).execute();
}
