import { BoundedCache } from '../bounded-cache.ts';
import type { Database, Tx } from './database.ts';
import { PreparedQuery } from './prepared-query.ts';

const READ_EPOCH = new PreparedQuery<{ tenantId: string }, { epoch: number }>((db, parameter) =>
  db.selectFrom('tenants').select('epoch').where('tenant_id', '=', parameter('tenantId')),
);

const KNOWN_MAX = 10_000;

interface Reading {
  running: Promise<number | null>;
  /** Asked for while one was running: that one may have read before a change that the asker must see. */
  next: Promise<number | null> | null;
}

/**
 * The tenant's epoch as of now. Requests that ask at the same time share a query, but never one that was sent before they asked: what
 * was committed before a request began is seen by it.
 */
export class Epochs {
  readonly #database: Database;
  readonly #readings = new Map<string, Reading>();
  readonly #known = new BoundedCache<string, { version: number; epoch: number | null }>(KNOWN_MAX);

  constructor(database: Database) {
    this.#database = database;
  }

  current(tenantId: string): Promise<number | null> | number | null {
    const { version } = this.#database;
    if (version !== null) {
      const known = this.#known.get(tenantId);
      if (known !== undefined && known.version === version) return known.epoch;
    }
    const reading = this.#readings.get(tenantId);
    if (reading === undefined) return this.#start(tenantId);
    reading.next ??= reading.running.then(
      () => this.#start(tenantId),
      () => this.#start(tenantId),
    );
    return reading.next;
  }

  #start(tenantId: string): Promise<number | null> {
    const { version } = this.#database;
    const running = this.#database.query(READ_EPOCH, { tenantId }).then((rows) => {
      const epoch = rows[0]?.epoch ?? null;
      if (version !== null) this.#known.set(tenantId, { version, epoch });
      return epoch;
    });
    const reading: Reading = { running, next: null };
    this.#readings.set(tenantId, reading);
    const done = () => {
      if (this.#readings.get(tenantId) === reading && reading.next === null) this.#readings.delete(tenantId);
    };
    running.then(done, done);
    return running;
  }
}

/** Every change that matters to access calls this in its own transaction. */
export async function raiseEpoch(tx: Tx, tenantId: string): Promise<void> {
  await tx
    .updateTable('tenants')
    .set((eb) => ({ epoch: eb('epoch', '+', 1) }))
    .where('tenant_id', '=', tenantId)
    .execute();
}
