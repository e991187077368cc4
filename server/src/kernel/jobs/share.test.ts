import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allowedOf, excessOf, SHARE_MAX } from './share.ts';

const share = (expired: number, total: number, floor = 1000) => ({
  of: 'rows',
  expired,
  floor,
  total: async () => total,
});

test('a tenth of what there is may go, and never less than the floor', async () => {
  assert.equal(SHARE_MAX, 0.1);
  assert.deepEqual([allowedOf(0, 1000), allowedOf(9999, 1000), allowedOf(50_009, 1000)], [1000, 1000, 5000]);
  assert.deepEqual(await excessOf([share(1000, 1000), share(5000, 50_000), share(0, 0, 0)]), []);
  assert.deepEqual(await excessOf([share(1001, 1001), share(5001, 50_000), share(3, 12, 3)]), [
    { of: 'rows', expired: 1001, total: 1001, allowed: 1000 },
    { of: 'rows', expired: 5001, total: 50_000, allowed: 5000 },
  ]);
});

test('what there is in all is counted only where it matters', async () => {
  const total = () => Promise.reject(new Error('counted'));
  assert.deepEqual(await excessOf([{ ...share(1000, 0), total }]), []);
  await assert.rejects(excessOf([{ ...share(1001, 0), total }]), /counted/);
});
