import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { StartError } from '../base/data-folder.ts';
import { newRootSalt, rootKeyProvider } from './root-key.ts';

const provider = rootKeyProvider({ provider: 'passphrase', passphrase: 'a passphrase long enough' });
const idWith = (salt: Uint8Array) => provider.load(salt, false).id;
const FIRST = { memory: 65_536, passes: 3, parallelism: 4 };

test('the salt says at what cost the passphrase becomes the key', () => {
  const costs = [FIRST, { ...FIRST, memory: 70_000 }, { ...FIRST, passes: 4 }, { ...FIRST, parallelism: 2 }];
  const salt = newRootSalt();
  const ids = costs.map((cost) => {
    const stored = Buffer.concat([salt.subarray(0, 16), newRootSalt(cost).subarray(16)]);
    assert.equal(idWith(stored), idWith(stored));
    return idWith(stored);
  });
  assert.equal(new Set(ids).size, costs.length, 'each cost makes another key');
});

test('a salt of an earlier release, which says no cost, opens as it did', () => {
  const salt = randomBytes(16);
  const same = Buffer.concat([salt, newRootSalt(FIRST).subarray(16)]);
  assert.equal(idWith(salt), idWith(same));
});

test('a cost beyond the bounds, or less than the first, is refused before it is paid', () => {
  const bad = [
    { ...FIRST, memory: 4_194_304 },
    { ...FIRST, passes: 255 },
    { ...FIRST, memory: 1024 },
    { ...FIRST, passes: 1 },
    { ...FIRST, parallelism: 0 },
  ];
  for (const cost of bad) assert.throws(() => idWith(newRootSalt(cost)), StartError, JSON.stringify(cost));
  for (const bytes of [0, 15, 17, 21, 23]) assert.throws(() => idWith(randomBytes(bytes)), StartError);
});

test('a key that is no passphrase needs no salt', () => {
  const key = randomBytes(32);
  const env = rootKeyProvider({ provider: 'env', key });
  assert.equal(env.load(newRootSalt(), false).id, env.load(randomBytes(3), false).id);
});
