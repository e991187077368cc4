import { BoundedCache } from '../base/bounded-cache.ts';
import { SharedRun } from '../base/shared-run.ts';
import type { Database, Tx } from './database.ts';
import { PreparedQuery } from './prepared-query.ts';

const READ_EPOCH = new PreparedQuery<{ tenantId: string }, { epoch: number }>((db, parameter) =>
  db.selectFrom('tenants').select('epoch').where('tenant_id', '=', parameter('tenantId')),
);

const BYTES_MAX = 4 * 1024 * 1024;
const ENTRY_BYTES = 320;

/** The tenant's current epoch, which includes everything committed before the request began. Concurrent requests share a query. */
export class Epochs {
  readonly #database: Database;
  readonly #readings = new BoundedCache<string, SharedRun<number | null>>({
    bytesMax: BYTES_MAX,
    bytesOf: () => ENTRY_BYTES,
  });
  readonly #known = new BoundedCache<string, { version: number; epoch: number | null }>({
    bytesMax: BYTES_MAX,
    bytesOf: () => ENTRY_BYTES,
  });

  constructor(database: Database) {
    this.#database = database;
  }

  current(tenantId: string): Promise<number | null> | number | null {
    const { version } = this.#database;
    if (version !== null) {
      const known = this.#known.get(tenantId);
      if (known !== undefined && known.version === version) return known.epoch;
    }
    let reading = this.#readings.get(tenantId);
    if (reading === undefined) {
      reading = new SharedRun(() => this.#read(tenantId));
      this.#readings.set(tenantId, reading);
    }
    return reading.run();
  }

  async #read(tenantId: string): Promise<number | null> {
    const { version } = this.#database;
    const rows = await this.#database.query(READ_EPOCH, { tenantId });
    const epoch = rows[0]?.epoch ?? null;
    if (version !== null) this.#known.set(tenantId, { version, epoch });
    return epoch;
  }
}

/**
 * Used when nodes may have cached data at an epoch that is unknown here. An epoch never rises once per millisecond, so the time in milliseconds is
 * above any epoch used so far.
 */
export async function raiseEpochTo(tx: Tx, tenantId: string, now: number): Promise<void> {
  const query = tx.selectFrom('tenants').select('epoch').where('tenant_id', '=', tenantId);
  const { epoch } = await query.executeTakeFirstOrThrow();
  await tx
    .updateTable('tenants')
    .set({ epoch: Math.max(epoch + 1, now) })
    .where('tenant_id', '=', tenantId)
    .execute();
}

/** The epochs as a transaction found them before it incremented them. */
const FOUND = new WeakMap<Tx, Map<string, number>>();

/** Every change that matters to access must call this in its own transaction. */
export async function raiseEpoch(tx: Tx, tenantId: string): Promise<void> {
  const raised = await tx
    .updateTable('tenants')
    .set((eb) => ({ epoch: eb('epoch', '+', 1) }))
    .where('tenant_id', '=', tenantId)
    .returning('epoch')
    .executeTakeFirst();
  const found = FOUND.get(tx) ?? new Map<string, number>();
  FOUND.set(tx, found);
  if (raised !== undefined && !found.has(tenantId)) found.set(tenantId, raised.epoch - 1);
}

const HOLD_EPOCH = new PreparedQuery<{ tenantId: string }, { epoch: number }>((db, parameter) =>
  db.selectFrom('tenants').select('epoch').where('tenant_id', '=', parameter('tenantId')).forShare(),
);

/**
 * The tenant's epoch without the increments of this transaction. It locks the row, so that nobody else increments the epoch before this transaction
 * ends; changes that do not increment it share the lock. It must be the last lock, because transactions that increment the epoch lock other rows
 * first.
 */
export async function heldEpoch(tx: Tx, tenantId: string): Promise<number | null> {
  const found = FOUND.get(tx)?.get(tenantId);
  if (found !== undefined) return found;
  const [row] = await HOLD_EPOCH.run(tx, { tenantId });
  return row?.epoch ?? null;
}
