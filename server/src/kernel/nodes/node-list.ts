import type { Logger } from 'pino';
import { type Clock, MINUTE_MS, SECOND_MS } from '../base/clock.ts';
import type { Database } from '../storage/database.ts';
import type { SchemaFence } from '../storage/schema-fence.ts';
import { type NodesTable, SYSTEM_TENANT } from '../storage/tables.ts';
import type { Cutoff } from '../time/cutoff.ts';

const SEEN_INTERVAL_MS = 10 * SECOND_MS;
const LISTED_MAX = 1000;
/** A node that was not seen for so long was killed, or cannot reach the database. */
export const DELETED_AFTER_MS = 5 * MINUTE_MS;

export type ListedNode = Omit<NodesTable, 'tenant_id'>;
/** What a node says about itself. */
export type NodeFacts = Pick<
  NodesTable,
  'node_id' | 'release' | 'commit_id' | 'schema_version' | 'region' | 'started_at'
>;

/**
 * The nodes that use the same database, as each of them reports itself every few seconds. It informs operators and decides nothing, so the rows are
 * not authenticated. A process that has the database to itself is the only node.
 */
export class NodeList {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #fence: SchemaFence;
  readonly #own: NodeFacts;
  #timer: NodeJS.Timeout | undefined;
  #reporting: Promise<void> = Promise.resolve();

  constructor(parts: { database: Database; clock: Clock; log: Logger; fence: SchemaFence; own: NodeFacts }) {
    this.#database = parts.database;
    this.#clock = parts.clock;
    this.#log = parts.log;
    this.#fence = parts.fence;
    this.#own = parts.own;
  }

  /** Reports this node, and goes on doing so. */
  async start(): Promise<void> {
    if (!this.#database.isShared) return;
    await this.#report();
    this.#timer = setInterval(() => {
      this.#reporting = this.#reporting.then(() => this.#report());
    }, SEEN_INTERVAL_MS).unref();
  }

  async stop(): Promise<void> {
    if (this.#timer === undefined) return;
    clearInterval(this.#timer);
    await this.#reporting;
    await this.#trying('this node could not be taken off the list of nodes', () =>
      this.#database.transaction((tx) => tx.deleteFrom('nodes').where('node_id', '=', this.#own.node_id).execute()),
    );
  }

  async list(): Promise<ListedNode[]> {
    const seen_at = this.#clock.now();
    if (!this.#database.isShared) return [{ ...this.#own, seen_at }];
    const rows = await this.#database.read
      .selectFrom('nodes')
      .select(['node_id', 'release', 'commit_id', 'schema_version', 'region', 'started_at', 'seen_at'])
      .where('seen_at', '>', seen_at - DELETED_AFTER_MS)
      .orderBy('seen_at', 'desc')
      .limit(LISTED_MAX)
      .execute();
    return rows.toSorted((a, b) => (a.node_id < b.node_id ? -1 : 1));
  }

  async deleteUnseen(cutoff: Cutoff): Promise<void> {
    await this.#database.transaction((tx) => tx.deleteFrom('nodes').where('seen_at', '<', cutoff).execute());
  }

  async #report(): Promise<void> {
    await this.#trying('this node could not be reported to the others; retrying', async () => {
      await this.#fence.check();
      const seen_at = this.#clock.now();
      const row = { tenant_id: SYSTEM_TENANT, ...this.#own, seen_at };
      await this.#database.transaction(async (tx) => {
        await tx
          .insertInto('nodes')
          .values(row)
          .onConflict((c) => c.column('node_id').doUpdateSet({ seen_at }))
          .execute();
      });
    });
  }

  async #trying(failure: string, act: () => Promise<unknown>): Promise<void> {
    try {
      await act();
    } catch (error) {
      this.#log.warn({ err: error }, failure);
    }
  }
}
