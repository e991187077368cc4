import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import {
  MAX_INDEXED_ACTIONS,
  MAX_POLICY_STATEMENTS,
  MAX_STATEMENT_ACTIONS,
  MAX_STATEMENT_RESOURCES,
} from './limits.ts';
import { compilePolicy, type PolicyDocument, PolicyError } from './policy.ts';

const STATEMENT = { effect: 'allow', action: ['secrets:read'], resource: ['vault/app/**'] };

/** Documents from outside have no type; the compiler must handle any input. */
function compile(document: unknown) {
  return compilePolicy('p', document as PolicyDocument);
}

function withStatement(change: object) {
  return { version: '2026-01-01', statement: [{ ...STATEMENT, ...change }] };
}

function withCondition(condition: unknown) {
  return withStatement({ condition });
}

const many = (count: number, item: unknown) => Array.from({ length: count }, () => item);

describe('documents that compile', () => {
  const accepted: [string, unknown][] = [
    ['no statements', { version: '2026-01-01', statement: [] }],
    ['another date', { version: '2012-10-17', statement: [] }],
    ['the least', withStatement({})],
    ['a sid', withStatement({ sid: 'Read the app' })],
    ['an empty condition', withCondition({})],
    [
      'all conditions',
      withCondition({
        ip_cidr: ['10.0.0.0/8'],
        environment: ['production'],
        mfa: [true],
        time_between: [{ from: '22:00', to: '06:00' }],
        tag_equals: ['pci'],
      }),
    ],
    ['the most statements', { version: '2026-01-01', statement: many(MAX_POLICY_STATEMENTS, STATEMENT) }],
  ];
  for (const [name, document] of accepted) test(name, () => assert.equal(compile(document).name, 'p'));
});

describe('documents refused, with the place', () => {
  const refused: [name: string, document: unknown, pointer: string][] = [
    ['no object', null, ''],
    ['no date', { version: '1', statement: [] }, '/version'],
    ['a day that there is not', { version: '2026-02-30', statement: [] }, '/version'],
    ['a time', { version: '2026-01-01T00:00:00Z', statement: [] }, '/version'],
    ['a number', { version: 2026, statement: [] }, '/version'],
    ['unknown field', { version: '2026-01-01', statement: [], id: 'x' }, '/id'],
    ['unknown field in a statement', withStatement({ principal: '*' }), '/statement/0/principal'],
    ['unknown condition', withCondition({ ip: ['10.0.0.0/8'] }), '/statement/0/condition/ip'],
    ['another effect', withStatement({ effect: 'Allow' }), '/statement/0/effect'],
    ['no action', withStatement({ action: [] }), '/statement/0/action'],
    ['action as text', withStatement({ action: 'secrets:read' }), '/statement/0/action'],
    ['no resource', withStatement({ resource: [] }), '/statement/0/resource'],
    ['bad action', withStatement({ action: ['*', 'sec*:read'] }), '/statement/0/action/1'],
    ['bad resource', withStatement({ resource: ['*', '*', 'vault/a**'] }), '/statement/0/resource/2'],
    ['trailing slash', withStatement({ resource: ['vault/app/'] }), '/statement/0/resource/0'],
    ['bad range', withCondition({ ip_cidr: ['10.0.0.0/8', '10.0.0.1/8'] }), '/statement/0/condition/ip_cidr/1'],
    ['empty list', withCondition({ ip_cidr: [] }), '/statement/0/condition/ip_cidr'],
    ['unknown environment', withCondition({ environment: ['qa'] }), '/statement/0/condition/environment/0'],
    ['mfa as text', withCondition({ mfa: ['true'] }), '/statement/0/condition/mfa/0'],
    [
      'bad time',
      withCondition({ time_between: [{ from: '24:00', to: '06:00' }] }),
      '/statement/0/condition/time_between/0/from',
    ],
    [
      'empty span',
      withCondition({ time_between: [{ from: '06:00', to: '06:00' }] }),
      '/statement/0/condition/time_between/0',
    ],
    ['too many actions', withStatement({ action: many(MAX_STATEMENT_ACTIONS + 1, '*') }), '/statement/0/action'],
    [
      'too many resources',
      withStatement({ resource: many(MAX_STATEMENT_RESOURCES + 1, '*') }),
      '/statement/0/resource',
    ],
    [
      'too many statements',
      { version: '2026-01-01', statement: many(MAX_POLICY_STATEMENTS + 1, STATEMENT) },
      '/statement',
    ],
    ['too large', withStatement({ resource: many(40, `vault/${'a'.repeat(1_000)}`) }), ''],
  ];
  for (const [name, document, pointer] of refused) {
    test(name, () => {
      assert.throws(
        () => compile(document),
        (error) => error instanceof PolicyError && error.pointer === pointer && error.reason.length > 0,
      );
    });
  }
});

test('arbitrary documents throw nothing but PolicyError', () => {
  const text = fc.string({ unit: fc.constantFrom('*', '/', ':', 'a', '.', '0', '1', '\ud800', '\n'), maxLength: 10 });
  const list = fc.array(text, { maxLength: 3 });
  const condition = fc.record(
    { ip_cidr: list, tag_equals: list, time_between: fc.array(fc.record({ from: text, to: text }), { maxLength: 2 }) },
    { requiredKeys: [] },
  );
  const statement = fc.record(
    { sid: text, effect: fc.constantFrom('allow', 'deny'), action: list, resource: list, condition },
    { requiredKeys: ['effect', 'action', 'resource'] },
  );
  const near = fc.record({ version: fc.constant('2026-01-01'), statement: fc.array(statement, { maxLength: 3 }) });
  fc.assert(
    fc.property(fc.oneof(near, fc.anything()), (document) => {
      try {
        compile(document);
      } catch (error) {
        assert.ok(error instanceof PolicyError, String(error));
      }
    }),
    { numRuns: 3_000 },
  );
});

test('what a policy caches about actions is right however many are checked', () => {
  const policy = compile({
    version: '2026-01-01',
    statement: [STATEMENT, { ...STATEMENT, effect: 'deny', action: ['*:read', 'secrets:*'] }],
  });
  for (let round = 0; round < 3 * MAX_INDEXED_ACTIONS; round++) {
    assert.equal(policy.statementsFor(`noun${round}:read`).deny.length, 1);
    assert.equal(policy.statementsFor(`noun${round}:write`).deny.length, 0);
    // A statement that names an action twice is still one statement.
    assert.equal(policy.statementsFor('secrets:read').deny.length, 1);
    assert.equal(policy.statementsFor('secrets:read').allow.length, 1);
  }
});
