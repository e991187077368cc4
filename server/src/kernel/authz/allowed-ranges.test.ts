import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { resource } from '../../../../test/support/policy-patterns.ts';
import {
  allowedRangesInVault,
  possibleRanges,
  rangesOfEverySecret,
  touchesVault,
  vaultsByName,
} from './allowed-ranges.ts';
import { isAllowed } from './evaluate.ts';
import { MAX_PRINCIPAL_COST } from './limits.ts';
import { ALL_PATHS } from './path-ranges.ts';
import { compileResourcePattern } from './pattern.ts';
import { type CompiledPolicy, compilePolicy, type PolicyStatement } from './policy.ts';
import { rolePolicies } from './roles.ts';
import { membershipPolicy, vaultRoleIn } from './vault-roles.ts';

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
      const { ranges } = compileResourcePattern(text).rangesIn('app');
      const has = (at: string) => ranges.some(({ from, to }) => from <= at && at < to);
      for (const at of reached) assert.ok(has(at), `reaches ${at}`);
      for (const at of missed) assert.ok(!has(at), `does not reach ${at}`);
    });
  }
});

const statement: fc.Arbitrary<PolicyStatement> = fc.record(
  {
    effect: fc.constantFrom('allow' as const, 'deny' as const),
    action: fc.constantFrom(['*'], ['secrets:read'], ['secrets:list']),
    resource: fc.array(resource, { minLength: 1, maxLength: 2 }),
    condition: fc.record(
      {
        tag_equals: fc.constant(['x']),
        ip_cidr: fc.constantFrom(['192.0.2.0/24'], ['192.0.2.7', '198.51.100.0/24']),
        mfa: fc.constantFrom([true], [false]),
        time_between: fc.constantFrom([{ from: '08:00', to: '18:00' }], [{ from: '17:00', to: '09:00' }]),
      },
      { requiredKeys: [] },
    ),
  },
  { requiredKeys: ['effect', 'action', 'resource'] },
);
const path = fc.array(fc.constantFrom('a', 'b', 'ab', 'a-b'), { minLength: 1, maxLength: 3 }).map((p) => p.join('/'));

/** What is known about a request before anything is loaded for it; the address may be missing. */
const request = fc.record({
  ip: fc.constantFrom('192.0.2.7', '192.0.2.8', '198.51.100.1', '203.0.113.1', undefined),
  mfa: fc.boolean(),
  time: fc.constantFrom(0, 8, 12, 17, 20).map((hour) => hour * 3_600_000),
});
const isIn = (ranges: ReturnType<typeof allowedRangesInVault>, at: string) =>
  ranges.some(({ from, to }) => from <= at && at < to);

test('no path that is allowed lies outside the reach, whatever the policies', () => {
  fc.assert(
    fc.property(
      fc.array(statement, { maxLength: 4 }),
      path,
      fc.boolean(),
      request,
      (statements, at, isTagged, requestContext) => {
        const policies = [compilePolicy('p', { version: '2026-01-01', statement: statements })];
        const context = { ...requestContext, tags: isTagged ? ['x'] : [] };
        if (!isAllowed(policies, { action: 'secrets:read', resource: `vault/app/${at}`, context })) return;
        assert.ok(isIn(allowedRangesInVault(policies, 'secrets:read', 'app', requestContext), at));
      },
    ),
    { numRuns: 5000 },
  );
});

test('whatever any request is allowed lies in the ranges that are possible', () => {
  fc.assert(
    fc.property(
      fc.array(statement, { maxLength: 4 }),
      path,
      fc.boolean(),
      request,
      (statements, at, isTagged, requestContext) => {
        const policies = [compilePolicy('p', { version: '2026-01-01', statement: statements })];
        const context = { ...requestContext, tags: isTagged ? ['x'] : [] };
        if (!isAllowed(policies, { action: 'secrets:read', resource: `vault/app/${at}`, context })) return;
        assert.ok(isIn(possibleRanges(policies, 'secrets:read', 'app'), at));
      },
    ),
    { numRuns: 5000 },
  );
});

