import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { bestMatches } from '../../console/src/shell/matching.ts';

describe('what is found for terms that are typed', () => {
  const found = (typed: string, ...names: string[]) =>
    bestMatches(
      names.map((name) => ({ name, searched: [name.toLowerCase()] })),
      typed.split(' '),
    ).map(({ name }) => name);

  test('abbreviations of terms are found', () => {
    assert.deepEqual(found('db url', 'DATABASE_URL', 'DATABASE_USER', 'API_URL'), ['DATABASE_URL']);
    assert.deepEqual(found('url db', 'DATABASE_URL'), ['DATABASE_URL'], 'in any order');
    assert.deepEqual(found('pwd', 'mail/password', 'mail/user'), ['mail/password']);
    assert.deepEqual(found('tb', 'DATABASE_URL'), [], 'the first letter begins a word');
    assert.deepEqual(found('bd', 'DATABASE_URL'), [], 'letters in their order');
    assert.deepEqual(found('aa', 'a'), []);
  });

  test('exact names come first, then beginnings, starts of terms, parts, and abbreviations', () => {
    const ranked = ['api', 'api_key', 'mail/api', 'rapid', 'a/pilot-x/i'];
    assert.deepEqual(found('api', ...ranked.toReversed()), ranked);
    assert.deepEqual(found('api', 'x/rapid/api', 'y/rapid'), ['x/rapid/api', 'y/rapid'], 'its best place counts');
    assert.deepEqual(found('api', 'b/api', 'a/api'), ['b/api', 'a/api'], 'what fits alike stays in its order');
  });

  test('the best of several names counts', () => {
    const people = [
      { id: 1, searched: ['zed@example.com', 'ann'] },
      { id: 2, searched: ['ann@example.com', 'zed'] },
    ];
    assert.deepEqual(
      bestMatches(people, ['ann']).map(({ id }) => id),
      [1, 2],
    );
  });

  test('nothing that was typed finds everything', () => {
    assert.deepEqual(bestMatches([{ searched: ['a'] }], []), [{ searched: ['a'] }]);
  });
});
