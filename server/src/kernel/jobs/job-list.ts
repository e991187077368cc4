import { MINUTE_MS } from '../base/clock.ts';
import type { Reader, Tx } from '../storage/database.ts';
import { SYSTEM_TENANT } from '../storage/tables.ts';
import { isOutcome, makeDue, type Outcome } from './leases.ts';

/** How long a run belongs to its node without a renewal. */
export const LEASE_MS = MINUTE_MS;

/** A job as its declaration and its row describe it. The row may be of another node, and decides nothing but when the job runs. */
export interface ListedJob {
  readonly name: string;
  readonly intervalMs: number;
  readonly removes: boolean;
  readonly isRunning: boolean;
  readonly startedAt: number | null;
  readonly finishedAt: number | null;
  readonly outcome: Outcome | null;
  readonly error: string | null;
  readonly failedAt: number | null;
  /** Null if it runs as soon as a node is free. */
  readonly nextRunAt: number | null;
  readonly runs: number;
}

interface Declared {
  readonly name: string;
  readonly intervalMs: number;
  readonly removes: unknown;
}

/** The jobs of the service, for operators who look at them or want one to run. */
export class JobList {
  #jobs: readonly Declared[] = [];
  #wake: () => void = () => {};

  /** Called once, when all jobs are known. `wake` makes this node look for due jobs now. */
  use(jobs: readonly Declared[], wake: () => void): void {
    this.#jobs = jobs.toSorted((a, b) => (a.name < b.name ? -1 : 1));
    this.#wake = wake;
  }

  async read(db: Reader, now: number): Promise<ListedJob[]> {
    const rows = await db.selectFrom('job_leases').selectAll().where('tenant_id', '=', SYSTEM_TENANT).execute();
    const rowOf = new Map(rows.map((row) => [row.job, row]));
    return this.#jobs.map(({ name, intervalMs, removes }) => {
      const row = rowOf.get(name);
      return {
        name,
        intervalMs,
        removes: removes !== 'nothing',
        isRunning: row !== undefined && row.lease_until > now && row.lease_until <= now + LEASE_MS,
        startedAt: row?.last_started_at ?? null,
        finishedAt: row?.last_finished_at ?? null,
        outcome: row !== undefined && isOutcome(row.last_outcome) ? row.last_outcome : null,
        error: row?.last_error ?? null,
        failedAt: row?.last_failed_at ?? null,
        nextRunAt: row === undefined || row.next_run_at <= now ? null : row.next_run_at,
        runs: row?.runs ?? 0,
      };
    });
  }

  has(name: string): boolean {
    return this.#jobs.some((job) => job.name === name);
  }

  /** The first node that looks runs it. A job that removes is still bound by the clock and by its share. */
  async runNow(tx: Tx, name: string): Promise<void> {
    await makeDue(tx, name);
  }

  /** Called after the commit of `runNow`. */
  wake(): void {
    this.#wake();
  }
}
