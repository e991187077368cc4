import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { BoundedCache } from './bounded-cache.ts';

const ENTRY = 1000;
/** A cache with room for this many entries of equal size. */
function cacheOf<V>(entries: number): BoundedCache<number, V> {
  // Less than one entry of room is left over, whatever overhead the map adds to each entry.
  return new BoundedCache<number, V>({ bytesMax: entries * (ENTRY + 100), bytesOf: () => ENTRY });
}

test('holds no more than its capacity, and evicts what was used least recently', () => {
  const cache = cacheOf<string>(4);
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

test('evicts in the order of use, however often it was full, emptied or used', () => {
  const held = fc.array(fc.tuple(fc.constantFrom('get', 'set', 'delete', 'clear'), fc.nat(9)), { maxLength: 200 });
  fc.assert(
    fc.property(held, (steps) => {
      const capacity = 4;
      const cache = cacheOf<number>(capacity);
      // A naive model of the cache: the most recently used key is last.
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
          if (isHeld) model = [...model.filter((one) => one !== key), key];
        } else {
          cache.set(key, key);
          model = [...model.filter((one) => one !== key), key].slice(-capacity);
        }
        assert.equal(cache.size, model.length);
      }
    }),
  );
});

interface Holder {
  own: number;
  parts: { bytes: number }[];
}

test('counts bytes and not entries, a shared part once, and stores nothing that is larger than itself', () => {
  const cache = new BoundedCache<string, Holder>({
    bytesMax: 100_000,
    bytesOf: ({ own }) => own,
    sharedParts: ({ parts }) => parts,
  });
  const shared = { bytes: 60_000 };
  for (let i = 0; i < 20; i++) cache.set(`k${i}`, { own: 1000, parts: [shared] });
  assert.equal(cache.size, 20, 'a copy each would be twelve times what there is room for');
  cache.set('other', { own: 1000, parts: [{ bytes: 50_000 }] });
  assert.ok(cache.bytes <= 100_000, String(cache.bytes));
  assert.ok(cache.get('other'));
  assert.equal(cache.size, 1, 'the shared part is held until the last of its holders is gone');
  cache.set('huge', { own: 100_001, parts: [] });
  assert.equal(cache.get('huge'), undefined);
  cache.clear();
  assert.equal(cache.bytes, 0);
});

test('never takes more than it may, and counts what it holds', () => {
  const parts = [{ bytes: 10 }, { bytes: 2000 }, { bytes: 5000 }];
  const step = fc.record({
    key: fc.nat(20),
    own: fc.nat(3000),
    parts: fc.uniqueArray(fc.nat(2)),
    isDelete: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 100 }), (steps) => {
      const bounds = { bytesMax: 10_000, bytesOf: ({ own }: Holder) => own, sharedParts: (held: Holder) => held.parts };
      const cache = new BoundedCache<number, Holder>(bounds);
      for (const { key, own, parts: held, isDelete } of steps) {
        if (isDelete) cache.delete(key);
        else cache.set(key, { own, parts: held.map((at) => parts[at] as { bytes: number }) });
        assert.ok(cache.bytes >= 0 && cache.bytes <= bounds.bytesMax);
      }
      for (let key = 0; key <= 20; key++) cache.delete(key);
      assert.equal(cache.bytes, 0, 'what was counted in was counted out');
    }),
  );
});

test('values that were replaced do not stay in memory, whether or not any was evicted', () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const cache = cacheOf<Buffer>(2000);
  const fill = () => {
    for (let i = 0; i < 1500; i++) cache.set(i, Buffer.from('x'.repeat(200)));
  };
  for (let i = 0; i < 2500; i++) cache.set(i, Buffer.from('evicts some, so that there is an iterator'));
  fill();
  collect();
  const before = process.memoryUsage().heapUsed;
  for (let round = 0; round < 100; round++) fill();
  collect();
  const grownBytes = process.memoryUsage().heapUsed - before;
  assert.ok(grownBytes < 5_000_000, `${grownBytes} bytes more`);
});
