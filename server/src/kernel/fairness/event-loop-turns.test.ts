import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as loopTurn } from 'node:timers/promises';
import { nextTurn } from './event-loop-turns.ts';

test('each turn of the event loop resumes one piece of work, and tenants take turns', async () => {
  const resumed: string[] = [];
  const pieces = ['noisy', 'noisy', 'noisy', 'quiet'].map((tenant) =>
    nextTurn(tenant).then(() => void resumed.push(tenant)),
  );
  assert.deepEqual(resumed, []);
  let turns = 0;
  while (resumed.length < pieces.length) {
    await loopTurn();
    turns++;
    assert.ok(resumed.length <= turns, `${resumed.length} pieces in ${turns} turns`);
  }
  assert.deepEqual(resumed, ['noisy', 'quiet', 'noisy', 'noisy']);
});
