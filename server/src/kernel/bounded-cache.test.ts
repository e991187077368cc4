import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BoundedCache } from './bounded-cache.ts';

test('holds no more than its capacity, and forgets what was used least recently', () => {
  const cache = new BoundedCache<number, string>(4);
  for (let i = 0; i < 4; i++) cache.set(i, `v${i}`);
  assert.equal(cache.get(0), 'v0');
  cache.set(4, 'v4');
  assert.equal(cache.size, 4);
  assert.equal(cache.get(0), 'v0', 'used lately, so kept');
  assert.equal(cache.get(1), undefined, 'unused longest, so gone');
  cache.set(4, 'again');
  assert.equal(cache.size, 4);
  cache.delete(4);
  assert.equal(cache.get(4), undefined);
  cache.clear();
  assert.equal(cache.size, 0);
});
