import assert from 'node:assert/strict';
import { test } from 'node:test';
import pino from 'pino';
import { until } from '../../../../test/support/until.ts';
import { Activity } from '../base/activity.ts';
import { nextIteration } from '../fairness/time-slice.ts';
import { DueWorker } from './due-work.ts';

interface Row {
  id: number;
  tenant_id: string;
}

const AT_ONCE = 32;

test('tenants whose work hangs leave slots to others, however many each of them could fill', async () => {
  const waiting: Row[] = Array.from({ length: 400 }, (_, id) => ({ id, tenant_id: `hanging ${id % 8}` }));
  const started: Row[] = [];
  const end = Promise.withResolvers<void>();
  let looks = 0;
  const worker = new DueWorker<Row>(
    {
      isServed: async () => true,
      name: 'rows',
      find: async (limit, full) => {
        looks++;
        return waiting.filter(({ tenant_id }) => !full.includes(tenant_id)).slice(0, limit);
      },
      groups: ({ tenant_id }) => [{ name: tenant_id, slots: AT_ONCE / 8, isShare: true }],
      take: async (row) => {
        waiting.splice(waiting.indexOf(row), 1);
        return row;
      },
      work: async (row) => {
        started.push(row);
        await end.promise;
      },
    },
    { atOnce: AT_ONCE, log: pino({ level: 'silent' }), activity: new Activity() },
  );
  worker.start();
  await until('not every tenant has a slot', () => new Set(started.map(({ tenant_id }) => tenant_id)).size === 8);
  const before = looks;
  await until('the worker does not look again', () => looks > before + 2);
  assert.ok(started.length < AT_ONCE, 'all slots are used');
  assert.ok(waiting.length > 0);
  waiting.push({ id: 400, tenant_id: 'another' });
  await until('another tenant waits for those that hang', () =>
    started.some(({ tenant_id }) => tenant_id === 'another'),
  );
  end.resolve();
  await until('the rest is not worked on', () => waiting.length === 0);
  await worker.stop();
  assert.equal(started.length, 401);
});

test('due rows of tenants of another region keep nobody waiting, and stay as they are', async () => {
  const waiting: Row[] = Array.from({ length: 300 }, (_, id) => ({ id, tenant_id: `elsewhere ${id}` }));
  waiting.push({ id: 300, tenant_id: 'here' });
  const started: string[] = [];
  let lookups = 0;
  const worker = new DueWorker<Row>(
    {
      isServed: async ({ tenant_id }) => {
        lookups++;
        return tenant_id === 'here';
      },
      name: 'rows',
      find: async (limit, except) => waiting.filter(({ tenant_id }) => !except.includes(tenant_id)).slice(0, limit),
      take: async (row) => {
        waiting.splice(waiting.indexOf(row), 1);
        return row;
      },
      work: async ({ tenant_id }) => void started.push(tenant_id),
    },
    { atOnce: AT_ONCE, log: pino({ level: 'silent' }), activity: new Activity() },
  );
  worker.start();
  await until('the row of this region waits behind those of others', () => started.length === 1);
  const before = lookups;
  waiting.push({ id: 301, tenant_id: 'here' });
  await until('another one waits', () => started.length === 2);
  assert.equal(lookups, before + 1, 'the others are not looked up again at each poll');
  await worker.stop();
  assert.deepEqual(started, ['here', 'here']);
  assert.equal(waiting.length, 300);
});

test('a tick has done all that was due when it resolves, also what an earlier look had found', async () => {
  const waiting: Row[] = Array.from({ length: 100 }, (_, id) => ({ id, tenant_id: 'one' }));
  const done: number[] = [];
  const worker = new DueWorker<Row>(
    {
      isServed: async () => true,
      name: 'rows',
      find: async (limit) => waiting.slice(0, limit),
      take: async (row) => {
        await nextIteration();
        const at = waiting.indexOf(row);
        return at === -1 ? null : (waiting.splice(at, 1)[0] ?? null);
      },
      work: async ({ id }) => {
        await nextIteration();
        done.push(id);
      },
    },
    { atOnce: AT_ONCE, log: pino({ level: 'silent' }), activity: new Activity() },
  );
  worker.start();
  await worker.tick();
  assert.equal(done.length, 100);
  await worker.stop();
});
