import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { DECLARATIONS } from '../../tools/declarations.ts';
import { evaluate, isAllowed } from './evaluate.ts';
import { compilePolicy } from './policy.ts';
import { ROLES, type Role, rolePolicies } from './roles.ts';

const rows: [action: string, resource: string, allowed: readonly Role[]][] = [
  ['secrets:read', 'vault/app/x', ['owner', 'admin']],
  ['secrets:write', 'vault/app/x', ['owner', 'admin']],
  ['tenant:delete', 'tenant', ['owner']],
  ['users:grant_owner', 'user/ana', ['owner']],
  ['users:grant_owner', 'self/role', ['owner']],
  ['users:create', 'user/ana', ['owner', 'admin']],
  ['audit:read', 'audit', ['owner', 'admin', 'auditor']],
  ['audit:verify', 'audit', ['owner', 'admin', 'auditor']],
  ['audit:export', 'audit', ['owner', 'admin']],
  ['secrets:list', 'vault/app', ['owner', 'admin', 'auditor']],
  ['secrets:read_metadata', 'vault/app/x', ['owner', 'admin', 'auditor']],
  ['users:read', 'user/ana', ['owner', 'admin', 'auditor']],
  ['groups:read', 'group/g', ['owner', 'admin', 'auditor']],
  ['policies:read', 'policy/p', ['owner', 'admin', 'auditor']],
  ['tokens:read', 'token/t', ['owner', 'admin', 'auditor']],
  ['eaas:encrypt', 'eaas/k', ['owner', 'admin']],
  ['eaas:decrypt', 'eaas/k', ['owner', 'admin']],
  ['pqc:unwrap', 'pqc/hybrid-classical', ['owner', 'admin']],
  ['pqc:sign', 'pqc/dual-sign', ['owner', 'admin']],
  ['pqc:list', 'pqc/keys', ['owner', 'admin', 'auditor']],
  ['secrets:aggregate', 'vault/app', ['owner', 'admin']],
  ['attack_paths:list', 'attack-path/a', ['owner', 'admin', 'auditor']],
  ['attack_paths:read', 'attack-path/a', ['owner', 'admin', 'auditor']],
  ['attack_paths:recompute', 'attack-path/a', ['owner', 'admin']],
  ['tokens:create', 'self', ROLES],
  ['tokens:create', 'self/tokens/t', ROLES],
  ['tokens:create', 'selfish/tokens', ['owner', 'admin']],
];

describe('built-in roles', () => {
  for (const [action, resource, allowed] of rows) {
    test(`${action} on ${resource}: ${allowed.join(', ')}`, () => {
      const request = { action, resource, context: { time: 0 } };
      assert.deepEqual(
        ROLES.filter((role) => isAllowed(rolePolicies(role), request)),
        allowed,
      );
    });
  }

  test('an auditor reads no values even with a policy that allows everything', () => {
    const all = compilePolicy('all', {
      version: '2026-01-01',
      statement: [{ effect: 'allow', action: ['*'], resource: ['*'] }],
    });
    const declared = DECLARATIONS.filter(({ plaintext }) => plaintext === true).map(({ permission }) => permission);
    const known = ['secrets:read', 'secrets:export', 'secrets:search', 'secrets:detokenize', 'secrets:aggregate'];
    const others = [
      'eaas:decrypt',
      'eaas:encrypt',
      'eaas:rewrap',
      'pqc:unwrap',
      'pqc:wrap',
      'eso:read',
      'secrets:create',
    ];
    for (const action of [...known, ...others]) assert.ok(declared.includes(action), `${action} is declared so`);
    for (const action of [...declared, 'pqc:sign']) {
      const request = { action, resource: 'vault/app/x', context: { time: 0 } };
      assert.equal(evaluate([all, ...rolePolicies('auditor')], request).reason, 'explicit_deny');
    }
  });

  test('names cannot be those of tenant policies', () => {
    for (const role of ROLES)
      assert.deepEqual(
        rolePolicies(role).map(({ name }) => name),
        [`role/${role}`],
      );
  });
});
