import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import pino from 'pino';
import { until } from '../../../../test/support/until.ts';
import { DueWorker } from './due-work.ts';

interface Row {
  id: number;
  tenant: string;
}

const AT_ONCE = 32;

test('tenants whose work hangs leave slots to others, however many each of them could fill', async () => {
  const waiting: Row[] = Array.from({ length: 400 }, (_, id) => ({ id, tenant: `hanging ${id % 8}` }));
  const started: Row[] = [];
  const end = Promise.withResolvers<void>();
  const worker = new DueWorker<Row>(
    {
      isServed: async () => true,
      name: 'rows',
      find: async (limit, full) => waiting.filter(({ tenant }) => !full.includes(tenant)).slice(0, limit),
      groups: ({ tenant }) => [{ name: tenant, slots: AT_ONCE / 8, isShare: true }],
      take: async (row) => {
        waiting.splice(waiting.indexOf(row), 1);
        return row;
      },
      work: async (row) => {
        started.push(row);
        await end.promise;
      },
    },
    { atOnce: AT_ONCE, log: pino({ level: 'silent' }) },
  );
  worker.start();
  await until('not every tenant has a slot', () => new Set(started.map(({ tenant }) => tenant)).size === 8);
  await sleep(1500);
  assert.ok(started.length < AT_ONCE, 'all slots are used');
  assert.ok(waiting.length > 0);
  waiting.push({ id: 400, tenant: 'another' });
  await until('another tenant waits for those that hang', () => started.some(({ tenant }) => tenant === 'another'));
  end.resolve();
  await until('the rest is not worked on', () => waiting.length === 0);
  await worker.stop();
  assert.equal(started.length, 401);
});