describe('where every secret is allowed, whatever its tags and environment', () => {
  const conditional = statement.chain((one) =>
    fc
      .constantFrom<string[] | undefined>(undefined, ['production'], ['staging', 'dev'])
      .map(
        (environment): PolicyStatement =>
          environment === undefined ? one : { ...one, condition: { ...one.condition, environment } },
      ),
  );

  test('each of them is, as it would be decided on', () => {
    let decided = 0;
    fc.assert(
      fc.property(
        fc.array(conditional, { maxLength: 4 }),
        path,
        fc.record({ tags: fc.constantFrom([], ['x']), environment: fc.constantFrom('production', 'development') }),
        request,
        (statements, at, attributes, requestContext) => {
          const policies = [compilePolicy('p', { version: '2026-01-01', statement: statements })];
          if (!isIn(rangesOfEverySecret(policies, 'secrets:read', 'app', requestContext), at)) return;
          decided++;
          const context = { ...requestContext, ...attributes };
          assert.ok(isAllowed(policies, { action: 'secrets:read', resource: `vault/app/${at}`, context }));
        },
      ),
      { numRuns: 10_000 },
    );
    assert.ok(decided > 100, 'few paths lie in the ranges');
  });

  const one = (statements: PolicyStatement[]) => [compilePolicy('p', { version: '2026-01-01', statement: statements })];
  const read = (effect: 'allow' | 'deny', at: string, condition?: PolicyStatement['condition']): PolicyStatement => ({
    effect,
    action: ['secrets:read'],
    resource: [at],
    ...(condition === undefined ? {} : { condition }),
  });
  const everywhere = read('allow', 'vault/**');
  const cases: [what: string, statements: PolicyStatement[], where: unknown][] = [
    ['everywhere', [everywhere], [ALL_PATHS]],
    ['nowhere without an allow', [], []],
    ['nowhere by a tag', [read('allow', 'vault/**', { tag_equals: ['x'] })], []],
    ['nowhere by a pattern that does not cover its range', [read('allow', 'vault/app/a*/b')], []],
    ['nowhere where a tag may deny', [everywhere, read('deny', 'vault/**', { tag_equals: ['x'] })], []],
    ['everywhere if a deny is for others', [everywhere, read('deny', 'vault/**', { mfa: [true] })], [ALL_PATHS]],
    ['everywhere if a deny is of another vault', [everywhere, read('deny', 'vault/web/**')], [ALL_PATHS]],
  ];
  for (const [what, statements, where] of cases) {
    test(what, () => {
      assert.deepEqual(rangesOfEverySecret(one(statements), 'secrets:read', 'app', { time: 0, mfa: false }), where);
    });
  }

  test('not around what some deny may match', () => {
    const ranges = rangesOfEverySecret(one([everywhere, read('deny', 'vault/app/a*/b')]), 'secrets:read', 'app', {
      time: 0,
    });
    const at = ['a1/b', 'a1/c', 'b'].map((place) => isIn(ranges, place));
    assert.deepEqual(at, [false, false, true]);
  });

  test('nowhere by policies that cost too much for a decision', () => {
    const policy = { ...one([everywhere])[0], cost: MAX_PRINCIPAL_COST + 1 } as CompiledPolicy;
    assert.deepEqual(rangesOfEverySecret([policy], 'secrets:read', 'app', { time: 0 }), []);
  });
});

test('where nothing asks about the secret and every pattern is plain, the reach is exactly what is allowed', () => {
  const plain: fc.Arbitrary<PolicyStatement> = fc.record(
    {
      effect: fc.constantFrom('allow' as const, 'deny' as const),
      action: fc.constant(['secrets:read']),
      resource: fc.uniqueArray(fc.constantFrom('vault/app/a/*', 'vault/app/**', 'vault/app/b', 'vault/*'), {
        minLength: 1,
      }),
      condition: fc.record(
        { ip_cidr: fc.constant(['192.0.2.0/24']), mfa: fc.constantFrom([true], [false]) },
        { requiredKeys: [] },
      ),
    },
    { requiredKeys: ['effect', 'action', 'resource'] },
  );
  fc.assert(
    fc.property(fc.array(plain, { maxLength: 4 }), path, request, (statements, at, context) => {
      const policies = [compilePolicy('p', { version: '2026-01-01', statement: statements })];
      const isReached = isIn(allowedRangesInVault(policies, 'secrets:read', 'app', context), at);
      assert.equal(isReached, isAllowed(policies, { action: 'secrets:read', resource: `vault/app/${at}`, context }));
    }),
    { numRuns: 5000 },
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
      assert.equal(isIn(names, at), isAllowed(policies, { action: 'secrets:read', resource: `vault/${at}`, context }));
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
  const ranges = allowedRangesInVault(policies, 'secrets:read', 'app', { time: 0 });
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
  const requestContext: [string, string, boolean][] = [
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
  for (const [action, at, expected] of requestContext) assert.equal(may(action, at), expected, `${action} on ${at}`);
  assert.equal(allowedRangesInVault(policies, 'secrets:read', 'app', { time: 0 }).length, 1);
  assert.equal(allowedRangesInVault(policies, 'secrets:read', 'none', { time: 0 }).length, 0);
});

test('the role in a vault is the highest of all memberships', () => {
  const policies = [
    membershipPolicy([
      { vault: 'app', role: 'reader' },
      { vault: 'app', role: 'writer' },
      { vault: 'web', role: 'reader' },
    ]),
  ];
  const found = ['app', 'web', 'ap', 'App'].map((vault) => vaultRoleIn(policies, vault));
  assert.deepEqual(found, ['writer', 'reader', null, null]);
  assert.equal(vaultRoleIn(rolePolicies('owner'), 'app'), null);
});
