import { CompiledQuery } from 'kysely';
import type { Logger } from 'pino';
import { MINUTE_MS, SECOND_MS } from '../clock.ts';
import type { Database } from '../storage/database.ts';
import { SYSTEM_TENANT } from '../storage/tables.ts';
import type { Cutoff } from '../time/cutoff.ts';
import type { RateLimiter } from './rate-limiter.ts';

const INTERVAL_MS = SECOND_MS;
const KEYS_PER_ROUND_MAX = 1000;
export const WINDOWS_KEPT_MS = 10 * MINUTE_MS;
const UPSERT = `insert into rate_windows (tenant_id, subject, rate_class, window_start, node_id, used)
  select $1, v.subject, '', $2::bigint, $3, v.used from unnest($4::text[], $5::bigint[]) as v(subject, used)
  on conflict (tenant_id, subject, rate_class, window_start, node_id) do update set used = excluded.used`;

/**
 * Lets nodes on one PostgreSQL know of each other's counts, once a second. A limit can be passed by what the other nodes count in
 * that second, and by no more.
 */
export class RateSharing {
  readonly #database: Database;
  readonly #limiter: RateLimiter;
  readonly #log: Logger;
  readonly #nodeId: string;
  #timer: NodeJS.Timeout | undefined;

  constructor(database: Database, limiter: RateLimiter, log: Logger, nodeId: string) {
    this.#database = database;
    this.#limiter = limiter;
    this.#log = log;
    this.#nodeId = nodeId;
  }

  start(): void {
    this.#timer = setTimeout(async () => {
      try {
        await this.exchange();
      } catch (error) {
        this.#log.warn({ err: error }, 'rate counts could not be exchanged; this node counts alone for now');
      }
      if (this.#timer !== undefined) this.start();
    }, INTERVAL_MS);
  }

  async exchange(): Promise<void> {
    const windowStart = this.#limiter.windowStart;
    const counts = this.#limiter.shared().slice(0, KEYS_PER_ROUND_MAX);
    if (counts.length === 0) return;
    await this.#database.transaction(async (tx) => {
      const columns = [counts.map((c) => c.key), counts.map((c) => c.used)];
      await tx.executeQuery(CompiledQuery.raw(UPSERT, [SYSTEM_TENANT, windowStart, this.#nodeId, ...columns]));
    });
    const others = await this.#database.read
      .selectFrom('rate_windows')
      .select(['subject', (eb) => eb.fn.sum<number>('used').as('used')])
      .where('tenant_id', '=', SYSTEM_TENANT)
      .where('window_start', '=', windowStart)
      .where('node_id', '!=', this.#nodeId)
      .where(
        'subject',
        'in',
        counts.map((c) => c.key),
      )
      .groupBy('subject')
      .execute();
    for (const { subject, used } of others) this.#limiter.learn(windowStart, subject, Number(used));
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}

export async function forgetRateWindows(database: Database, cutoff: Cutoff): Promise<void> {
  await database.transaction((tx) => tx.deleteFrom('rate_windows').where('window_start', '<', cutoff).execute());
}
