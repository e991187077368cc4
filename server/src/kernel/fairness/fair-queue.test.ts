import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { CofferError } from '../base/errors.ts';
import { FairQueue, type FairQueueLimits, SERVICE } from './fair-queue.ts';

function queueOf(limits: Partial<FairQueueLimits> = {}): FairQueue {
  return new FairQueue({
    of: 'tests',
    slots: 2,
    perTenant: 1,
    waitingPerTenant: 10,
    waitingMax: 20,
    waitMs: 1000,
    ...limits,
  });
}

/** A task that runs until it is told to end, and records when it began. */
function task(queue: FairQueue, tenant: string, begun: string[], name = tenant) {
  const end = Promise.withResolvers<void>();
  const done = queue.run(tenant, () => {
    begun.push(name);
    return end.promise;
  });
  return { end: () => end.resolve(), done };
}

const isRefused = (code: string) => (error: unknown) =>
  error instanceof CofferError && error.code === code && error.retryAfterSeconds !== undefined;

test('one tenant holds no more than its share, and another is served at once', async () => {
  const queue = queueOf();
  const begun: string[] = [];
  const noisy = Array.from({ length: 3 }, (_, i) => task(queue, 'noisy', begun, `noisy ${i}`));
  const quiet = task(queue, 'quiet', begun);
  await sleep(1);
  assert.deepEqual(begun, ['noisy 0', 'quiet']);
  for (const one of [...noisy, quiet]) one.end();
  await Promise.all([...noisy, quiet].map(({ done }) => done));
  assert.deepEqual(begun, ['noisy 0', 'quiet', 'noisy 1', 'noisy 2']);
  assert.equal(queue.waiting, 0);
});

test('a caller who waits for a slot that others hold comes in turn', async () => {
  const queue = queueOf({ slots: 1, perTenant: 1 });
  const begun: string[] = [];
  const tasks = ['noisy', 'noisy', 'noisy', 'quiet'].map((tenant) => task(queue, tenant, begun));
  for (const one of tasks) one.end();
  await Promise.all(tasks.map(({ done }) => done));
  assert.deepEqual(begun, ['noisy', 'noisy', 'quiet', 'noisy']);
});

test('a tenant beyond its own share is told so, and a slot that others hold is unavailable', async () => {
  const queue = queueOf({ slots: 2, perTenant: 1, waitMs: 20 });
  const begun: string[] = [];
  const running = [task(queue, 'noisy', begun), task(queue, 'other', begun)];
  await assert.rejects(task(queue, 'noisy', begun).done, isRefused('RATE_LIMIT_EXCEEDED'));
  await assert.rejects(task(queue, 'quiet', begun).done, isRefused('UNAVAILABLE'));
  assert.equal(queue.waiting, 0);
  for (const one of running) one.end();
  await Promise.all(running.map(({ done }) => done));
  await queue.run('quiet', async () => {});
});

test('where slots are held for moments, a wait in which none is released is nobody’s fault', async () => {
  const queue = queueOf({ slots: 2, perTenant: 1, waitMs: 20, isQuick: true });
  const begun: string[] = [];
  const [stuck, other] = [task(queue, 'noisy', begun), task(queue, 'other', begun)];
  await assert.rejects(task(queue, 'noisy', begun).done, isRefused('UNAVAILABLE'));
  const waiting = task(queue, 'noisy', begun).done;
  other.end();
  await assert.rejects(waiting, isRefused('RATE_LIMIT_EXCEEDED'));
  stuck.end();
  await Promise.all([stuck.done, other.done]);
});

test('so many wait and no more', async () => {
  const queue = queueOf({ waitingPerTenant: 1 });
  const begun: string[] = [];
  const first = task(queue, 'noisy', begun);
  const second = task(queue, 'noisy', begun);
  await assert.rejects(task(queue, 'noisy', begun).done, isRefused('RATE_LIMIT_EXCEEDED'));
  const quiet = task(queue, 'quiet', begun);
  for (const one of [first, second, quiet]) one.end();
  await Promise.all([first.done, second.done, quiet.done]);
});

test('so many wait of all tenants together', async () => {
  const queue = queueOf({ slots: 1, waitingMax: 2 });
  const begun: string[] = [];
  const tasks = ['a', 'b', 'c'].map((tenant) => task(queue, tenant, begun));
  await assert.rejects(task(queue, 'd', begun).done, isRefused('UNAVAILABLE'));
  for (const one of tasks) one.end();
  await Promise.all(tasks.map(({ done }) => done));
});

test('a task that fails gives its slot back', async () => {
  const queue = queueOf({ slots: 1 });
  for (let i = 0; i < 3; i++) {
    await assert.rejects(
      queue.run('a', async () => {
        throw new Error('no');
      }),
      /no/,
    );
  }
  assert.equal(await queue.run('a', async () => 'done'), 'done');
});

test("the service's own work is bounded by the slots alone", async () => {
  const queue = queueOf({ slots: 3, perTenant: 1 });
  const begun: string[] = [];
  const tasks = Array.from({ length: 3 }, () => task(queue, SERVICE, begun, 'own'));
  await sleep(1);
  assert.equal(begun.length, 3);
  for (const one of tasks) one.end();
  await Promise.all(tasks.map(({ done }) => done));
});
