import { setImmediate } from 'node:timers/promises';

/** Longer work than this is interrupted, so that other requests are not kept waiting. */
const TURN_MS = 5;

/** Resolves when it is one's turn again. */
export type NextTurn = () => Promise<void>;

export const nextIteration: NextTurn = () => setImmediate();

/** Does work in steps, and lets others have a turn between them where it takes long. */
export async function inTurns<T>(steps: Generator<void, T>, nextTurn: NextTurn): Promise<T> {
  let started = performance.now();
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    if (performance.now() - started < TURN_MS) continue;
    await nextTurn();
    started = performance.now();
  }
}

/** Does all of the work at once. */
export function atOnce<T>(steps: Generator<void, T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}
