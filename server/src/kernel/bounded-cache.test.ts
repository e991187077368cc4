import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
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

test('forgets in the order of use, however often it was full, emptied or used', () => {
  const held = fc.array(fc.tuple(fc.constantFrom('get', 'set', 'delete', 'clear'), fc.nat(9)), { maxLength: 200 });
  fc.assert(
    fc.property(held, (steps) => {
      const capacity = 4;
      const cache = new BoundedCache<number, number>(capacity);
      // The same, with no cleverness: what was used last stands last.
      let model: number[] = [];
      for (const [step, key] of steps) {
        const isHeld = model.includes(key);
        if (step === 'clear') {
          cache.clear();
          model = [];
        } else if (step === 'delete') {
          cache.delete(key);
          model = model.filter((one) => one !== key);
        } else if (step === 'get') {
          assert.equal(cache.get(key), isHeld ? key : undefined);
          if (isHeld && model.length > capacity / 2) model = [...model.filter((one) => one !== key), key];
        } else {
          cache.set(key, key);
          model = [...model.filter((one) => one !== key), key].slice(-capacity);
        }
        assert.equal(cache.size, model.length);
      }
    }),
  );
});
