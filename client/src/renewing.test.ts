import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Renewing } from './renewing.ts';

/** A clock that the test moves, and a source that counts how often it was called. */
function source(lifeMs = 90_000) {
  const state = { now: 0, fetches: 0, fails: false };
  const renewing = new Renewing(
    async () => {
      state.fetches++;
      if (state.fails) throw new Error('the service is down');
      return { value: `token ${state.fetches}`, lifeMs };
    },
    () => state.now,
  );
  return { state, renewing };
}

test('a value is obtained once for all who ask, and renewed between six and seven tenths of its life', async () => {
  const { state, renewing } = source();
  assert.deepEqual(await Promise.all([renewing.get(), renewing.get(), renewing.get()]), Array(3).fill('token 1'));
  state.now = 90_000 * 0.59;
  assert.equal(await renewing.get(), 'token 1');
  state.now = 90_000 * 0.67;
  assert.deepEqual(await Promise.all([renewing.get(), renewing.get()]), Array(2).fill('token 2'));
  assert.equal(state.fetches, 2);
});

test('while renewing fails, the old value is used to its end and not a moment longer', async () => {
  const { state, renewing } = source();
  await renewing.get();
  state.fails = true;
  state.now = 70_000;
  assert.equal(await renewing.get(), 'token 1');
  assert.equal(await renewing.get(), 'token 1');
  assert.equal(state.fetches, 2, 'it does not ask again at once');
  state.now = 76_000;
  assert.equal(await renewing.get(), 'token 1');
  assert.equal(state.fetches, 3);
  state.now = 90_000;
  await assert.rejects(renewing.get(), /down/);
  state.fails = false;
  assert.equal(await renewing.get(), 'token 5');
});

test('a value that the service refused is not used again, also while renewing fails', async () => {
  const { state, renewing } = source();
  const present = await renewing.get();
  renewing.discard((value) => value === present);
  state.fails = true;
  await assert.rejects(renewing.get(), /down/);
  state.fails = false;
  const value = await renewing.get();
  renewing.discard((value) => value === 'token 1');
  assert.equal(await renewing.get(), value, 'another value than the refused one stays');
});
