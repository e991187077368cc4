import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { isAllowed } from './evaluate.ts';
import { compileResourcePattern } from './pattern.ts';
import { compilePolicy, type PolicyStatement } from './policy.ts';
import { reachInVault, touchesVault, vaultsByName } from './reach.ts';
import { membershipPolicy } from './vault-roles.ts';

const rows: [pattern: string, reached: string[], missed: string[]][] = [
  ['*', ['a', 'a/b'], []],
  ['**', ['a', 'a/b'], []],
  ['vault/*', ['a', 'a/b'], []],
  ['vault/**', ['a', 'a/b'], []],
  ['vault/app/**', ['a', 'a/b'], []],
  ['vault/app/*', ['a', 'a/b'], []],
  ['vault/app', [], ['a', 'a/b']],
  ['vault', [], ['a']],
  ['vault/other/**', [], ['a']],
  ['vault/a*/x/*', ['x/1', 'x/1/2'], ['x', 'y/1', 'x-1']],
  ['vault/app/x/**', ['x', 'x/1', 'x/1/2'], ['x-1', 'x.1', 'xy', 'y']],
  ['vault/app/x', ['x'], ['x/1', 'x-', 'w']],
  ['vault/app/x*/y', ['x1/y', 'xx/y'], ['y/y', 'w']],
  ['*/app/x/*', ['x/1'], ['y/1']],
  ['**/secret', ['secret', 'a/secret'], []],
  ['policy/app/**', [], ['a']],
];

describe('where in a vault a pattern can match', () => {
  for (const [text, reached, missed] of rows) {
    test(text, () => {
      const { ranges } = compileResourcePattern(text).reach('app');
      const has = (at: string) => ranges.some(({ from, to }) => from <= at && at < to);
      for (const at of reached) assert.ok(has(at), `reaches ${at}`);
      for (const at of missed) assert.ok(!has(at), `does not reach ${at}`);
    });
  }
});

const segment = fc.constantFrom('a', 'b', 'a*', '*', '**', 'ab');
const resource = fc.oneof(
  fc.constantFrom('*', '**', 'vault/*', 'vault/app', 'vault/**'),
  fc
    .tuple(
      fc.constantFrom('vault', '*', '**'),
      fc.constantFrom('app', 'a*', '*', '**', 'other'),
      fc.array(segment, { maxLength: 3 }),
    )
    .map(([first, second, rest]) => [first, second, ...rest].join('/')),
);
const statement: fc.Arbitrary<PolicyStatement> = fc.record(
  {
    effect: fc.constantFrom('allow' as const, 'deny' as const),
    action: fc.constantFrom(['*'], ['secrets:read'], ['secrets:list']),
    resource: fc.array(resource, { minLength: 1, maxLength: 2 }),
    condition: fc.constant({ tag_equals: ['x'] }),
  },
  { requiredKeys: ['effect', 'action', 'resource'] },
);
const path = fc.array(fc.constantFrom('a', 'b', 'ab', 'a-b'), { minLength: 1, maxLength: 3 }).map((p) => p.join('/'));

test('no path that is allowed lies outside the reach, whatever the policies', () => {
  fc.assert(
    fc.property(fc.array(statement, { maxLength: 4 }), path, fc.boolean(), (statements, at, isTagged) => {
      const policies = [compilePolicy('p', { version: '2026-01-01', statement: statements })];
      const context = { time: 0, tags: isTagged ? ['x'] : [] };
      if (!isAllowed(policies, { action: 'secrets:read', resource: `vault/app/${at}`, context })) return;
      const ranges = reachInVault(policies, 'secrets:read', 'app');
      assert.ok(ranges.some(({ from, to }) => from <= at && at < to));
    }),
    { numRuns: 2000 },
  );
});

test('where names alone decide, they decide as each vault would be decided on', () => {
  const name = fc.constantFrom('app', 'a', 'apple', 'b', 'other', 'vault');
  fc.assert(
    fc.property(fc.array(statement, { maxLength: 4 }), name, fc.boolean(), (statements, at, isTagged) => {
      const policies = [compilePolicy('p', { version: '2026-01-01', statement: statements })];
      const names = vaultsByName(policies, 'secrets:read');
      if (names === null) return;
      const context = { time: 0, tags: isTagged ? ['x'] : [] };
      const isIn = names.some(({ from, to }) => from <= at && at < to);
      assert.equal(isIn, isAllowed(policies, { action: 'secrets:read', resource: `vault/${at}`, context }));
    }),
    { numRuns: 5000 },
  );
});

test('what a deny without conditions covers is not reached', () => {
  const policies = [
    compilePolicy('p', {
      version: '2026-01-01',
      statement: [
        { effect: 'allow', action: ['*'], resource: ['*'] },
        { effect: 'deny', action: ['secrets:read'], resource: ['vault/app/hidden/**'] },
      ],
    }),
  ];
  const ranges = reachInVault(policies, 'secrets:read', 'app');
  const has = (at: string) => ranges.some(({ from, to }) => from <= at && at < to);
  assert.deepEqual(['hidden', 'hidden/1', 'hidden-not', 'a', 'z'].map(has), [false, false, true, true, true]);
});

test('a policy touches a vault if it speaks of it or of what is in it', () => {
  const policy = (text: string) =>
    compilePolicy('p', { version: '2026-01-01', statement: [{ effect: 'deny', action: ['*'], resource: [text] }] });
  for (const text of ['*', 'vault/app', 'vault/app/x', 'vault/a*/**', 'vault/*'])
    assert.ok(touchesVault(policy(text), 'app'), text);
  for (const text of ['vault', 'vault/apps', 'vault/b*/**', 'audit', 'policy/app'])
    assert.ok(!touchesVault(policy(text), 'app'), text);
});

test('memberships allow by role, in their vaults alone', () => {
  const policies = [
    membershipPolicy([
      { vault: 'app', role: 'reader' },
      { vault: 'web', role: 'writer' },
      { vault: 'own', role: 'manager' },
    ]),
  ];
  const may = (action: string, at: string) => isAllowed(policies, { action, resource: at, context: { time: 0 } });
  const asked: [string, string, boolean][] = [
    ['secrets:read', 'vault/app/x/y', true],
    ['vaults:read', 'vault/app', true],
    ['secrets:update', 'vault/app/x', false],
    ['secrets:update', 'vault/web/x', true],
    ['members:add', 'vault/web', false],
    ['members:add', 'vault/own', true],
    ['vaults:delete', 'vault/own', true],
    ['secrets:read', 'vault/application/x', false],
    ['secrets:read', 'vault/app/../web/x', false],
    ['secrets:read', 'vault/App/x', false],
    ['policies:attach', 'policy/app', false],
    ['vaults:create', 'vault/own', false],
  ];
  for (const [action, at, expected] of asked) assert.equal(may(action, at), expected, `${action} on ${at}`);
  assert.equal(reachInVault(policies, 'secrets:read', 'app').length, 1);
  assert.equal(reachInVault(policies, 'secrets:read', 'none').length, 0);
});
