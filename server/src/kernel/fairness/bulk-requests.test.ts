import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type BulkRequest, BulkRequests } from './bulk-requests.ts';

const PER_TENANT = 8;

async function* pieces(): AsyncGenerator<string> {
  yield 'one';
  yield 'two';
}

/** Starts as many requests as one tenant may have, and returns whether one more is admitted after `act`. */
async function getsInAfter(act: (one: BulkRequest) => unknown): Promise<boolean> {
  const requests = new BulkRequests();
  const all = await Promise.all(Array.from({ length: PER_TENANT }, () => requests.enter('a')));
  let isIn = false;
  const waiting = requests.enter('a').then((request) => {
    isIn = true;
    return request;
  });
  await sleep(1);
  assert.equal(isIn, false, 'it did not wait');
  await act(all[0] as BulkRequest);
  await sleep(1);
  const result = isIn;
  for (const one of all.slice(1)) one.handled();
  (await waiting).handled();
  return result;
}

test('a request ends with its handler', async () => {
  assert.equal(await getsInAfter((request) => request.handled()), true);
});

test('one whose answer is a stream ends with the stream', async () => {
  const isIn = await getsInAfter(async (request) => {
    const stream = request.until(pieces());
    request.handled();
    for await (const _ of stream);
  });
  assert.equal(isIn, true);
  assert.equal(
    await getsInAfter(async (request) => {
      const iterator = request.until(pieces())[Symbol.asyncIterator]();
      request.handled();
      await iterator.next();
    }),
    false,
  );
});

test('a stream that fails, or that is left before its end, has ended', async () => {
  const left = await getsInAfter(async (request) => {
    for await (const _ of request.until(pieces())) break;
  });
  assert.equal(left, true);
  const failed = await getsInAfter(async (request) => {
    // biome-ignore lint/correctness/useYield: it throws before it yields anything
    const failing = (async function* (): AsyncGenerator<string> {
      throw new Error('no');
    })();
    await assert.rejects(Array.fromAsync(request.until(failing)), /no/);
  });
  assert.equal(failed, true);
});

test('however often a request is told to end, it gives one slot back', async () => {
  const requests = new BulkRequests();
  const all = await Promise.all(Array.from({ length: PER_TENANT }, () => requests.enter('a')));
  for (let i = 0; i < 3; i++) all[0]?.handled();
  all.push(await requests.enter('a'));
  let isIn = false;
  const waiting = requests.enter('a').then((request) => {
    isIn = true;
    return request;
  });
  await sleep(1);
  assert.equal(isIn, false);
  for (const one of all) one.handled();
  (await waiting).handled();
});
