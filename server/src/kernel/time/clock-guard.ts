import type { Logger } from 'pino';
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS, timestamp } from '../clock.ts';
import { unavailable } from '../errors.ts';
import type { Metrics } from '../observability/metrics.ts';
import { StartError } from '../storage/data-folder.ts';
import type { Database } from '../storage/database.ts';
import type { Cutoff } from './cutoff.ts';
import { type Look, Looks } from './looks.ts';
import { newestRecordAt } from './newest-record.ts';
import { CLOCK, findWord } from './operator-words.ts';
import type { TimeSources } from './sources.ts';

/** How far apart clocks may be, and how long a measurement may take that tells. */
export const TOLERANCE_MS = 30 * SECOND_MS;
/** What is data is removed only if it was over at two looks that are so far apart. */
export const SECOND_LOOK_MS = HOUR_MS;
const CHECK_MS = MINUTE_MS;
const TICK_MS = SECOND_MS;
const START_ATTEMPTS = 3;
/** A service that was off for longer says so: its clock may be the reason. */
const LONG_AGO_MS = DAY_MS;

/** One comparison of this node's clock with the database's; on SQLite there is only this one. */
interface Measurement extends Look {
  nodeTime: number;
  offsetMs: number;
}

type Trouble = { kind: 'offset'; offsetMs: number } | { kind: 'behind'; newestAt: number };

const WHAT_TO_DO = {
  offset:
    'Set the clock of this machine, or that of the database server, whichever is wrong, and check their time services. This node then goes on by itself.',
  behind:
    'Set the clock of this machine if it is wrong. If it is right, and was ahead when that was recorded, run: coffer server accept-clock',
  ahead: 'If the service was not off for so long, stop it and set the clock of this machine.',
  jump: 'Check the time service of this machine and, with PostgreSQL, of the database server. If the clock is right now, nothing needs to be done.',
};

/**
 * Compares this node's clock with others that it can know: the database's, the newest commit's, and the time that really passed. While they
 * disagree, nothing is removed because its time is over.
 */
export class ClockGuard {
  readonly #time: TimeSources;
  readonly #database: Database;
  readonly #log: Logger;
  readonly #metrics: Metrics;
  readonly #looks = new Looks(SECOND_LOOK_MS);
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

