import { BoundedCache } from '../bounded-cache.ts';
import type { Database, Tx } from './database.ts';
import { PreparedQuery } from './prepared-query.ts';
import { SharedRun } from './shared-run.ts';

const READ_EPOCH = new PreparedQuery<{ tenantId: string }, { epoch: number }>((db, parameter) =>
  db.selectFrom('tenants').select('epoch').where('tenant_id', '=', parameter('tenantId')),
);

const BYTES_MAX = 4 * 1024 * 1024;
const ENTRY_BYTES = 320;

/** The tenant's epoch as of now: what was committed before a request began is seen by it. Requests at the same time share a query. */
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

/** For what a node may have cached at an epoch that is not known here: no tenant's epoch is raised once in each millisecond, so none was ever beyond the time. */
export async function raiseEpochTo(tx: Tx, tenantId: string, now: number): Promise<void> {
  const query = tx.selectFrom('tenants').select('epoch').where('tenant_id', '=', tenantId);
  const { epoch } = await query.executeTakeFirstOrThrow();
  await tx
    .updateTable('tenants')
    .set({ epoch: Math.max(epoch + 1, now) })
    .where('tenant_id', '=', tenantId)
    .execute();
}

/** The epochs that a transaction found before it raised them. */
const FOUND = new WeakMap<Tx, Map<string, number>>();

/** Every change that matters to access calls this in its own transaction. */
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
 * The tenant's epoch as others left it: what this transaction raised it by does not count. Nobody else raises it before this transaction
 * ends. Changes that raise nothing hold it together. Locked after all else, since whoever raises it has locked other rows before.
 */
export async function heldEpoch(tx: Tx, tenantId: string): Promise<number | null> {
  const found = FOUND.get(tx)?.get(tenantId);
  if (found !== undefined) return found;
  const [row] = await HOLD_EPOCH.run(tx, { tenantId });
  return row?.epoch ?? null;
}
