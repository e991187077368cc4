import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import type { Condition } from './condition.ts';
import { couldDisclose, couldShow } from './disclosure.ts';
import { isAllowed } from './evaluate.ts';
import { compilePolicy, type PolicyStatement } from './policy.ts';

const ACTIONS = ['secrets:read', 'eso:read'];
const HERE: Condition = { ip_cidr: ['192.0.2.0/24'] };
const DAY: Condition = { time_between: [{ from: '08:00', to: '18:00' }] };

function policyOf(statement: PolicyStatement[]) {
  return [compilePolicy('p', { version: '2026-01-01', statement })];
}

function say(effect: 'allow' | 'deny', at: string, condition: Condition = {}, action = 'secrets:read') {
  return { effect, action: [action], resource: [`vault/v/${at}`], condition };
}

const rows: [text: string, statements: PolicyStatement[], discloses: boolean][] = [
  ['read after, nothing before', [say('allow', 'new')], true],
  ['read on both sides', [say('allow', '*')], false],
  ['read before, nothing after', [say('allow', 'old')], false],
  ['read after from some addresses', [say('allow', 'new', HERE)], true],
  ['read after at some hours', [say('allow', 'new', DAY)], true],
  ['read after with a second factor', [say('allow', 'new', { mfa: [true] })], true],
  ['by another action', [say('allow', 'new', {}, 'eso:read')], true],
  ['by another action than before', [say('allow', 'old'), say('allow', 'new', {}, 'eso:read')], false],
  ['the same condition on both sides', [say('allow', '*', { ...HERE, mfa: [true] })], false],
  ['less is asked after', [say('allow', 'old', { ...HERE, ...DAY }), say('allow', 'new', HERE)], true],
  ['more is asked after', [say('allow', 'old', HERE), say('allow', 'new', { ...HERE, ...DAY })], false],
  ['a deny on both sides, from some addresses', [say('allow', '*'), say('deny', '*', HERE)], false],
  ['a deny before, from some addresses', [say('allow', '*'), say('deny', 'old', HERE)], true],
  ['a deny after, from some addresses', [say('allow', 'new'), say('deny', 'new', HERE)], true],
  ['a deny after, from everywhere', [say('allow', 'new'), say('deny', 'new')], false],
  ['a deny after, from just where it is allowed', [say('allow', 'new', HERE), say('deny', 'new', HERE)], false],
  ['a deny without a second factor on both sides', [say('allow', '*'), say('deny', '*', { mfa: [false] })], false],
  ['a deny without a second factor before', [say('allow', '*'), say('deny', 'old', { mfa: [false] })], true],
  ['a deny for the tag it loses', [say('allow', '*'), say('deny', '*', { tag_equals: ['x'] })], true],
  ['an allow for the tag it loses', [say('allow', '*', { tag_equals: ['x'] })], false],
];

describe('whether a change could show a value', () => {
  const before = { resource: 'vault/v/old', attributes: { environment: 'staging', tags: ['x'] } };
  const after = { resource: 'vault/v/new', attributes: { environment: 'staging', tags: [] } };
  for (const [text, statements, expected] of rows) {
    test(text, () => assert.equal(couldDisclose(policyOf(statements), ACTIONS, before, after), expected));
  }
});

