import assert from 'node:assert/strict';
import { test } from 'node:test';
import { coresOf } from './pinning.ts';

test('on few cores the client and the database share the last, and workers have all', () => {
  const { client, database, worker } = coresOf(2);
  assert.deepEqual([client, database, worker(0), worker(1), worker(2)], [1, 1, 0, 1, 0]);
  const one = coresOf(1);
  assert.deepEqual([one.client, one.database, one.worker(0), one.worker(3)], [0, 0, 0, 0]);
});

test('on more cores no worker is on that of the client or the database', () => {
  for (const count of [4, 8, 64]) {
    const { client, database, worker } = coresOf(count);
    const used = new Set(Array.from({ length: 100 }, (_, index) => worker(index)));
    assert.notEqual(client, database);
    assert.ok(!used.has(client) && !used.has(database));
    assert.equal(used.size, count - 2);
  }
});
