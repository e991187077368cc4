import type { Logger } from 'pino';
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS, timestamp } from '../base/clock.ts';
import { StartError } from '../base/data-folder.ts';
import { unavailable } from '../base/errors.ts';
import type { Metrics } from '../observability/metrics.ts';
import type { Database } from '../storage/database.ts';
import { type ClockCheck, ClockChecks } from './clock-checks.ts';
import type { Cutoff } from './cutoff.ts';
import { newestRecordAt } from './newest-record.ts';
import { CLOCK, findPermission } from './operator-permissions.ts';
import type { TimeSources } from './sources.ts';

/** The allowed difference between clocks, and the longest round trip that still gives a usable measurement. */
export const TOLERANCE_MS = 30 * SECOND_MS;
/** Data is deleted only if it had expired at two checks that are this far apart. */
export const SECOND_CHECK_MS = HOUR_MS;
const CHECK_MS = MINUTE_MS;
const TICK_MS = SECOND_MS;
const START_ATTEMPTS = 3;
/** A service that was off for longer logs a warning, because a wrong clock may be the reason. */
const LONG_AGO_MS = DAY_MS;

/** One comparison of this node's clock with the database's. On SQLite there is only the node's clock. */
interface Measurement extends ClockCheck {
  nodeTime: number;
  offsetMs: number;
}

type Trouble = { kind: 'offset'; offsetMs: number } | { kind: 'behind'; newestAt: number };

const WHAT_TO_DO = {
  offset:
    'Correct the clock of this machine or of the database server, whichever is wrong, and check their time services. This node then continues by itself.',
  behind:
    'Correct the clock of this machine if it is wrong. If it is right, and was ahead when the newest entries were recorded, run: coffer server accept-clock',
  ahead: 'If the service was not off for that long, stop it and correct the clock of this machine.',
  jump: 'Check the time service of this machine and, with PostgreSQL, of the database server. If the clock is right now, you need not do anything.',
};

/**
 * Compares this node's clock with other sources: the database's clock, the newest commit, and the elapsed time. While they disagree, nothing is
 * deleted as expired.
 */
export class ClockGuard {
  readonly #time: TimeSources;
  readonly #database: Database;
  readonly #log: Logger;
  readonly #metrics: Metrics;
  readonly #checks = new ClockChecks(SECOND_CHECK_MS);
  #trouble: Trouble | null = null;
  #newestAt: number | null = null;
  #checked: { now: number; elapsed: number } | null = null;
  #timer: NodeJS.Timeout | undefined;
  #ticking: Promise<void> | null = null;

  constructor(parts: { time: TimeSources; database: Database; log: Logger; metrics: Metrics }) {
    this.#time = parts.time;
    this.#database = parts.database;
    this.#log = parts.log;
    this.#metrics = parts.metrics;
  }

  /** Called before requests are answered. */
  async firstCheck(): Promise<void> {
    this.#newestAt = await this.#newestRecord();
    this.#sayAhead();
    await this.check();
  }

