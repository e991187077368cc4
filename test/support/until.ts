import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';

const WITHIN_MS = 60_000;
const PAUSE_MS = 20;

/** Waits until something is so, and fails with `what`, as it is then, if it is not in time. The time is long, because a machine that runs tests may be slow. */
export async function until(
  what: string | (() => string),
  isSo: () => boolean | Promise<boolean>,
  withinMs: number = WITHIN_MS,
): Promise<void> {
  for (const deadline = performance.now() + withinMs; !(await isSo()); await sleep(PAUSE_MS)) {
    if (performance.now() >= deadline) assert.fail(typeof what === 'string' ? what : what());
  }
}
