import { setImmediate } from 'node:timers/promises';
import { nextTurn } from './event-loop-turns.ts';

/** How long one piece of work computes before other requests get their turn. A step of it may be as long again, and a slow processor slower still. */
const SLICE_MS = 5;

/** Resolves when the work may go on. */
export type NextTurn = () => Promise<void>;

/** Goes on in the next iteration of the event loop, regardless of what else waits. For work that holds locks, and for that of no tenant. */
export const nextIteration: NextTurn = () => setImmediate();

/** Counts the time that a loop over many rows has computed without a break. */
export class TimeSlice {
  readonly #next: NextTurn;
  #started = performance.now();

  constructor(next: NextTurn) {
    this.#next = next;
  }

  static of(tenantId: string): TimeSlice {
    return new TimeSlice(() => nextTurn(tenantId));
  }

  /** Call it between two rows. Returns a promise only once the slice is used up, so that most rows wait for nothing. */
  pause(): Promise<void> | undefined {
    return performance.now() - this.#started < SLICE_MS ? undefined : this.#restart();
  }

  async #restart(): Promise<void> {
    await this.#next();
    this.#started = performance.now();
  }
}

/** The rows for which `isWanted` holds. Deciding may take long, because policies may have many patterns. */
export async function filterInSlices<T>(
  tenantId: string,
  rows: readonly T[],
  isWanted: (row: T) => boolean,
): Promise<T[]> {
  const wanted: T[] = [];
  const slice = TimeSlice.of(tenantId);
  for (const row of rows) {
    if (isWanted(row)) wanted.push(row);
    const pause = slice.pause();
    if (pause !== undefined) await pause;
  }
  return wanted;
}

/** Whether `isWanted` holds for one of the rows. */
export async function someInSlices<T>(
  tenantId: string,
  rows: readonly T[],
  isWanted: (row: T) => boolean,
): Promise<boolean> {
  const slice = TimeSlice.of(tenantId);
  for (const row of rows) {
    if (isWanted(row)) return true;
    const pause = slice.pause();
    if (pause !== undefined) await pause;
  }
  return false;
}

/** What `convert` returns for each row. */
export async function mapInSlices<T, R>(tenantId: string, rows: readonly T[], convert: (row: T) => R): Promise<R[]> {
  const converted: R[] = [];
  const slice = TimeSlice.of(tenantId);
  for (const row of rows) {
    converted.push(convert(row));
    const pause = slice.pause();
    if (pause !== undefined) await pause;
  }
  return converted;
}

/** Does work in steps, and lets others have their turn between them. */
export async function inSlices<T>(steps: Generator<void, T>, next: NextTurn): Promise<T> {
  const slice = new TimeSlice(next);
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    const pause = slice.pause();
    if (pause !== undefined) await pause;
  }
}

/** Does all of the work at once. */
export function atOnce<T>(steps: Generator<void, T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}
