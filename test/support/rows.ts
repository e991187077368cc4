import type { Kysely } from 'kysely';
import { systemEntry } from '../../server/src/kernel/audit/entry/system-entry.ts';
import type { Kernel } from '../../server/src/kernel/request/kernel.ts';
import type { Database, Tx } from '../../server/src/kernel/storage/database.ts';

/** Databases whose rows a test changed without a record in the log, which the service's own verification may notice. */
const editedPastTheLog = new WeakSet<Database>();

export function wasEditedPastTheLog(database: Database): boolean {
  return editedPastTheLog.has(database);
}

/** Changes rows as the service does, with their MACs, but without a record in the log: for states that no request brings about. */
export async function asTheService<T>(database: Database, act: (tx: Tx) => Promise<T>): Promise<T> {
  editedPastTheLog.add(database);
  return database.transaction(async (tx) => {
    const result = await act(tx);
    await leaveUnrecorded(tx);
    return result;
  });
}

/** The same, with an entry in the tenant's log that tells the rows: for what is verified later. */
export async function recorded<T>(kernel: Kernel, tenantId: string, act: (tx: Tx) => Promise<T>): Promise<T> {
  const headKey = await kernel.audit.headKey(tenantId);
  return kernel.database.transaction(async (tx) => {
    const result = await act(tx);
    const facts = { actorId: 'operator', action: 'test:prepare', resource: 'test', status: 200, details: {} } as const;
    const entry = systemEntry({ tenantId, now: kernel.clock.now(), ...facts });
    await kernel.audit.recordIn(tx, [{ ...entry, actor_kind: 'operator', actor_id: '' }], headKey);
    return result;
  });
}

export async function leaveUnrecorded(tx: Tx): Promise<void> {
  for (const { tenant_id } of await tx.selectFrom('tenants').select('tenant_id').execute()) tx.changes.take(tenant_id);
}

// biome-ignore lint/suspicious/noExplicitAny: edits behind the service's back know no types
export type Unguarded = Kysely<any>;

/** Edits rows as somebody does who can write to the database and has no key. */
export function behindItsBack<T>(database: Database, act: (db: Unguarded) => Promise<T>): Promise<T> {
  editedPastTheLog.add(database);
  return database.transaction((tx) => act(tx as unknown as Unguarded));
}
