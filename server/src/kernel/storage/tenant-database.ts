import { BoundedCache } from '../base/bounded-cache.ts';
import type { QueueUse } from '../fairness/queue-use.ts';
import type { Database, DatabaseKind, Reader, Tx, Work } from './database.ts';
import type { PreparedQuery } from './prepared-query.ts';
import type { RowKeys } from './row-keys.ts';

/** Enough for the tenants that are active at the same time. */
const BYTES_MAX = 4 * 1024 * 1024;
/** The size of a query builder and its queue. */
const DATABASE_BYTES = 4 * 1024;

/** The database operations of one tenant for one kind of work. */
export type OwnPart = Pick<Database, 'read' | 'query' | 'transaction'>;

/** The database as one tenant uses it: its queries wait in the tenant's own queue, and tenants take turns. */
class TenantDatabase implements Database {
  readonly #whole: Database;
  readonly #own: OwnPart;

  constructor(whole: Database, own: OwnPart) {
    this.#whole = whole;
    this.#own = own;
  }

  get kind(): DatabaseKind {
    return this.#whole.kind;
  }

  get isShared(): boolean {
    return this.#whole.isShared;
  }

  get version(): number | null {
    return this.#whole.version;
  }

  get rowKeys(): RowKeys {
    return this.#whole.rowKeys;
  }

  get queues(): readonly QueueUse[] {
    return this.#whole.queues;
  }

  get read(): Reader {
    return this.#own.read;
  }

  query<P extends object, R>(prepared: PreparedQuery<P, R>, parameters: P): Promise<R[]> {
    return this.#own.query(prepared, parameters);
  }

  transaction<T>(fn: (tx: Tx) => Promise<T>): Promise<T> {
    return this.#own.transaction(fn);
  }

  forTenant(tenantId: string, work?: Work): Database {
    return this.#whole.forTenant(tenantId, work);
  }

  scrubAfterCommit(): void {
    this.#whole.scrubAfterCommit();
  }

  sync(): Promise<void> {
    return this.#whole.sync();
  }

  ping(): Promise<void> {
    return this.#whole.ping();
  }

  close(): Promise<void> {
    return this.#whole.close();
  }
}

/** Cached per tenant and kind of work, because building one costs more than using it. */
export class TenantDatabases {
  readonly #made: Record<Work, BoundedCache<string, Database>> = {
    request: databaseCache(),
    bulk: databaseCache(),
    authentication: databaseCache(),
  };
  readonly #whole: Database;
  readonly #partOf: (tenantId: string, work: Work) => OwnPart;

  constructor(whole: Database, partOf: (tenantId: string, work: Work) => OwnPart) {
    this.#whole = whole;
    this.#partOf = partOf;
  }

  get(tenantId: string, work: Work): Database {
    let database = this.#made[work].get(tenantId);
    if (database === undefined) {
      database = new TenantDatabase(this.#whole, this.#partOf(tenantId, work));
      this.#made[work].set(tenantId, database);
    }
    return database;
  }
}

function databaseCache(): BoundedCache<string, Database> {
  return new BoundedCache({ bytesMax: BYTES_MAX, bytesOf: () => DATABASE_BYTES });
}
