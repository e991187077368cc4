import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pino } from 'pino';
import { MINUTE_MS, SECOND_MS } from '../../base/clock.ts';
import { unavailable } from '../../base/errors.ts';
import { Metrics } from '../../observability/metrics.ts';
import type { PostgresDatabase } from '../../storage/postgres.ts';
import { StuckLogs } from './stuck-logs.ts';

/** A log whose head this node finds locked in each round. */
function begin() {
  const said: string[] = [];
  const head = { seq: 1 };
  const query = {
    select: () => query,
    where: () => query,
    executeTakeFirst: async () => head,
  };
  const database = { read: { selectFrom: () => query } } as unknown as PostgresDatabase;
  const time = { elapsed: 0 };
  const log = pino({ level: 'error' }, { write: (line) => void said.push(line) });
  const stuck = new StuckLogs({ database, elapsed: () => time.elapsed, log, metrics: new Metrics() });
  const round = async (work: () => Promise<true | null>) => {
    time.elapsed += SECOND_MS;
    return stuck.unlessStuck('t', work);
  };
  return { said, head, time, round };
}

const LOCKED = async () => null;

test('a head that another node locks in each round is not stuck while it moves', async () => {
  const { said, head, round } = begin();
  for (let i = 0; i < 600; i++) {
    if (i % 30 === 0) head.seq++;
    await round(LOCKED);
  }
  assert.deepEqual(said, []);
});

test('a head that was locked twice, with a pause in between, is not stuck', async () => {
  const { said, time, round } = begin();
  await round(LOCKED);
  time.elapsed += 10 * MINUTE_MS;
  await round(LOCKED);
  assert.deepEqual(said, []);
});

test('a head that is locked for a minute is reported once, and as a lock', async () => {
  const { said, round } = begin();
  for (let i = 0; i < 120; i++) await round(LOCKED);
  assert.equal(said.length, 1);
  assert.match(String(said[0]), /holds a lock on this tenant/);
  assert.doesNotMatch(String(said[0]), /edited/);
});

test('rows that cannot be linked are reported as edited, and a database that is away is not', async () => {
  const { said, round } = begin();
  for (let i = 0; i < 120; i++) await assert.rejects(round(async () => Promise.reject(unavailable('away'))));
  assert.deepEqual(said, []);
  for (let i = 0; i < 120; i++) await round(async () => Promise.reject(new Error('no key')));
  assert.equal(said.length, 1);
  assert.match(String(said[0]), /has edited this tenant/);
});
