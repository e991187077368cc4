import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { resource, segment } from '../../../../test/support/policy-patterns.ts';
import { atOnce } from '../fairness/time-slice.ts';
import { isDeniedWithin } from './denial.ts';
import { evaluate } from './evaluate.ts';
import { pathScope } from './path-scope.ts';
import { compileActionPattern } from './pattern.ts';
import { compilePolicy, type PolicyStatement } from './policy.ts';

const denial: fc.Arbitrary<PolicyStatement> = fc.record(
  {
    effect: fc.constant('deny' as const),
    action: fc.constantFrom(['*'], ['secrets:read'], ['secrets:list']),
    resource: fc.array(resource, { minLength: 1, maxLength: 2 }),
    condition: fc.constant({ tag_equals: ['x'] }),
  },
  { requiredKeys: ['effect', 'action', 'resource'] },
);
const path = fc.array(fc.constantFrom('a', 'b', 'ab', 'a-b'), { minLength: 1, maxLength: 3 }).map((p) => p.join('/'));

const allowedPaths = fc.array(
  fc.oneof(
    path,
    fc.array(segment, { minLength: 1, maxLength: 3 }).map((parts) => parts.join('/')),
  ),
  { maxLength: 3 },
);
const scope = fc.constantFrom('secrets:read', 'secrets:list', 'secrets:*', 'eso:read');
const denials = fc.array(denial, { maxLength: 3 });

function isAnyDenied(statements: readonly PolicyStatement[], given: string, paths: readonly string[]): boolean {
  const policies = [compilePolicy('p', { version: '2026-01-01', statement: [...statements] })];
  const places = pathScope(new Set(['app']), paths, '');
  return atOnce(isDeniedWithin(policies, compileActionPattern(given), ['app'], places));
}

function isDenied(statements: readonly PolicyStatement[], action: string, resource: string): boolean {
  const policies = [compilePolicy('p', { version: '2026-01-01', statement: [...statements] })];
  const { reason } = evaluate(policies, { action, resource, context: { time: 0, tags: ['x'] } });
  return reason === 'explicit_deny';
}

test('places where a deny can hold on a path never count as free of it', () => {
  fc.assert(
    fc.property(denials, scope, allowedPaths, path, (statements, given, paths, at) => {
      const resource = `vault/app/${at}`;
      if (!pathScope(new Set(['app']), paths, '').matches(resource)) return;
      const pattern = compileActionPattern(given);
      const actions = ['secrets:read', 'secrets:list', 'eso:read'].filter((action) => pattern.matches(action));
      if (actions.some((action) => isDenied(statements, action, resource)))
        assert.ok(isAnyDenied(statements, given, paths));
    }),
    { numRuns: 5000 },
  );
});

test('of single paths it is told exactly whether they, or their vault, are denied', () => {
  fc.assert(
    fc.property(denials, fc.uniqueArray(path, { maxLength: 3 }), (statements, paths) => {
      const resources = ['vault/app', ...paths.map((one) => `vault/app/${one}`)];
      const expected = resources.some((resource) => isDenied(statements, 'secrets:read', resource));
      assert.equal(isAnyDenied(statements, 'secrets:read', paths), expected);
    }),
    { numRuns: 5000 },
  );
});

test('a deny of one path touches the places that hold it, and no others', () => {
  const deny = (action: string, resource: string): PolicyStatement[] => [
    { effect: 'deny', action: [action], resource: [resource] },
  ];
  const rows: [action: string, resource: string, given: string, paths: string[], expected: boolean][] = [
    ['secrets:read', 'vault/app/z', 'secrets:read', ['*'], true],
    ['secrets:read', 'vault/app/z', 'secrets:*', ['**'], true],
    ['*:read', 'vault/app/z', 'secrets:*', ['*'], true],
    ['*', 'vault/app/z', 'secrets:read', ['z'], true],
    ['secrets:list', 'vault/app/z', 'secrets:read', ['*'], false],
    ['eso:*', 'vault/app/z', 'secrets:*', ['*'], false],
    ['secrets:read', 'vault/app/z', 'secrets:read', ['a/*', 'zz'], false],
    ['secrets:read', 'vault/app/z', 'secrets:read', ['*/z', 'z/*'], false],
    ['secrets:read', 'vault/app/prod/**', 'secrets:read', ['*/key'], true],
    ['secrets:read', 'vault/other/z', 'secrets:read', ['*'], false],
    ['secrets:read', '**/z', 'secrets:read', ['a', 'b/*'], true],
    ['secrets:read', '**/z', 'secrets:read', ['a', 'b/c'], false],
    ['secrets:export', 'vault/app', 'secrets:export', ['a'], true],
    ['secrets:read', 'vault/app/z', 'secrets:read', [], false],
  ];
  for (const [action, resource, given, paths, expected] of rows) {
    const text = `${action} on ${resource}, ${given} in ${paths}`;
    assert.equal(isAnyDenied(deny(action, resource), given, paths), expected, text);
  }
});
