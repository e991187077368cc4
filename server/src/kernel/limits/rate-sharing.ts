import type { Logger } from 'pino';
import { type Clock, MINUTE_MS, SECOND_MS } from '../base/clock.ts';
import type { Database } from '../storage/database.ts';
import { SYSTEM_TENANT } from '../storage/tables.ts';
import type { Cutoff } from '../time/cutoff.ts';
import { type RateLimiter, SHARED_INTERVAL_MS, type SharedCount, WINDOW_MS } from './rate-limiter.ts';

const INTERVAL_MS = SECOND_MS;
const KEYS_PER_ROUND_MAX = 1000;
export const WINDOWS_STORED_MS = 10 * MINUTE_MS;

export interface RateSharingParts {
  readonly database: Database;
  readonly rates: RateLimiter;
  readonly log: Logger;
  readonly nodeId: string;
  readonly clock: Clock;
}

/**
 * Shares counts between the nodes of one database, once a second. A limit can be exceeded only by what the other nodes count in that
 * second.
 */
export class RateSharing {
  readonly #database: Database;
  readonly #limiter: RateLimiter;
  readonly #log: Logger;
  readonly #nodeId: string;
  readonly #clock: Clock;
  #timer: NodeJS.Timeout | undefined;

  constructor({ database, rates, log, nodeId, clock }: RateSharingParts) {
    this.#database = database;
    this.#limiter = rates;
    this.#log = log;
    this.#nodeId = nodeId;
    this.#clock = clock;
  }

  start(): void {
    this.#timer = setTimeout(async () => {
      try {
        await this.exchange();
      } catch (error) {
        this.#log.warn(
          { err: error },
          'request counts could not be exchanged with other nodes; this node enforces rate limits alone for now',
        );
      }
      if (this.#timer !== undefined) this.start();
    }, INTERVAL_MS);
  }

  async exchange(): Promise<void> {
    const now = this.#clock.now();
    const shared = this.#limiter.countsToShare(now);
    const keys = shared.keys.slice(0, KEYS_PER_ROUND_MAX);
    if (keys.length === 0) return;
    const reported = new Set(keys);
    const counts = shared.counts.filter(({ key }) => reported.has(key));
    if (counts.length > 0) await this.#tell(counts);
    this.#limiter.markShared(counts, now);
    const rows = await this.#database.read
      .selectFrom('rate_windows')
      .select(['subject', 'window_start', (eb) => eb.fn.sum<number>('used').as('used')])
      .where('tenant_id', '=', SYSTEM_TENANT)
      .where('window_start', '>', now - WINDOW_MS - SHARED_INTERVAL_MS)
      .where('node_id', '!=', this.#nodeId)
      .where('subject', 'in', keys)
      .groupBy(['subject', 'window_start'])
      .orderBy('window_start')
      .execute();
    const learned = Map.groupBy(rows, ({ subject }) => subject);
    for (const key of keys) {
      const others = learned.get(key) ?? [];
      this.#limiter.setOtherNodes(
        key,
        others.map(({ window_start, used }) => ({ start: window_start, used: Number(used) })),
      );
    }
  }

  async #tell(counts: readonly SharedCount[]): Promise<void> {
    const rows = counts.map(({ key, start, used }) => ({
      tenant_id: SYSTEM_TENANT,
      subject: key,
      rate_class: '',
      window_start: start,
      node_id: this.#nodeId,
      used,
    }));
    await this.#database.transaction(async (tx) => {
      await tx
        .insertInto('rate_windows')
        .values(rows)
        .onConflict((c) =>
          c
            .columns(['tenant_id', 'subject', 'rate_class', 'window_start', 'node_id'])
            .doUpdateSet({ used: (eb) => eb.ref('excluded.used') }),
        )
        .execute();
    });
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}

export async function deleteRateWindows(database: Database, cutoff: Cutoff): Promise<void> {
  await database.transaction((tx) => tx.deleteFrom('rate_windows').where('window_start', '<', cutoff).execute());
}
