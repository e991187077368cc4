import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { CofferError } from '../../base/errors.ts';
import { GroupCommit } from './group-commit.ts';

const limits = { batchMax: 100, waitingMax: 1000 };

test('items that come together are written together, in order, before anyone is answered', async () => {
  const batches: number[][] = [];
  let written = false;
  const commits = new GroupCommit<number>(async (items) => {
    await sleep(5);
    batches.push(items);
    written = true;
  }, limits);
  const all = Array.from({ length: 10 }, (_, i) => commits.add(i).then(() => assert.ok(written)));
  await Promise.all(all);
  assert.deepEqual(batches, [[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]]);
});

test('what arrives during a write forms the next batch; nothing is lost or written twice', async () => {
  const seen: number[] = [];
  let running = 0;
  const commits = new GroupCommit<number>(async (items) => {
    assert.equal(++running, 1, 'batches do not overlap');
    await sleep(1);
    seen.push(...items);
    running--;
  }, limits);
  await Promise.all(
    Array.from({ length: 500 }, async (_, i) => {
      await sleep(Math.random() * 20);
      await commits.add(i);
      assert.ok(seen.includes(i));
    }),
  );
  assert.deepEqual(
    seen.toSorted((a, b) => a - b),
    Array.from({ length: 500 }, (_, i) => i),
  );
});

test('a batch that fails fails its own callers and no others', async () => {
  let calls = 0;
  const commits = new GroupCommit<string>(
    async (items) => {
      calls++;
      if (items.includes('bad')) throw new Error('disk full');
    },
    { batchMax: 1, waitingMax: 10 },
  );
  const results = await Promise.allSettled(['a', 'bad', 'b'].map((item) => commits.add(item)));
  assert.deepEqual(
    results.map((r) => r.status),
    ['fulfilled', 'rejected', 'fulfilled'],
  );
  assert.equal(calls, 3);
});

test('the queue is bounded: a caller who finds it full is told to come back', async () => {
  let release = () => {};
  const gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  const begun = Promise.withResolvers<void>();
  const write = () => {
    begun.resolve();
    return gate;
  };
  const commits = new GroupCommit<number>(write, { batchMax: 2, waitingMax: 2 });
  const first = [commits.add(1), commits.add(2)];
  await begun.promise;
  const second = [commits.add(3), commits.add(4)];
  await assert.rejects(commits.add(5), (error) => error instanceof CofferError && error.code === 'UNAVAILABLE');
  release();
  await Promise.all([...first, ...second, commits.drained()]);
  await commits.drained();
});
