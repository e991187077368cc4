import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { NONE } from '../../server/src/kernel/endpoint/declaration.ts';
import { PLANS } from '../../server/src/kernel/limits/rate-classes.ts';
import { DECLARATIONS } from '../../server/src/tools/declarations.ts';
import { addPerson, addTenant, ok, refused } from '../support/people.ts';
import { onBothDatabases, type Service, startService } from '../support/service.ts';

const GATED = DECLARATIONS.filter(({ tier }) => tier !== NONE);
const URL = (path: string) => path.replace(/\{[a-z_]+\*?\}/g, 'none');

test('federation and exporters are for the professional plan', () => {
  assert.deepEqual(
    GATED.map(({ name, tier }) => `${name} ${tier}`),
    [
      'createFederation professional',
      'updateFederation professional',
      'createExporter professional',
      'updateExporter professional',
    ],
  );
});

onBothDatabases('the plan of a tenant', (database) => {
  let service: Service;
  before(async () => {
    service = await startService(database);
  });
  after(() => service.close());

  for (const { name, method, path, tier } of GATED) {
    test(`${name} is refused below its plan, before input and rights are checked`, async () => {
      for (const plan of PLANS) {
        const tenant = await addTenant(service, { plan });
        const member = await addPerson(service, { tenant, role: 'member' });
        const body = method === 'GET' ? {} : { body: { nonsense: true } };
        const ask = (token: string) => service.call(method, URL(path), { token, ...body });
        const isEnough = PLANS.indexOf(plan) >= PLANS.indexOf(tier as 'professional');
        for (const { token } of [tenant.owner, member]) {
          if (isEnough) await refused(ask(token), 422, 'VALIDATION_FAILED');
          else
            assert.match(
              (await refused(ask(token), 403, 'TIER_REQUIRED')).message,
              new RegExp(`${tier} plan.*${plan}`),
            );
        }
      }
    });
  }

  test('no plan gives access to what only the operator may do, so none is requested', async () => {
    for (const plan of PLANS) {
      const { owner } = await addTenant(service, { plan });
      const { token } = owner;
      await refused(service.call('GET', '/admin/tenant-region', { token }), 403, 'INSUFFICIENT_PRIVILEGE');
    }
  });

  test('a change of plan counts with the next request, and a refusal is recorded', async () => {
    const tenant = await addTenant(service, { plan: 'starter' });
    const ask = () => {
      const [gated] = GATED;
      assert.ok(gated !== undefined);
      return service.call(gated.method, URL(gated.path), { token: tenant.owner.token, body: {} });
    };
    await refused(ask(), 403, 'TIER_REQUIRED');
    await ok(service.call('PATCH', `/v1/tenants/${tenant.id}`, { body: { plan: 'professional' } }));
    await refused(ask(), 422, 'VALIDATION_FAILED');
    await ok(service.call('PATCH', `/v1/tenants/${tenant.id}`, { body: { plan: 'starter' } }));
    await refused(ask(), 403, 'TIER_REQUIRED');
    const { entries } = await ok(service.call('GET', '/v1/audit?decision=deny', { token: tenant.owner.token }));
    assert.deepEqual(
      entries.map((entry: { action: string; status: number; reason: string }) => [
        entry.action,
        entry.status,
        entry.reason,
      ]),
      [
        ['federation_created', 403, 'the plan is starter'],
        ['federation_created', 403, 'the plan is starter'],
      ],
    );
  });
});
