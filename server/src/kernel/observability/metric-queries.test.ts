import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MetricQueries } from './metric-queries.ts';

test('one query that fails leaves the others alone, and is named until it succeeds', async () => {
  const queries = new MetricQueries();
  const broken = queries.read('cv_broken', () => Promise.reject(new Error('no such table')));
  const found = queries.read('cv_found', async () => 7);
  assert.deepEqual(await queries.failed(), ['cv_broken']);
  assert.deepEqual([await broken, await found], [null, 7]);
  assert.equal(await queries.read('cv_broken', async () => 1), 1);
  assert.deepEqual(await queries.failed(), []);
});

test('a query that hangs is not waited for, and runs once', async () => {
  const queries = new MetricQueries(5);
  const { promise, resolve } = Promise.withResolvers<number>();
  let runs = 0;
  const hang = () => {
    runs++;
    return promise;
  };
  assert.equal(await queries.read('cv_locked', hang), null);
  assert.equal(await queries.read('cv_locked', hang), null);
  assert.deepEqual([runs, await queries.failed()], [1, ['cv_locked']]);
  resolve(3);
  await promise;
  assert.equal(await queries.read('cv_locked', async () => 4), 4);
});

test('a query that fails after nobody waits for it does no harm', async () => {
  const queries = new MetricQueries(1);
  const { promise, reject } = Promise.withResolvers<number>();
  assert.equal(await queries.read('cv_late', () => promise), null);
  reject(new Error('the connection was lost'));
  await assert.rejects(promise);
  assert.equal(await queries.read('cv_late', async () => 1), 1);
});

test('what failed is known only after queries that start in the same turn', async () => {
  const queries = new MetricQueries();
  const failed = queries.failed();
  const broken = queries.read('cv_registered_later', () => Promise.reject(new Error('no')));
  assert.deepEqual([await failed, await broken], [['cv_registered_later'], null]);
});