test('whatever the policies and the request: what is shown only after the change could be disclosed by it', () => {
  const condition: fc.Arbitrary<Condition> = fc.record(
    {
      ip_cidr: fc.subarray(['192.0.2.0/24', '192.0.2.7', '198.51.100.0/24'], { minLength: 1 }),
      mfa: fc.subarray([true, false], { minLength: 1 }),
      time_between: fc.constantFrom([{ from: '08:00', to: '18:00' }], [{ from: '17:00', to: '09:00' }]),
      tag_equals: fc.subarray(['x', 'y'], { minLength: 1 }),
    },
    { requiredKeys: [] },
  );
  const statement: fc.Arbitrary<PolicyStatement> = fc.record({
    effect: fc.constantFrom('allow' as const, 'allow' as const, 'deny' as const),
    action: fc.subarray(ACTIONS, { minLength: 1 }),
    resource: fc.subarray(['vault/v/old', 'vault/v/new', 'vault/**'], { minLength: 1 }),
    condition,
  });
  const tags = fc.subarray(['x', 'y']);
  const request = fc.record({
    ip: fc.constantFrom('192.0.2.7', '192.0.2.8', '198.51.100.1', '203.0.113.1', undefined),
    mfa: fc.boolean(),
    time: fc.constantFrom(0, 8, 12, 17, 20).map((hour) => hour * 3_600_000),
  });
  let disclosed = 0;
  const property = fc.property(
    fc.array(statement, { maxLength: 5 }),
    tags,
    tags,
    request,
    (statements, tagsBefore, tagsAfter, requestContext) => {
      const policies = policyOf(statements);
      const before = { resource: 'vault/v/old', attributes: { tags: tagsBefore } };
      const after = { resource: 'vault/v/new', attributes: { tags: tagsAfter } };
      const isShown = ({ resource, attributes }: typeof before) =>
        ACTIONS.some((action) =>
          isAllowed(policies, { action, resource, context: { ...requestContext, ...attributes } }),
        );
      if (!isShown(after) || isShown(before)) return;
      disclosed++;
      assert.ok(couldDisclose(policies, ACTIONS, before, after));
    },
  );
  fc.assert(property, { numRuns: 10_000 });
  assert.ok(disclosed > 200, `${disclosed} of 10000 disclosed something`);
});

describe('what could ever be shown', () => {
  const described = { resource: 'vault/v/a', attributes: { environment: 'staging', tags: ['x'] } };
  const cases: [text: string, statements: PolicyStatement[], isShown: boolean][] = [
    ['nothing', [], false],
    ['allowed', [say('allow', 'a')], true],
    ['allowed elsewhere', [say('allow', 'b')], false],
    ['by another action that shows it', [say('allow', 'a', {}, 'eso:read')], true],
    ['by an action that does not show it', [say('allow', 'a', {}, 'secrets:list')], false],
    ['denied', [say('allow', '*'), say('deny', 'a')], false],
    ['allowed from some addresses', [say('allow', 'a', HERE)], true],
    ['denied from some addresses', [say('allow', 'a'), say('deny', 'a', HERE)], true],
    ['denied just where it is allowed', [say('allow', 'a', HERE), say('deny', 'a', HERE)], false],
    ['with a second factor', [say('allow', 'a', { mfa: [true] })], true],
    ['denied with and without a second factor', [say('allow', 'a'), say('deny', 'a', { mfa: [true, false] })], false],
    ['for another tag', [say('allow', 'a', { tag_equals: ['y'] })], false],
    ['for its tag', [say('allow', 'a', { tag_equals: ['x'] })], true],
    ['denied for its environment', [say('allow', 'a'), say('deny', 'a', { environment: ['staging'] })], false],
  ];
  for (const [text, statements, isShown] of cases) {
    test(text, () => assert.equal(couldShow(policyOf(statements), ACTIONS, described), isShown));
  }

  test('includes whatever is allowed to a request', () => {
    const statement: fc.Arbitrary<PolicyStatement> = fc
      .record({
        effect: fc.constantFrom('allow' as const, 'deny' as const),
        at: fc.constantFrom('a', 'b', '*'),
        condition: fc.constantFrom<Condition>({}, HERE, DAY, { mfa: [true] }, { tag_equals: ['x'] }),
      })
      .map(({ effect, at, condition }) => say(effect, at, condition));
    const requestContext = fc.record({
      ip: fc.constantFrom('192.0.2.1', '203.0.113.1'),
      mfa: fc.boolean(),
      time: fc.constantFrom(0, 12 * 3_600_000),
    });
    fc.assert(
      fc.property(fc.array(statement, { maxLength: 4 }), requestContext, (statements, request) => {
        const policies = policyOf(statements);
        const context = { ...request, ...described.attributes };
        if (isAllowed(policies, { action: 'secrets:read', resource: described.resource, context })) {
          assert.ok(couldShow(policies, ACTIONS, described));
        }
      }),
    );
  });
});
