import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import type { TestContext } from 'node:test';
import { check } from './checker.ts';
import type { History } from './history.ts';
import type { Nemesis } from './nemesis.ts';
import { leave, summary } from './report.ts';

/** `npm run test:histories` sets these. */
export const SEED = Number(process.env['COFFER_TEST_HISTORIES_SEED'] ?? randomInt(2 ** 31));
export const SECONDS = Number(process.env['COFFER_TEST_HISTORIES_SECONDS'] ?? 60);

/** Says what happened, and fails if the service did what it must not do. */
export function assertHolds(t: TestContext, name: string, history: History, nemesis: Nemesis): void {
  const violations = check(history);
  for (const line of summary(SEED, history, nemesis, violations)) t.diagnostic(line);
  if (violations.length === 0) return;
  t.diagnostic(`the history is in ${leave(name, SEED, history, nemesis)}`);
  assert.fail(`${violations.length} violations; again: npm run test:histories -- --seed ${SEED} --seconds ${SECONDS}`);
}
