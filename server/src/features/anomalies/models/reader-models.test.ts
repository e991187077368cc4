import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DAY_MS } from '../../../kernel/base/clock.ts';
import type { ModelMode } from './access-models.ts';
import { judgeReader, ReaderHistories, type ReaderHistory } from './reader-models.ts';
import { actorKey, emptyHistory, periodUntil } from './resource-history.ts';

const period = periodUntil(20_000 * DAY_MS);
const LAST = (period.to - period.from) / DAY_MS - 1;

/** Readers of secrets, each with the days on which they read it. */
function readers(...reads: [resource: string, actor: string, ...days: number[]][]): Map<string, ReaderHistory> {
  const all = new ReaderHistories(period);
  for (const [resource, actor, ...days] of reads) {
    const history = emptyHistory(resource, period);
    history.readDays.set(
      actor,
      days.reduce((mask, day) => mask | (1 << day), 0),
    );
    all.add(history);
  }
  return new Map([...all].map((reader) => [actorKey(reader.kind, reader.id), reader]));
}

test('a secret is new to an actor on the first day only, no matter who else reads it', () => {
  const found = readers(
    ['vault/a/1', 'user user_1', 0, 5, LAST],
    ['vault/a/2', 'user user_1', LAST],
    ['vault/a/2', 'app_connection client_1', 3],
    ['vault/a/3', ' ', LAST],
    ['vault/a/4', 'system job', LAST],
  );
  assert.deepEqual([...found.keys()], ['user user_1', 'app_connection client_1'], 'only people and connections');
  const ofUser = found.get('user user_1');
  assert.deepEqual([ofUser?.fresh[0], ofUser?.fresh[5], ofUser?.fresh[LAST]], [1, 0, 1]);
  assert.deepEqual([ofUser?.secrets[5], ofUser?.secrets[LAST]], [1, 2]);
  assert.deepEqual(ofUser?.freshNames, ['vault/a/2']);
});

function verdictOf(mode: ModelMode, kind: string, usual: number, freshToday: number, sinceDay = 0, threshold?: number) {
  const fresh = new Float64Array(LAST + 1).fill(usual);
  const reader = { kind, id: 'x', fresh, secrets: fresh.map((count) => count + 3), freshNames: [] };
  reader.secrets[LAST] = freshToday + 3;
  return judgeReader(mode, reader, { sinceDay, freshToday }, threshold);
}

test('v2 notices fewer new secrets than v1, and fewer of a program than of a person', () => {
  const isUnusual = (mode: ModelMode, kind: string, fresh: number) => verdictOf(mode, kind, 0, fresh)?.isUnusual;
  assert.deepEqual(
    [10, 11, 21].map((fresh) => isUnusual('v2', 'user', fresh)),
    [false, true, true],
  );
  assert.deepEqual(
    [4, 5, 21].map((fresh) => isUnusual('v2', 'app_connection', fresh)),
    [false, true, true],
  );
  assert.deepEqual(
    [11, 20, 21].map((fresh) => isUnusual('v1', 'user', fresh)),
    [false, false, true],
  );
  assert.deepEqual(
    [11, 20, 21].map((fresh) => isUnusual('shadow', 'user', fresh)),
    [false, false, true],
  );
  assert.equal(verdictOf('shadow', 'user', 0, 11)?.votes.v2, true, 'shadow records what v2 would have said');
});

test('who always reads new secrets is not unusual', () => {
  for (const mode of ['v1', 'v2', 'ensemble'] as const) assert.equal(verdictOf(mode, 'user', 30, 35)?.isUnusual, false);
});

test('where v1 and v2 differ, the forest decides', () => {
  const verdict = verdictOf('ensemble', 'user', 0, 15);
  assert.deepEqual([verdict?.votes.v1, verdict?.votes.v2], [false, true]);
  assert.equal(verdict?.isUnusual, verdict?.votes.forest);
  assert.equal(verdictOf('ensemble', 'user', 0, 30)?.votes.forest, null, 'it is not asked where they agree');
});

test('a short history says nothing, and a tenant’s threshold replaces the default', () => {
  assert.equal(verdictOf('v2', 'user', 0, 100, LAST - 16), null);
  assert.equal(verdictOf('v2', 'user', 0, 100, LAST - 17)?.isUnusual, true);
  assert.equal(verdictOf('v2', 'user', 0, 11, 0, 10)?.isUnusual, false);
});
