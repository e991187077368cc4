import assert from 'node:assert/strict';
import { test } from 'node:test';
import { authorize, isAuthorized } from './authorize.ts';
import { compileCeiling } from './ceiling.ts';
import { compilePolicy, POLICY_VERSION } from './policy.ts';
import { rolePolicies } from './roles.ts';

const ceilings = [compileCeiling({ scope: { vaults: ['app'] }, ip_allowlist: ['10.0.0.0/8'] })];
const admin = { ceilings, policies: rolePolicies('admin') };
const member = { ceilings, policies: rolePolicies('member') };
const denied = {
  ceilings: [],
  policies: [
    compilePolicy('no-values', {
      version: POLICY_VERSION,
      statement: [{ effect: 'deny', action: ['secrets:read'], resource: ['*'] }],
    }),
  ],
};

const rows = [
  [admin, 'vault/app/x', '10.0.0.1', 'allowed', null],
  [admin, 'vault/other/x', '10.0.0.1', 'out_of_scope', 'ceiling_scope'],
  [admin, 'vault/app/x', '192.0.2.1', 'ip_not_allowed', 'ceiling_ip'],
  [admin, 'vault/other/x', '192.0.2.1', 'ip_not_allowed', 'ceiling_ip'],
  [admin, 'vault/app/x', undefined, 'ip_not_allowed', 'ceiling_ip'],
  [member, 'vault/app/x', '10.0.0.1', 'no_match', 'policy'],
  [member, 'self/tokens', '10.0.0.1', 'out_of_scope', 'ceiling_scope'],
  [{ ceilings: [], policies: [] }, 'vault/app/x', '10.0.0.1', 'no_match', 'policy'],
  [denied, 'vault/app/x', '10.0.0.1', 'explicit_deny', 'policy'],
] as const;

for (const [subject, resource, ip, reason, refusedBy] of rows) {
  test(`${resource} from ${ip}: ${reason}`, () => {
    const request = { action: 'secrets:read', resource, context: { ip, time: 0 } };
    const answer = authorize(subject, request);
    assert.equal(answer.reason, reason);
    assert.equal(answer.refusedBy, refusedBy);
    assert.equal(answer.allowed, refusedBy === null);
    assert.equal(answer.decision, refusedBy === null ? 'allow' : 'deny');
    assert.equal(isAuthorized(subject, request), answer.allowed);
    assert.equal(answer.matched.length > 0, reason === 'allowed' || reason === 'explicit_deny');
  });
}
