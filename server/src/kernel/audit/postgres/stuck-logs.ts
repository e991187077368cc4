import type { Logger } from 'pino';
import { MINUTE_MS, SECOND_MS } from '../../base/clock.ts';
import { CofferError } from '../../base/errors.ts';
import type { Metrics } from '../../observability/metrics.ts';
import type { PostgresDatabase } from '../../storage/postgres.ts';

/** A node locks a head only briefly. If a head does not move for longer, something other than a node holds the lock. */
const STUCK_MS = MINUTE_MS;
/** Rounds follow each other closely. After a longer pause there was nothing to link meanwhile. */
const PAUSE_MAX_MS = 10 * SECOND_MS;
const LOCKED =
  'Find out which session of the database holds a lock on this tenant’s row in audit_heads, or whether somebody has deleted that row. Until new entries are linked, they can be removed without detection.';
const FAILING =
  'Find out whether somebody has edited this tenant’s rows in audit_heads, audit_segments or keys. Until new entries are linked, they can be removed without detection.';

interface Stuck {
  since: number;
  lastAt: number;
  isReported: boolean;
  /** Where the head was. If it has moved, another node has linked entries meanwhile. */
  seq: number | null;
}

/** Tenants whose segments cannot be linked. One whose keys or head were edited, or whose head is locked, must not keep others from being linked. */
export class StuckLogs {
  readonly #database: PostgresDatabase;
  readonly #elapsed: () => number;
  readonly #log: Logger;
  readonly #metrics: Metrics;
  readonly #stuck = new Map<string, Stuck>();

  constructor(parts: { database: PostgresDatabase; elapsed: () => number; log: Logger; metrics: Metrics }) {
    this.#database = parts.database;
    this.#elapsed = parts.elapsed;
    this.#log = parts.log;
    this.#metrics = parts.metrics;
  }

  /** Runs work that returns null while the head is locked or missing. */
  async unlessStuck<T>(tenantId: string, work: () => Promise<T | null>): Promise<T | null> {
    let found = { problem: 'the head of the log is locked or was deleted', what_to_do: LOCKED };
    try {
      const done = await work();
      if (done !== null) {
        if (this.#stuck.delete(tenantId)) this.#metrics.logsStuck.set(this.#reported());
        return done;
      }
    } catch (error) {
      if (error instanceof CofferError) throw error;
      found = { problem: String(error), what_to_do: FAILING };
    }
    await this.#record(tenantId, found);
    return null;
  }

  async #record(tenantId: string, found: { problem: string; what_to_do: string }): Promise<void> {
    const head = await this.#database.read
      .selectFrom('audit_heads')
      .select('seq')
      .where('tenant_id', '=', tenantId)
      .executeTakeFirst();
    const seq = head?.seq ?? null;
    const now = this.#elapsed();
    const known = this.#stuck.get(tenantId);
    const isSame = known !== undefined && known.seq === seq && now - known.lastAt < PAUSE_MAX_MS;
    const stuck = isSame ? known : { since: now, lastAt: now, isReported: false, seq };
    stuck.lastAt = now;
    this.#stuck.set(tenantId, stuck);
    if (stuck.isReported || now - stuck.since < STUCK_MS) return;
    stuck.isReported = true;
    this.#metrics.logsStuck.set(this.#reported());
    this.#log.error({ tenant: tenantId, ...found }, 'new entries of the audit log cannot be linked');
  }

  #reported(): number {
    return [...this.#stuck.values()].filter(({ isReported }) => isReported).length;
  }
}
