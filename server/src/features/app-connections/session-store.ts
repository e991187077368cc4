import type { Tx } from '../../kernel/storage/database.ts';

export interface AppConnectionsSessionTables {
  connection_sessions: SessionRow;
}

/** A client of a connection that was seen recently. */
export interface SessionRow {
  tenant_id: string;
  connection_no: number;
  /** What identifies the client: its certificate, its key or its address. */
  session: string;
  started_at: number;
  seen_at: number;
  /** Set when the session was evicted for a newer one. It stays refused until it has been idle for a whole session lifetime. */
  evicted_at: number | null;
}

type Key = Pick<SessionRow, 'tenant_id' | 'connection_no'>;

/** Oldest first. */
export function sessionsOf(tx: Tx, key: Key): Promise<SessionRow[]> {
  return tx
    .selectFrom('connection_sessions')
    .selectAll()
    .where('tenant_id', '=', key.tenant_id)
    .where('connection_no', '=', key.connection_no)
    .orderBy('started_at')
    .orderBy('session')
    .execute();
}

export async function saveSession(tx: Tx, row: SessionRow): Promise<void> {
  const { started_at, seen_at, evicted_at } = row;
  await tx
    .insertInto('connection_sessions')
    .values(row)
    .onConflict((c) =>
      c.columns(['tenant_id', 'connection_no', 'session']).doUpdateSet({ started_at, seen_at, evicted_at }),
    )
    .execute();
}

export async function deleteSeenBefore(tx: Tx, key: Key, time: number): Promise<void> {
  await tx
    .deleteFrom('connection_sessions')
    .where('tenant_id', '=', key.tenant_id)
    .where('connection_no', '=', key.connection_no)
    .where('seen_at', '<', time)
    .execute();
}
