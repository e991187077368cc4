import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Activity, IdleWait } from './activity.ts';

const FOREVER_MS = 2 ** 30;

test('a loop that waits is woken by what happens, also by what happened before it waited', async () => {
  const activity = new Activity();
  const { count } = activity;
  const waiting = activity.since(count, FOREVER_MS);
  activity.happened();
  await waiting;
  await activity.since(count, FOREVER_MS);
});

test('a wait ends with its time and with its signal', async () => {
  const activity = new Activity();
  await activity.since(activity.count, 1);
  const stopping = new AbortController();
  const waiting = activity.since(activity.count, FOREVER_MS, stopping.signal);
  stopping.abort();
  await waiting;
  await activity.since(activity.count, FOREVER_MS, stopping.signal);
});

test('waits double while nothing happens, up to a bound, and start over', () => {
  const wait = new IdleWait(1000, 8000);
  assert.deepEqual(
    [true, true, true, true, false, true].map((isIdle) => wait.next(isIdle)),
    [2000, 4000, 8000, 8000, 1000, 2000],
  );
});
