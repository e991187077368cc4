import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';

const WITHIN_MS = 60_000;
const PAUSE_MS = 20;

/** Waits until something is so, and fails with `what` if it is not in time. The time is long, because a machine that runs tests may be slow. */
export async function until(
  what: string,
  isSo: () => boolean | Promise<boolean>,
  withinMs: number = WITHIN_MS,
): Promise<void> {
  for (const deadline = performance.now() + withinMs; !(await isSo()); await sleep(PAUSE_MS)) {
    assert.ok(performance.now() < deadline, what);
  }
}
