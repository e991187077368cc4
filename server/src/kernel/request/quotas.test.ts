import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FEDERATIONS_MAX } from '../../features/federations/contract.ts';
import { COMPILED_BYTES_MAX } from '../../features/policies/compiled-policies.ts';
import { policySize } from '../authz/compiled-size.ts';
import { MAX_POLICY_DOCUMENT_BYTES } from '../authz/limits.ts';
import { PLAN_QUOTAS, QUOTAS } from '../limits/plan-quotas.ts';
import { PLANS } from '../limits/rate-classes.ts';
import { quotaMessage } from './quotas.ts';

test('a message is right for one and for several', () => {
  assert.equal(
    quotaMessage('starter', 'vaults', { limit: 1, used: 1 }),
    'Vaults in the tenant: the starter plan allows 1 in all, and 1 is in use. Delete one that is not used, or change the plan.',
  );
  assert.match(quotaMessage('starter', 'vaults', { limit: 10, used: 12 }), /allows 10 in all, and 12 are in use\./);
});

test('a larger plan has room for more of everything', () => {
  for (const { name } of QUOTAS) {
    const [starter, professional, enterprise] = PLANS.map((plan) => PLAN_QUOTAS[plan][name]);
    assert.ok(Number(starter) < Number(professional) && Number(professional) < Number(enterprise), name);
  }
});

for (const plan of PLANS) {
  const quotas = PLAN_QUOTAS[plan];

  test(`no quota of ${plan} makes another one useless`, () => {
    assert.ok(quotas.policy_bytes >= 4 * MAX_POLICY_DOCUMENT_BYTES, 'several of the largest policies fit');
    assert.ok(quotas.attachments_per_principal <= quotas.policies);
    assert.ok(quotas.groups_per_user <= quotas.groups);
    assert.ok(quotas.federations_per_connection <= FEDERATIONS_MAX, 'an exchange looks at all of them');
  });

  test(`all policies that a tenant on ${plan} may have fit into the cache, compiled`, () => {
    // Addresses grow most when they are compiled.
    const ip_cidr = Array.from({ length: 64 }, (_, at) => `::${at}`);
    const statement = { effect: 'allow' as const, action: ['a:b'], resource: ['*'], condition: { ip_cidr } };
    const document = { version: '2026-01-01' as const, statement: Array.from({ length: 58 }, () => statement) };
    const text = JSON.stringify(document);
    assert.ok(text.length <= MAX_POLICY_DOCUMENT_BYTES && text.length > 0.9 * MAX_POLICY_DOCUMENT_BYTES, text);
    const grows = policySize(document) / text.length;
    const empty = policySize({ version: '2026-01-01', statement: [] });
    const bytes = grows * quotas.policy_bytes + empty * quotas.policies;
    assert.ok(bytes <= COMPILED_BYTES_MAX, `${bytes} bytes`);
  });
}
