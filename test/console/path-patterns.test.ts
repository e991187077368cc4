import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { matchesPath, suggestedPatterns } from '../../console/src/connections/path-patterns.ts';
import { pathScope } from '../../server/src/kernel/authz/path-scope.ts';

const segment = fc.stringMatching(/^[ab]{1,3}$/);
const wild = fc.oneof(segment, fc.constantFrom('*', '**', 'a*', '*b', 'a*b', 'a*a*b', '*a*'));
const joined = (parts: readonly string[]) => parts.join('/');

test('the console counts the secrets that the service would allow', () => {
  const paths = fc.array(segment, { minLength: 1, maxLength: 4 }).map(joined);
  const patterns = fc.array(wild, { minLength: 1, maxLength: 4 }).map(joined);
  let matches = 0;
  fc.assert(
    fc.property(patterns, paths, (pattern, path) => {
      const allowed = pathScope(new Set(['shop']), [pattern], '/allowed_paths').matches(`vault/shop/${path}`);
      if (allowed) matches++;
      assert.equal(matchesPath(pattern, path), allowed, `${pattern} ${path}`);
    }),
    { numRuns: 5_000 },
  );
  assert.ok(matches > 100, 'some of them match');
});

test('folders and paths are suggested by what is typed', () => {
  const paths = ['db/main', 'db/replica/one', 'mail'];
  assert.deepEqual(suggestedPatterns(paths, '', 10), ['db/*', 'db/replica/*', 'db/main', 'db/replica/one', 'mail']);
  assert.deepEqual(suggestedPatterns(paths, 'rep', 10), ['db/replica/*', 'db/replica/one']);
  assert.deepEqual(suggestedPatterns(paths, 'mail', 10), []);
  assert.equal(suggestedPatterns(paths, '', 2).length, 2);
});