  /** Before requests are answered. */
  async firstLook(): Promise<void> {
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

  /** A clock that was set shows at once, without a query; one that differs for other reasons shows within a minute. */
  async #tick(): Promise<void> {
    const sinceCheck = this.#time.elapsed() - (this.#checked?.elapsed ?? Number.NEGATIVE_INFINITY);
    const wasSet = Math.abs(this.#time.now() - (this.#checked?.now ?? 0) - sinceCheck) > TOLERANCE_MS;
    if (sinceCheck < CHECK_MS && !wasSet) return;
    try {
      await this.check();
    } catch (error) {
      this.#log.warn({ err: error }, 'the clock could not be compared; it is tried again');
    }
  }

  /** For readiness: a balancer should send requests to nodes whose clock is right. */
  refuseWrongClock(): void {
    if (this.#trouble?.kind !== 'offset') return;
    throw unavailable(`The clock of this node differs from the database’s by more than ${TOLERANCE_MS / SECOND_MS} s.`);
  }

  /** What is over at this time may be removed; null while nothing may be, because of the clock or because the second look is still to come. */
  async cutoff(waitMs: number): Promise<Cutoff | null> {
    // Asked every second for each job that waits, so the database is asked only if the answer can be yes.
    if (this.#trouble !== null || !this.#looks.hasOne(this.#time.elapsed(), waitMs)) return null;
    const look = await this.check();
    return look === null ? null : this.#looks.cutoff(look, waitMs);
  }

  /** Compares the clock and takes a look; null if it cannot be trusted, or if comparing took too long to tell. */
  async check(): Promise<Look | null> {
    this.#checked = { now: this.#time.now(), elapsed: this.#time.elapsed() };
    const measured = await measure(this.#time, this.#database);
    if (measured === null) return null;
    this.#metrics.clockOffset.set(measured.offsetMs / SECOND_MS);
    const trouble = isOff(measured) ? offsetTrouble(measured) : await this.#troubleWithPast(measured);
    this.#say(trouble, measured);
    if (trouble !== null) return null;
    this.#looks.add(measured);
    return measured;
  }

  async #troubleWithPast(measured: Measurement): Promise<Trouble | null> {
    const jumpMs = this.#looks.jumpTo(measured);
    const hasJumped = Math.abs(jumpMs) > TOLERANCE_MS;
    if (hasJumped) {
      this.#looks.clear();
      const seconds = Math.round(jumpMs / SECOND_MS);
      this.#log.warn({ seconds, what_to_do: WHAT_TO_DO.jump }, 'the clock was set; nothing is removed for an hour');
    }
    if (hasJumped || this.#trouble?.kind === 'behind') this.#newestAt = await this.#newestRecord();
    if (this.#newestAt === null || measured.time >= this.#newestAt - TOLERANCE_MS) return null;
    return { kind: 'behind', newestAt: this.#newestAt };
  }

  /** Records that an operator said were made by a wrong clock count as made when that was said. */
  async #newestRecord(): Promise<number | null> {
    const newestAt = await newestRecordAt(this.#database.read);
    const word = await findWord(this.#database.read, CLOCK);
    return newestAt !== null && word !== undefined && newestAt <= word.valid_until ? word.given_at : newestAt;
  }

  /** A machine may have been off for long, so this refuses nothing: what is removed waits for its second look, and for its share. */
  #sayAhead(): void {
    const aheadMs = this.#newestAt === null ? 0 : this.#time.now() - this.#newestAt;
    if (aheadMs < LONG_AGO_MS) return;
    const clocks = { node: timestamp(this.#time.now()), newest_record: timestamp(this.#newestAt ?? 0) };
    this.#log.warn(
      { ...clocks, what_to_do: WHAT_TO_DO.ahead },
      'nothing was recorded for long before this start, or the clock is ahead; nothing is removed for an hour',
    );
  }

  /** Once for each change. */
  #say(trouble: Trouble | null, { nodeTime, time }: Measurement): void {
    const before = this.#trouble;
    this.#trouble = trouble;
    this.#metrics.clockTrusted.set(trouble === null ? 1 : 0);
    if (trouble?.kind === before?.kind) return;
    if (trouble === null) {
      this.#looks.clear();
      this.#log.info('the clock is right again');
    } else if (trouble.kind === 'offset') {
      const clocks = { node: timestamp(nodeTime), database: timestamp(time), what_to_do: WHAT_TO_DO.offset };
      this.#log.error(
        clocks,
        'the clock of this node differs from the database’s: it is not ready, and removes nothing',
      );
    } else {
      const clocks = { node: timestamp(nodeTime), newest_record: timestamp(trouble.newestAt) };
      const what_to_do = WHAT_TO_DO.behind;
      this.#log.warn(
        { ...clocks, what_to_do },
        'the clock is behind what was recorded before: nothing is removed until it has passed that',
      );
    }
  }
}

/** Before anything is written: a node whose clock is wrong would stamp everything with it. */
export async function refuseWrongStart(time: TimeSources, database: Database): Promise<void> {
  let measured: Measurement | null = null;
  for (let attempt = 1; measured === null && attempt <= START_ATTEMPTS; attempt++) {
    measured = await measure(time, database);
  }
  if (measured === null || !isOff(measured)) return;
  throw new StartError(
    `The clock of this machine says ${timestamp(measured.nodeTime)}, that of the database server ${timestamp(measured.time)}: they differ by more than ` +
      `${TOLERANCE_MS / SECOND_MS} s. Set the one that is wrong, check that its time service runs, and start again.`,
  );
}

/** The database is taken to have answered in the middle of the round trip; one that took too long tells nothing. */
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
