import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { CompiledQuery } from 'kysely';
import {
  addPerson,
  addTenant,
  invalid,
  ok,
  refused,
  type Tenant,
  uniqueName,
} from '../../../../test/support/people.ts';
import { type Answer, onSqliteAtLanding, type Service, startService } from '../../../../test/support/service.ts';
import { until } from '../../../../test/support/until.ts';
import { addSecret, addVault, auditOf, secretUrl } from '../../../../test/support/vaults.ts';
import { PLAN_QUOTAS } from '../../kernel/limits/plan-quotas.ts';
import { PLAN_LIMITS } from '../../kernel/limits/rate-classes.ts';

/** Requests that want the last place at the same time. */
const AT_ONCE = 20;

onSqliteAtLanding('plans and tiers', (database) => {
  let service: Service;
  before(async () => {
    service = await startService(database);
  });
  after(() => service.close());

  const putPlan = (plan: string, body: object, token = service.adminToken) =>
    service.call('PUT', `/admin/plans/${plan}`, { body, token });
  const tierOf = (token: string) => ok(service.call('GET', '/saas/tier', { token }));
  const small = (more: object = {}): Promise<Tenant> => addTenant(service, { plan: 'starter', ...more });
  const send = (tenant: Tenant, method: string, path: string, body?: unknown): Promise<Answer> =>
    service.call(method, path, { token: tenant.owner.token, ...(body !== undefined && { body }) });
  const exceeded = async (answer: Promise<Answer>, quota: string) =>
    assert.equal((await refused(answer, 403, 'QUOTA_EXCEEDED')).details.quota, quota);

  test('a tenant sees its plan, its limits and what it uses', async () => {
    const tenant = await small();
    const vault = await addVault(service, {}, tenant.owner.token);
    await addSecret(service, vault, 'a', {}, tenant.owner.token);
    const { tier, quotas, grace_period } = await tierOf(tenant.owner.token);
    assert.deepEqual([tier, grace_period], ['starter', null]);
    const { requests_per_minute, ...counts } = quotas;
    const { vaults, secrets, users, app_connections, clusters } = PLAN_QUOTAS.starter;
    assert.deepEqual(counts, {
      vaults: { limit: vaults, used: 1 },
      secrets: { limit: secrets, used: 1 },
      users: { limit: users, used: 1 },
      app_connections: { limit: app_connections, used: 0 },
      clusters: { limit: clusters, used: 0 },
    });
    assert.deepEqual(Object.keys(requests_per_minute).sort(), ['aggregate', 'read', 'rotate', 'write']);
    assert.deepEqual(requests_per_minute.write, { limit: PLAN_LIMITS.starter.write, used: 2 });
    const own = await tierOf(service.adminToken);
    assert.equal(own.tier, 'enterprise');
    for (const name of ['vaults', 'secrets', 'users']) assert.equal(own.quotas[name].limit, null);
    const member = await addPerson(service, { tenant, role: 'member' });
    await refused(service.call('GET', '/saas/tier', { token: member.token }), 403, 'INSUFFICIENT_PRIVILEGE');
  });

  test('only the operator sees and sets plans, and bad limits change nothing', async () => {
    const tenant = await addTenant(service);
    await refused(send(tenant, 'GET', '/admin/plans'), 403, 'INSUFFICIENT_PRIVILEGE');
    await refused(putPlan('starter', { quotas: { vaults: 99 } }, tenant.owner.token), 403, 'INSUFFICIENT_PRIVILEGE');
    const before = await ok(service.call('GET', '/admin/plans'));
    const wrong: [object, string][] = [
      [{ quotas: { vaults: -1 } }, '/body/quotas/vaults'],
      [{ quotas: { vaults: 1.5 } }, '/body/quotas/vaults'],
      [{ quotas: { castles: 1 } }, '/body/quotas/castles'],
      [{ quotas: { policies: 501 } }, '/body/quotas/policies'],
      [{ quotas: { policies: null } }, '/body/quotas/policies'],
      [{ requests_per_minute: { read: 0 } }, '/body/requests_per_minute/read'],
      [{ tier: 'gold' }, '/body/tier'],
    ];
    for (const [body, pointer] of wrong) await invalid(putPlan('professional', body), pointer);
    await invalid(putPlan('gold', {}), '/path/plan');
    assert.deepEqual(await ok(service.call('GET', '/admin/plans')), before);
  });

  test('limits that the operator sets count at once, and are replaced as a whole', async () => {
    const tenant = await addTenant(service, { plan: 'professional' });
    const set = await ok(putPlan('professional', { quotas: { vaults: 1 }, requests_per_minute: { read: 5000 } }));
    assert.deepEqual([set.quotas.vaults, set.requests_per_minute.read], [1, 5000]);
    assert.equal(set.quotas.users, PLAN_QUOTAS.professional.users);
    await ok(send(tenant, 'POST', '/v1/vaults', { name: 'one' }), 201);
    await exceeded(send(tenant, 'POST', '/v1/vaults', { name: 'two' }), 'vaults');
    assert.equal((await send(tenant, 'GET', '/auth/me')).headers.get('x-ratelimit-limit'), '5000');
    const again = await ok(putPlan('professional', { quotas: { vaults: null } }));
    assert.deepEqual([again.quotas.vaults, again.requests_per_minute.read], [null, 10_000]);
    await ok(send(tenant, 'POST', '/v1/vaults', { name: 'two' }), 201);
    await ok(putPlan('professional', {}));
    const entries = await auditOf(service, '');
    assert.ok(entries.some(({ action }: { action: string }) => action === 'plans:update'));
  });

  const LAST_PLACES: [quota: string, add: (tenant: Tenant, vault: string, no: number) => Promise<Answer>][] = [
    ['vaults', (tenant, _, no) => send(tenant, 'POST', '/v1/vaults', { name: `v${no}` })],
    [
      'secrets',
      (tenant, vault, no) => send(tenant, 'POST', `/v1/vaults/${vault}/secrets`, { path: `s${no}`, value: 'x' }),
    ],
    ['users', (tenant, _, no) => send(tenant, 'POST', '/v1/users', { email: `u${no}@${tenant.name}.example` })],
    ['clusters', (tenant, _, no) => send(tenant, 'POST', '/clusters', { name: `c${no}`, kind: 'hosts' })],
    [
      'app_connections',
      (tenant, vault, no) =>
        send(tenant, 'POST', '/v1/app-connections', { name: `a${no}`, vault, mtls_required: false }),
    ],
  ];
  for (const [quota, add] of LAST_PLACES) {
    test(`of ${AT_ONCE} who want the last place of ${quota} at once, one gets it`, async () => {
      const tenant = await small({ rate_limits: { write: 100_000 } });
      const vault = await addVault(service, {}, tenant.owner.token);
      const { used } = (await tierOf(tenant.owner.token)).quotas[quota];
      await ok(putPlan('starter', { quotas: { [quota]: used + 2 } }));
      try {
        assert.equal((await add(tenant, vault, 0)).status, 201);
        const answers = await Promise.all(Array.from({ length: AT_ONCE }, (_, no) => add(tenant, vault, no + 1)));
        const statuses = answers.map(({ status }) => status).sort();
        assert.deepEqual(statuses, [201, ...Array(AT_ONCE - 1).fill(403)], answers.map(({ text }) => text).join('\n'));
        assert.deepEqual((await tierOf(tenant.owner.token)).quotas[quota], { limit: used + 2, used: used + 2 });
      } finally {
        await ok(putPlan('starter', {}));
      }
    });
  }

  test('copies, imports, restored secrets and restored vaults count; moves and reads do not', async () => {
    const tenant = await small({ rate_limits: { write: 100_000 } });
    const { token } = tenant.owner;
    const [one, two] = [await addVault(service, {}, token), await addVault(service, {}, token)];
    for (const path of ['a', 'b', 'c']) await addSecret(service, one, path, {}, token);
    await ok(send(tenant, 'DELETE', secretUrl(one, 'c')));
    await ok(putPlan('starter', { quotas: { secrets: 2, vaults: 2 } }));
    try {
      await exceeded(send(tenant, 'POST', `${secretUrl(one, 'c')}/restore`), 'secrets');
      await exceeded(send(tenant, 'POST', `${secretUrl(one, 'a')}/copy`, { to_vault: two, to_path: 'a' }), 'secrets');
      const content = { secrets: { new: 'x' } };
      await exceeded(send(tenant, 'POST', `/v1/vaults/${two}/import`, content), 'secrets');
      await ok(send(tenant, 'POST', `${secretUrl(one, 'a')}/move`, { to_vault: two, to_path: 'a' }));
      await ok(send(tenant, 'PUT', secretUrl(two, 'a'), { value: 'changed' }));
      await ok(send(tenant, 'DELETE', `/v1/vaults/${one}`));
      await ok(send(tenant, 'POST', '/v1/vaults', { name: uniqueName('third') }), 201);
      await exceeded(send(tenant, 'POST', `/v1/vaults/${one}/restore`), 'vaults');
      await ok(putPlan('starter', { quotas: { secrets: 1, vaults: 9 } }));
      await exceeded(send(tenant, 'POST', `/v1/vaults/${one}/restore`), 'secrets');
      await ok(putPlan('starter', { quotas: { secrets: 0, vaults: 0 } }));
      await ok(send(tenant, 'GET', secretUrl(two, 'a')));
      await ok(send(tenant, 'GET', '/v1/vaults'));
      await ok(send(tenant, 'PUT', secretUrl(two, 'a'), { value: 'again' }));
      await ok(putPlan('starter', { quotas: { secrets: 9, vaults: 9 } }));
      await ok(send(tenant, 'POST', `/v1/vaults/${one}/restore`));
    } finally {
      await ok(putPlan('starter', {}));
    }
  });

  test('customer-managed keys are for the enterprise plan', async () => {
    const body = { name: 'byok', encryption: { key_source: 'customer_managed' } };
    await refused(send(await small(), 'POST', '/v1/vaults', body), 403, 'TIER_REQUIRED');
    await invalid(send(await addTenant(service), 'POST', '/v1/vaults', body), '/body/encryption/key_source');
  });

  test('a plan or limit written into the database raises nothing', async () => {
    const tenant = await small();
    const { kernel } = service.app;
    await ok(putPlan('starter', { quotas: { vaults: 0 } }));
    service.expectErrorLogs(/was not written by the service/);
    const write = (text: string) => kernel.database.transaction((tx) => tx.executeQuery(CompiledQuery.raw(text)));
    await write(`update plan_limits set quotas = '{"vaults":null}' where plan = 'starter'`);
    await until('a reload', () => service.logs.some((line) => line.includes('the limits of plans were not loaded')));
    await exceeded(send(tenant, 'POST', '/v1/vaults', { name: 'forged' }), 'vaults');
    await refused(service.call('GET', '/admin/plans'), 500, 'INTERNAL_ERROR');
    await ok(putPlan('starter', {}));
    await ok(service.call('GET', '/admin/plans'));
    await write(`update tenants set plan = 'enterprise', epoch = epoch + 1 where tenant_id = '${tenant.id}'`);
    assert.ok([401, 500].includes((await send(tenant, 'GET', '/saas/tier')).status));
  });
});
