import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type AccessContext, couldEverAllow, evaluate, isAllowed } from './evaluate.ts';
import { compilePolicy, type PolicyStatement } from './policy.ts';

const CONTEXT: AccessContext = { time: 0 };

function policy(name: string, ...statement: PolicyStatement[]) {
  return compilePolicy(name, { version: '2026-01-01', statement });
}

const read: PolicyStatement = { sid: 'read', effect: 'allow', action: ['secrets:*'], resource: ['vault/app/**'] };
const noTeam: PolicyStatement = { effect: 'deny', action: ['*'], resource: ['vault/app/team', 'vault/app/team/*'] };
const policies = [policy('open', read), policy('closed', noTeam)];

describe('decisions', () => {
  test('an allow is reported with its policy and sid', () => {
    assert.deepEqual(evaluate(policies, { action: 'secrets:read', resource: 'vault/app/x', context: CONTEXT }), {
      allowed: true,
      decision: 'allow',
      reason: 'allowed',
      matched: [{ policy: 'open', sid: 'read', effect: 'allow' }],
    });
  });

  test('a deny wins, and both are reported', () => {
    assert.deepEqual(evaluate(policies, { action: 'secrets:read', resource: 'vault/app/team/x', context: CONTEXT }), {
      allowed: false,
      decision: 'deny',
      reason: 'explicit_deny',
      matched: [
        { policy: 'closed', sid: null, effect: 'deny' },
        { policy: 'open', sid: 'read', effect: 'allow' },
      ],
    });
  });

  test('no match denies', () => {
    const nothing = { allowed: false, decision: 'deny', reason: 'no_match', matched: [] };
    assert.deepEqual(evaluate(policies, { action: 'audit:read', resource: 'audit', context: CONTEXT }), nothing);
    assert.deepEqual(evaluate([], { action: 'audit:read', resource: 'audit', context: CONTEXT }), nothing);
  });

  test('a deny on an attribute nobody told us applies', () => {
    const guarded = [
      policy('open', read),
      policy('net', { ...noTeam, resource: ['*'], condition: { ip_cidr: ['192.0.2.0/24'] } }),
    ];
    const ask = (ip?: string) =>
      isAllowed(guarded, { action: 'secrets:read', resource: 'vault/app/x', context: { ...CONTEXT, ip } });
    assert.equal(ask('10.0.0.1'), true);
    assert.equal(ask('192.0.2.1'), false);
    assert.equal(ask('::ffff:192.0.2.1'), false);
    assert.equal(ask(undefined), false);
    assert.equal(ask('unknown'), false);
  });
});

describe('a list obeys the most specific deny, with or without a trailing slash', () => {
  const spellings = ['vault/app/team', 'vault/app/team/', 'vault/app/team//', 'vault/app//team', 'vault/app/./team'];
  spellings.push('vault/app/x/../team', '/vault/app/team', 'vault/app/team/.', 'vault//app/team/x');
  for (const resource of spellings) {
    test(resource, () =>
      assert.equal(isAllowed(policies, { action: 'secrets:list', resource, context: CONTEXT }), false),
    );
  }
});

describe('names that grant rights are compared one way only', () => {
  const everything = [policy('all', { effect: 'allow', action: ['*'], resource: ['*'] })];
  test('a case variant of an action is refused even by an allow of everything', () => {
    assert.equal(isAllowed(everything, { action: 'Secrets:read', resource: 'vault/app', context: CONTEXT }), false);
  });
  test('a case variant of a resource is another resource', () => {
    for (const resource of ['vault/App/x', 'Vault/app/x', 'VAULT/APP/x']) {
      assert.equal(isAllowed(policies, { action: 'secrets:read', resource, context: CONTEXT }), false);
    }
  });
});

describe('what could be allowed', () => {
  const inStaging: PolicyStatement = { ...read, condition: { environment: ['staging'] } };
  const notByTag: PolicyStatement = { ...noTeam, condition: { tag_equals: ['x'] } };
  const isConceived = (resource: string, ...statements: PolicyStatement[]) =>
    couldEverAllow([policy('some', ...statements)], 'secrets:read', resource);

  test('is what an allow speaks of, whatever its conditions', () => {
    assert.equal(isConceived('vault/app/x', read), true);
    assert.equal(isConceived('vault/app/x', inStaging), true);
    assert.equal(isConceived('vault/other/x', inStaging), false);
    assert.equal(couldEverAllow([policy('some', read)], 'vaults:read', 'vault/app/x'), false);
    assert.equal(couldEverAllow([], 'secrets:read', 'vault/app/x'), false);
  });

  test('unless a deny without conditions does too', () => {
    assert.equal(isConceived('vault/app/team/x', read, noTeam), false);
    assert.equal(isConceived('vault/app/team/x', noTeam, read), false);
    assert.equal(isConceived('vault/app/team/x', read, notByTag), true);
    assert.equal(isConceived('vault/app/x', read, noTeam), true);
  });

  test('is nothing malformed', () => {
    for (const resource of ['vault/app//x', 'vault/app/../x', 'vault/app/x/']) {
      assert.equal(isConceived(resource, read), false, resource);
    }
  });
});
