import assert from 'node:assert/strict';
import { test } from 'node:test';
import Type from 'typebox';
import { object } from '../wire/wire.ts';
import { type EndpointDeclaration, endpoint, errorCodes, NONE } from './declaration.ts';

const good: EndpointDeclaration = {
  name: 'readThing',
  method: 'GET',
  path: '/v1/things/{thing_id}',
  summary: 'Read a thing',
  noun: 'things',
  credentials: ['pat'],
  tenant: 'own',
  permission: 'things:read',
  resource: 'thing/{thing_id}',
  rate: 'read',
  tier: NONE,
  region: 'forward',
  approval: NONE,
  plaintext: false,
  audit: 'things:read',
  effect: 'read',
  params: object({ thing_id: Type.String() }),
  query: NONE,
  body: NONE,
  bodyBytesMax: 64,
  status: 200,
  output: object({}),
  raw: NONE,
  errors: ['NOT_FOUND'],
};

test('a consistent declaration stands, frozen', () => {
  assert.ok(Object.isFrozen(endpoint({ ...good })));
});

test('a declaration that contradicts itself is refused when it is made', () => {
  const wrong: [string, Partial<EndpointDeclaration>][] = [
    ['params do not fit the path', { params: NONE }],
    [
      'an open object',
      { method: 'POST', body: object({ any: Type.Record(Type.String({ pattern: '^a$' }), Type.String()) }) },
    ],
    ['params are in another order', { path: '/v1/{b}/{a}', params: object({ a: Type.String(), b: Type.String() }) }],
    ['public, but with a permission', { credentials: 'public', tenant: NONE }],
    [
      'public, but with a large body',
      { credentials: 'public', tenant: NONE, permission: NONE, resource: NONE, bodyBytesMax: 64 * 1024 + 1 },
    ],
    ['public, but with a tenant', { credentials: 'public', permission: NONE, resource: NONE }],
    ['a permission on nothing', { resource: NONE }],
    ['a resource without a permission', { permission: NONE }],
    ['a resource the path does not name', { resource: 'thing/{other}' }],
    ['not audited', { audit: NONE }],
    ['a GET that changes', { effect: 'change' }],
    ['a GET with a body', { body: object({}) }],
    ['no output, but 200', { output: NONE }],
    ['raw and a schema', { raw: 'text/plain' }],
    ['a read that waits for approval', { approval: 'rbac_change' }],
    [
      'public, but for a plan',
      { credentials: 'public', tenant: NONE, permission: NONE, resource: NONE, tier: 'enterprise' },
    ],
    ['for the operator, but for a plan', { tenant: 'operator', tier: 'enterprise' }],
    ['values without a permission', { plaintext: true, permission: NONE, resource: NONE }],
    ['a field that nobody enforces', { teir: 'enterprise' } as Partial<EndpointDeclaration>],
    ['a path with a query', { path: '/v1/things/{thing_id}?x' }],
  ];
  for (const [why, change] of wrong) assert.throws(() => endpoint({ ...good, ...change }), /endpoint readThing/, why);
});

test('what waits for approval is a change by somebody known, with an answer of its own', () => {
  const change: Partial<EndpointDeclaration> = { method: 'POST', effect: 'change', approval: 'rbac_change' };
  assert.ok(endpoint({ ...good, ...change }));
  const isPublic = { credentials: 'public', tenant: NONE, permission: NONE, resource: NONE } as const;
  for (const wrong of [isPublic, { status: 202 } as const]) {
    assert.throws(() => endpoint({ ...good, ...change, ...wrong }), /wait for approval/);
  }
});

test('the codes an endpoint can answer with follow from its declaration', () => {
  assert.deepEqual(errorCodes(good), [
    'INVALID_REQUEST',
    'INVALID_TOKEN',
    'INVALID_DPOP_PROOF',
    'INSUFFICIENT_PRIVILEGE',
    'IP_NOT_ALLOWED',
    'MFA_REQUIRED',
    'SESSION_CHANGED',
    'NOT_FOUND',
    'UNKNOWN_HOST',
    'VALIDATION_FAILED',
    'RATE_LIMIT_EXCEEDED',
    'INTERNAL_ERROR',
    'UNAVAILABLE',
    'REGION_LOOP',
  ]);
});
