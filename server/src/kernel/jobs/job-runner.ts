import { setTimeout as sleep } from 'node:timers/promises';
import type { ExpressionBuilder } from 'kysely';
import type { Logger } from 'pino';
import { type Clock, DAY_MS, SECOND_MS } from '../base/clock.ts';
import type { Metrics } from '../observability/metrics.ts';
import type { Database, Tx } from '../storage/database.ts';
import { SYSTEM_TENANT, type Tables } from '../storage/tables.ts';
import type { ClockGuard } from '../time/clock-guard.ts';
import type { Cutoff } from '../time/cutoff.ts';
import { takePermission } from '../time/operator-permissions.ts';
import { LEASE_MS } from './job-list.ts';
import { type Outcome, REFUSED } from './leases.ts';
import { excessOf, type Share } from './share.ts';

/** Background work. It must be idempotent: if a node dies in the middle, another one runs it again from the start. */
export type Job = KeepingJob | RemovingJob;

interface Scheduled {
  name: string;
  intervalMs: number;
  /** Set for a job that may take minutes or hours. Other jobs do not wait for it. */
  isLong?: true;
}

export interface KeepingJob extends Scheduled {
  removes: 'nothing';
  run(signal: AbortSignal): Promise<void>;
}

/** Ends or deletes what has expired. It gets the time to use, and runs only while that time can be trusted. */
export interface RemovingJob extends Scheduled {
  removes: Removal;
  run(signal: AbortSignal, cutoff: Cutoff): Promise<void>;
}

export interface Removal {
  /** How long ago, in real elapsed time, the rows must already have expired. */
  secondCheckMs: number;
  /** How much would be removed of what there is; null, with a comment saying why, if all of it may be removed at once. */
  share: ((cutoff: Cutoff) => Promise<Share[]>) | null;
}

const RENEW_MS = LEASE_MS / 3;
/**
 * A node looks for due jobs when the next one that it knows of is due, and at the latest after this: another node may have made one due, and the
 * clock may have been set.
 */
const LOOK_MS = 5 * SECOND_MS;
const TICK_MS = SECOND_MS;
const ERROR_CHARS_MAX = 300;
/**
 * A due time further ahead than it can have been set comes from a wrong clock and would keep the job from running until then. The clocks of nodes
 * must differ by less than this: otherwise two nodes that distrust each other would run a job again and again.
 */
const DISBELIEF_MS = DAY_MS;

/**
 * Runs each due job on only one node: a node takes the lease in the database, renews it while the job runs, and stores when the job is due next.
 */
export class JobRunner {
  readonly #database: Database;
  readonly #jobs: readonly Job[];
  readonly #clock: Clock;
  readonly #clockGuard: ClockGuard;
  readonly #log: Logger;
  readonly #metrics: Metrics;
  readonly #nodeId: string;
  readonly #stopping = new AbortController();
  readonly #wakes = new Set<() => void>();
  /** When each job is due or its lease ends, as the last look found. */
  readonly #nextDue = new Map<string, number>();
  #loops: Promise<void>[] = [];

  constructor(parts: {
    database: Database;
    jobs: readonly Job[];
    clock: Clock;
    clockGuard: ClockGuard;
    log: Logger;
    metrics: Metrics;
    nodeId: string;
  }) {
    this.#database = parts.database;
    this.#jobs = parts.jobs;
    this.#clock = parts.clock;
    this.#clockGuard = parts.clockGuard;
    this.#log = parts.log;
    this.#metrics = parts.metrics;
    this.#nodeId = parts.nodeId;
  }

