import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Deadline } from './deadline.ts';

const LONG_MS = 60_000;
const late = () => 'late';

test('work that ends in time is answered as it ends', async () => {
  assert.equal(await new Deadline(LONG_MS).answer(async () => 'done', late), 'done');
  await assert.rejects(
    new Deadline(LONG_MS).answer(() => Promise.reject(new Error('failed')), late),
    /failed/,
  );
});

test('work that takes too long is answered at once, and may not commit afterwards', async () => {
  const deadline = new Deadline(5);
  const never = new Promise<string>(() => {});
  assert.equal(
    await deadline.answer(
      () => never,
      ({ code, message }) => `${code}: ${message}`,
    ),
    'UNAVAILABLE: The request took longer than 0.005 s and was stopped. Nothing was changed: try again shortly.',
  );
  assert.throws(() => deadline.beforeCommit(), /Nothing was changed/);
  assert.throws(() => deadline.beforeTransaction(), /Nothing was changed/);
});

test('a change that is being committed is waited for', async () => {
  const deadline = new Deadline(5);
  const work = Promise.withResolvers<string>();
  deadline.beforeTransaction();
  deadline.beforeCommit();
  const answer = deadline.answer(() => work.promise, late);
  await sleep(20);
  work.resolve('committed');
  assert.equal(await answer, 'committed');
});

test('a commit that failed and is tried again after the time does not begin', async () => {
  const deadline = new Deadline(5);
  deadline.beforeTransaction();
  deadline.beforeCommit();
  const work = async () => {
    await sleep(20);
    deadline.beforeTransaction();
    return 'committed';
  };
  await assert.rejects(deadline.answer(work, late), /Nothing was changed/);
});

test('the time does not run while the body arrives', async () => {
  let now = 0;
  const deadline = new Deadline(LONG_MS, () => now);
  const arrived = Promise.withResolvers<string>();
  const answer = deadline.answer(() => arrived.promise, late);
  deadline.pause();
  now = 2 * LONG_MS;
  deadline.endIfOver();
  deadline.resume();
  now += LONG_MS - 1;
  deadline.endIfOver();
  deadline.beforeCommit();
  arrived.resolve('done');
  assert.equal(await answer, 'done');
});

test('the time goes on where it was when the body has arrived', async () => {
  let now = 0;
  const deadline = new Deadline(LONG_MS, () => now);
  const answer = deadline.answer(() => new Promise<string>(() => {}), late);
  now = LONG_MS / 2;
  deadline.pause();
  now = 3 * LONG_MS;
  deadline.resume();
  now += LONG_MS / 2;
  deadline.endIfOver();
  assert.equal(await answer, 'late');
  assert.throws(() => deadline.beforeCommit(), /Nothing was changed/);
});

test('work that waits for its body in the same moment has all of its time left', async () => {
  const deadline = new Deadline(LONG_MS);
  const work = async () => {
    deadline.pause();
    await sleep(1);
    deadline.resume();
    await sleep(1);
    return 'done';
  };
  assert.equal(await deadline.answer(work, late), 'done');
});
