import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CofferError, type CofferErrorCode } from './errors.ts';
import { type CacheOptions, ReadCache } from './read-cache.ts';

/** A cache with a clock that the test moves, before a service that answers or fails as told. */
function cached(options: CacheOptions) {
  const state = { now: 0, reads: 0, failure: null as [CofferErrorCode, number] | null };
  const cache = new ReadCache<string>(
    options,
    (value) => value.length,
    () => state.now,
  );
  const get = (key = 'v/a?') =>
    cache.get(key, async () => {
      state.reads++;
      if (state.failure !== null) throw new CofferError('no', { code: state.failure[0], status: state.failure[1] });
      return `value ${state.reads}`;
    });
  return { state, cache, get };
}

test('a value is cached for its time', async () => {
  const { state, get } = cached({ maxAgeMs: 1000 });
  assert.deepEqual([await get(), await get()], ['value 1', 'value 1']);
  state.now = 1000;
  assert.equal(await get(), 'value 2');
});

test('without a word about stale values, a failure is a failure', async () => {
  const { state, get } = cached({ maxAgeMs: 1000 });
  await get();
  state.now = 1000;
  state.failure = ['NO_ANSWER', 0];
  await assert.rejects(get(), { code: 'NO_ANSWER' });
});

test('a stale value is served while the service cannot be reached, within its bound', async () => {
  const { state, get } = cached({ maxAgeMs: 1000, staleIfErrorMs: 5000 });
  await get();
  state.now = 4999;
  for (const failure of [
    ['NO_ANSWER', 0],
    ['TIMED_OUT', 0],
    ['UNAVAILABLE', 503],
  ] as [CofferErrorCode, number][]) {
    state.failure = failure;
    assert.equal(await get(), 'value 1');
  }
  state.now = 5000;
  await assert.rejects(get(), { code: 'UNAVAILABLE' });
});

test('after a refusal nothing is served, neither then nor during an outage that follows', async () => {
  for (const refusal of [
    ['INVALID_TOKEN', 401],
    ['INSUFFICIENT_PRIVILEGE', 403],
    ['SECRET_NOT_FOUND', 404],
  ] as [CofferErrorCode, number][]) {
    const { state, get } = cached({ maxAgeMs: 1000, staleIfErrorMs: 60_000 });
    await get();
    state.now = 1000;
    state.failure = refusal;
    await assert.rejects(get(), { code: refusal[0] });
    state.failure = ['NO_ANSWER', 0];
    await assert.rejects(get(), { code: 'NO_ANSWER' });
  }
});

test('it is bounded: the one not used for longest is evicted, and a change evicts', async () => {
  const { state, cache, get } = cached({ maxAgeMs: 1000, entries: 2 });
  await get('v/a?');
  await get('v/b?');
  await get('v/a?');
  await get('v/c?');
  assert.equal(state.reads, 3);
  await get('v/a?');
  assert.equal(state.reads, 3);
  await get('v/b?');
  assert.equal(state.reads, 4);
  cache.evict('v/b?');
  await get('v/b?');
  assert.equal(state.reads, 5);
});

test('a credential that is not valid any more ends the right to everything that is cached', async () => {
  const { state, get } = cached({ maxAgeMs: 1000, staleIfErrorMs: 60_000 });
  await get('v/a?');
  await get('v/b?');
  state.now = 1000;
  state.failure = ['INVALID_TOKEN', 401];
  await assert.rejects(get('v/a?'), { status: 401 });
  state.failure = ['NO_ANSWER', 0];
  await assert.rejects(get('v/b?'), { code: 'NO_ANSWER' });
});

test('it is bounded by size too', async () => {
  const cache = new ReadCache<string>({ maxAgeMs: 1000 }, (value) => value.length * 1024 * 1024);
  let reads = 0;
  const get = (key: string) => cache.get(key, async () => `${'x'.repeat(30)}${++reads}`);
  for (const key of ['a', 'b', 'c']) await get(key);
  await get('c');
  assert.equal(reads, 3);
  await get('a');
  assert.equal(reads, 4);
});