  start(): void {
    const { long = [], short = [] } = Object.groupBy(this.#jobs, ({ isLong }) => (isLong === true ? 'long' : 'short'));
    this.#loops = [short, long].map((jobs) => this.#run(jobs));
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all(this.#loops);
  }

  async #run(jobs: readonly Job[]): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      try {
        await this.runDue(jobs);
      } catch (error) {
        this.#log.warn({ err: error }, 'looking for due jobs failed; retrying');
      }
      await this.#nextLook(jobs);
    }
  }

  /** Looks for due jobs now, because one was made due. */
  wake(): void {
    for (const wake of this.#wakes) wake();
  }

  async #nextLook(jobs: readonly Job[]): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const waits = new AbortController();
    this.#wakes.add(resolve);
    const dueIn = Math.min(...jobs.map(({ name }) => this.#nextDue.get(name) ?? 0)) - this.#clock.now();
    const ms = Math.min(Math.max(dueIn, TICK_MS), LOOK_MS);
    await Promise.race([
      promise,
      sleep(ms, undefined, { signal: AbortSignal.any([this.#stopping.signal, waits.signal]) }).catch(() => {}),
    ]);
    this.#wakes.delete(resolve);
    waits.abort();
  }

  /** Runs the jobs that are due and not leased by another node; returns their names. */
  async runDue(jobs: readonly Job[] = this.#jobs): Promise<string[]> {
    const ran: string[] = [];
    for (const job of await this.#dueAmong(jobs)) {
      if (this.#stopping.signal.aborted) break;
      const run = await this.#prepare(job);
      // It is due, and waits for the clock: that need not be looked up each second.
      if (run === null) this.#nextDue.set(job.name, this.#clock.now() + LOOK_MS);
      if (run === null || !(await this.#acquire(job))) continue;
      await this.#runLeased(job, run);
      ran.push(job.name);
    }
    return ran;
  }

  /** Prepares a run; null if the job must wait for the clock. Meanwhile another node with a correct clock can take it. */
  async #prepare(job: Job): Promise<((signal: AbortSignal) => Promise<Outcome>) | null> {
    if (job.removes === 'nothing') {
      return async (signal) => {
        await job.run(signal);
        return 'success';
      };
    }
    const cutoff = await this.#clockGuard.cutoff(job.removes.secondCheckMs);
    if (cutoff === null) return null;
    return async (signal) => {
      if (!(await this.#mayRemove(job, cutoff))) return REFUSED;
      await job.run(signal, cutoff);
      return 'success';
    };
  }

  /** More than the allowed share is removed only with an operator's permission, which is valid once. */
  async #mayRemove({ name, removes }: RemovingJob, cutoff: Cutoff): Promise<boolean> {
    const excess = removes.share === null ? [] : await excessOf(await removes.share(cutoff));
    const isAllowed =
      excess.length === 0 || (await this.#database.transaction((tx) => takePermission(tx, name, this.#clock.now())));
    this.#metrics.jobRefusals.labels(name).set(isAllowed ? 0 : 1);
    if (!isAllowed) {
      this.#log.error(
        { job: name, excess, what_to_do: refusalAdvice(name) },
        'a job would delete more than its limit: nothing was deleted',
      );
    } else if (excess.length > 0) {
      this.#log.warn({ job: name, excess }, 'a job deletes more than its limit, as the operator allowed');
    }
    return isAllowed;
  }

  /** One query for all of them, because every node runs it every few seconds. Whether a job is still due is checked again when its lease is acquired. */
  async #dueAmong(jobs: readonly Job[]): Promise<Job[]> {
    const now = this.#clock.now();
    const leases = await this.#database.read
      .selectFrom('job_leases')
      .select(['job', 'next_run_at', 'lease_until', 'last_outcome'])
      .where('tenant_id', '=', SYSTEM_TENANT)
      .execute();
    const leaseOf = new Map(leases.map((lease) => [lease.job, lease]));
    const isOver = (at: number, setAhead: number) => at <= now || at > now + setAhead + DISBELIEF_MS;
    return jobs.filter(({ name, removes, intervalMs }) => {
      const lease = leaseOf.get(name);
      this.#nextDue.set(name, lease === undefined ? 0 : Math.max(lease.next_run_at, lease.lease_until));
      if (lease === undefined) return true;
      // The last run may have been on another node.
      if (removes !== 'nothing') this.#metrics.jobRefusals.labels(name).set(lease.last_outcome === REFUSED ? 1 : 0);
      return isOver(lease.next_run_at, intervalMs) && isOver(lease.lease_until, LEASE_MS);
    });
  }

  #acquire(job: Job): Promise<boolean> {
    const now = this.#clock.now();
    return this.#database.transaction(async (tx) => {
      await this.#ensureRow(tx, job);
      const { numUpdatedRows } = await tx
        .updateTable('job_leases')
        .set({ node_id: this.#nodeId, lease_until: now + LEASE_MS, last_started_at: now })
        .where('tenant_id', '=', SYSTEM_TENANT)
        .where('job', '=', job.name)
        .where(isOver('next_run_at', now, job.intervalMs))
        .where(isOver('lease_until', now, LEASE_MS))
        .executeTakeFirst();
      return numUpdatedRows === 1n;
    });
  }

  async #ensureRow(tx: Tx, job: Job): Promise<void> {
    await tx
      .insertInto('job_leases')
      .values({
        tenant_id: SYSTEM_TENANT,
        job: job.name,
        node_id: '',
        lease_until: 0,
        next_run_at: 0,
        last_started_at: null,
        last_finished_at: null,
        last_outcome: '',
        runs: 0,
        last_error: null,
        last_failed_at: null,
      })
      .onConflict((c) => c.columns(['tenant_id', 'job']).doNothing())
      .execute();
  }

  async #runLeased(job: Job, run: (signal: AbortSignal) => Promise<Outcome>): Promise<void> {
    const lost = new AbortController();
    const signal = AbortSignal.any([lost.signal, this.#stopping.signal]);
    const renewal = setInterval(() => this.#renew(job).catch(() => lost.abort()), RENEW_MS);
    const started = performance.now();
    let outcome: Outcome = 'failure';
    let said: string | null = null;
    try {
      outcome = await run(signal);
      if (outcome === 'success') this.#metrics.jobLastSuccess.labels(job.name).set(this.#clock.now() / SECOND_MS);
    } catch (error) {
      said = toldBy(error);
      this.#log.error({ err: error, job: job.name }, 'a job failed; it runs again when it is next due');
    } finally {
      clearInterval(renewal);
    }
    this.#metrics.jobRuns.labels(job.name, outcome).inc();
    this.#metrics.jobSeconds.labels(job.name).observe((performance.now() - started) / SECOND_MS);
    await this.#release(job, outcome, said);
  }

  async #renew(job: Job): Promise<void> {
    const isOurs = await this.#update(job, { lease_until: this.#clock.now() + LEASE_MS });
    if (!isOurs) throw new Error('the lease was lost');
  }

  async #release(job: Job, outcome: Outcome, error: string | null): Promise<void> {
    const now = this.#clock.now();
    await this.#update(job, {
      lease_until: 0,
      next_run_at: now + job.intervalMs,
      last_finished_at: now,
      last_outcome: outcome,
      ...(error !== null && { last_error: error, last_failed_at: now }),
    });
  }

  #update(
    job: Job,
    change: Partial<Record<'lease_until' | 'next_run_at' | 'last_finished_at' | 'last_failed_at', number>> & {
      last_outcome?: string;
      last_error?: string;
    },
  ) {
    const isDone = change.last_outcome !== undefined;
    return this.#database.transaction(async (tx) => {
      const { numUpdatedRows } = await tx
        .updateTable('job_leases')
        .set((eb) => ({ ...change, ...(isDone && { runs: eb('runs', '+', 1) }) }))
        .where('tenant_id', '=', SYSTEM_TENANT)
        .where('job', '=', job.name)
        .where('node_id', '=', this.#nodeId)
        .executeTakeFirst();
      return numUpdatedRows === 1n;
    });
  }
}

/** The first line of an error, which the list of jobs shows. The log has all of it. */
function toldBy(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  const [first = ''] = message.split('\n', 1);
  return first
    .toWellFormed()
    .replaceAll(/\p{Cc}/gu, '\ufffd')
    .slice(0, ERROR_CHARS_MAX)
    .toWellFormed();
}

function refusalAdvice(job: string): string {
  return (
    'If the clock is right and so much has really expired (many objects were deleted at once, a plan has a shorter retention, the service was off for long), ' +
    `run: coffer server allow-purge ${job}`
  );
}

function isOver(column: 'next_run_at' | 'lease_until', now: number, setAhead: number) {
  return (eb: ExpressionBuilder<Tables, 'job_leases'>) =>
    eb.or([eb(column, '<=', now), eb(column, '>', now + setAhead + DISBELIEF_MS)]);
}