  start(): void {
    this.#timer = setInterval(() => {
      this.#ticking ??= this.#tick().finally(() => {
        this.#ticking = null;
      });
    }, TICK_MS);
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#ticking;
  }

  /** A clock that was set is detected at once, without a query; any other difference within a minute. */
  async #tick(): Promise<void> {
    const sinceCheck = this.#time.elapsed() - (this.#checked?.elapsed ?? Number.NEGATIVE_INFINITY);
    const wasSet = Math.abs(this.#time.now() - (this.#checked?.now ?? 0) - sinceCheck) > TOLERANCE_MS;
    if (sinceCheck < CHECK_MS && !wasSet) return;
    try {
      await this.check();
    } catch (error) {
      this.#log.warn({ err: error }, 'the clock could not be compared with the database; retrying');
    }
  }

  /** For readiness, and for each request that is recorded: other nodes have the right time. */
  refuseWrongClock(): void {
    if (this.#trouble?.kind !== 'offset') return;
    throw unavailable(
      `The clock of this node differs from the database’s by more than ${TOLERANCE_MS / SECOND_MS} s: use another node, or correct the clock.`,
    );
  }

  /**
   * Returns the time up to which expired data may be deleted; null while nothing may be deleted, because of the clock or because the second check is
   * not due yet.
   */
  async cutoff(waitMs: number): Promise<Cutoff | null> {
    // Called every second for each waiting job, so the database is queried only if deletion is possible.
    if (this.#trouble !== null || !this.#checks.hasOne(this.#time.elapsed(), waitMs)) return null;
    const checked = await this.check();
    return checked === null ? null : this.#checks.cutoff(checked, waitMs);
  }

  /** Compares the clock and adds a check; null if the clock cannot be trusted or the comparison took too long. */
  async check(): Promise<ClockCheck | null> {
    this.#checked = { now: this.#time.now(), elapsed: this.#time.elapsed() };
    const measured = await measure(this.#time, this.#database);
    if (measured === null) return null;
    this.#metrics.clockOffset.set(measured.offsetMs / SECOND_MS);
    const trouble = isOff(measured) ? offsetTrouble(measured) : await this.#troubleWithPast(measured);
    this.#say(trouble, measured);
    if (trouble !== null) return null;
    this.#checks.add(measured);
    return measured;
  }

  async #troubleWithPast(measured: Measurement): Promise<Trouble | null> {
    const jumpMs = this.#checks.jumpTo(measured);
    const hasJumped = Math.abs(jumpMs) > TOLERANCE_MS;
    if (hasJumped) {
      this.#checks.clear();
      const seconds = Math.round(jumpMs / SECOND_MS);
      this.#log.warn({ seconds, what_to_do: WHAT_TO_DO.jump }, 'the clock was changed; nothing is deleted for an hour');
    }
    if (hasJumped || this.#trouble?.kind === 'behind') this.#newestAt = await this.#newestRecord();
    if (this.#newestAt === null || measured.time >= this.#newestAt - TOLERANCE_MS) return null;
    return { kind: 'behind', newestAt: this.#newestAt };
  }

  /** Records that an operator declared to come from a wrong clock count as made at the time of that declaration. */
  async #newestRecord(): Promise<number | null> {
    const newestAt = await newestRecordAt(this.#database.read);
    const permission = await findPermission(this.#database.read, CLOCK);
    return newestAt !== null && permission !== undefined && newestAt <= permission.valid_until
      ? permission.given_at
      : newestAt;
  }

  /** A machine may have been off for long, so this only logs a warning: deletions wait for the second check and are limited to their share. */
  #sayAhead(): void {
    const aheadMs = this.#newestAt === null ? 0 : this.#time.now() - this.#newestAt;
    if (aheadMs < LONG_AGO_MS) return;
    const clocks = { node: timestamp(this.#time.now()), newest_record: timestamp(this.#newestAt ?? 0) };
    this.#log.warn(
      { ...clocks, what_to_do: WHAT_TO_DO.ahead },
      'the newest record is old: the service was off for long, or the clock is ahead; nothing is deleted for an hour',
    );
  }

  /** Logs once per change. */
  #say(trouble: Trouble | null, { nodeTime, time }: Measurement): void {
    const before = this.#trouble;
    this.#trouble = trouble;
    this.#metrics.clockTrusted.set(trouble === null ? 1 : 0);
    if (trouble?.kind === before?.kind) return;
    if (trouble === null) {
      this.#checks.clear();
      this.#log.info('the clock is right again');
    } else if (trouble.kind === 'offset') {
      const clocks = { node: timestamp(nodeTime), database: timestamp(time), what_to_do: WHAT_TO_DO.offset };
      this.#log.error(
        clocks,
        'the clock of this node differs from the database’s: the node is not ready, refuses requests, and deletes nothing',
      );
    } else {
      const clocks = { node: timestamp(nodeTime), newest_record: timestamp(trouble.newestAt) };
      const what_to_do = WHAT_TO_DO.behind;
      this.#log.warn(
        { ...clocks, what_to_do },
        'the clock is behind the newest record: nothing is deleted until it has caught up',
      );
    }
  }
}

/** Called before anything is written, because a node with a wrong clock would give everything a wrong time. */
export async function refuseWrongStart(time: TimeSources, database: Database): Promise<void> {
  let measured: Measurement | null = null;
  for (let attempt = 1; measured === null && attempt <= START_ATTEMPTS; attempt++) {
    measured = await measure(time, database);
  }
  if (measured === null || !isOff(measured)) return;
  throw new StartError(
    `The clock of this machine is at ${timestamp(measured.nodeTime)}, that of the database server at ${timestamp(measured.time)}: they differ by more than ` +
      `${TOLERANCE_MS / SECOND_MS} s. Correct the one that is wrong, check that its time service is running, and start again.`,
  );
}

/** The database's time counts as that of the middle of the round trip. A round trip that took too long gives no measurement. */
async function measure(time: TimeSources, database: Database): Promise<Measurement | null> {
  const sent = time.elapsed();
  const ofDatabase = await time.ofDatabase(database);
  const elapsed = time.elapsed();
  const nodeTime = time.now();
  if (ofDatabase === null) return { time: nodeTime, nodeTime, elapsed, offsetMs: 0 };
  const tripMs = elapsed - sent;
  if (tripMs > TOLERANCE_MS) return null;
  const now = ofDatabase + tripMs / 2;
  return { time: now, nodeTime, elapsed, offsetMs: nodeTime - now };
}

function isOff({ offsetMs }: Measurement): boolean {
  return Math.abs(offsetMs) > TOLERANCE_MS;
}

function offsetTrouble({ offsetMs }: Measurement): Trouble {
  return { kind: 'offset', offsetMs };
}
