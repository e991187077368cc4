import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  addPerson,
  addTenant,
  allPages,
  invalid,
  logIn,
  ok,
  refused,
  tryLogIn,
  uniqueName,
} from '../../../../test/support/people.ts';
import { onSqliteAtLanding, type Service, startService } from '../../../../test/support/service.ts';

onSqliteAtLanding('tenants', (database) => {
  let service: Service;

  before(async () => {
    service = await startService(database);
  });
  after(() => service.close());

  const create = (body: object, headers = {}) => service.call('POST', '/v1/tenants', { body, headers });
  const patch = (id: string, body: object) => service.call('PATCH', `/v1/tenants/${id}`, { body });
  const me = (token: string) => service.call('GET', '/auth/me', { token });

  test('a tenant comes with an owner whose token works and is shown once', async () => {
    const name = uniqueName('made');
    const answer = await create({ name, owner_email: 'Owner@Example.com' });
    const { id, owner } = answer.body;
    const { user, tenant } = await ok(me(owner.token));
    assert.deepEqual([user.id, user.email, user.role], [owner.id, 'owner@example.com', 'owner']);
    assert.deepEqual(tenant, { id, name, plan: 'enterprise' });
    const read = await service.call('GET', `/v1/tenants/${id}`);
    assert.ok(!read.text.includes(owner.token) && read.body.owner === undefined);
    assert.ok(!(await service.call('GET', '/v1/tenants')).text.includes(owner.token));
  });

  test('a new tenant is empty but for its owner', async () => {
    const { owner } = await addTenant(service);
    const { token } = owner;
    const users = await allPages(service, '/v1/users', 'users', { token });
    assert.deepEqual(
      users.map((user) => user.id),
      [owner.id],
    );
    assert.deepEqual((await ok(service.call('GET', '/v1/groups', { token }))).groups, []);
  });

  test('a name is used once, also when requested ten times at once', async () => {
    const name = uniqueName('race');
    const asked = Array.from({ length: 10 }, () => create({ name, owner_email: 'o@example.com' }));
    const statuses = (await Promise.all(asked)).map(({ status }) => status).sort();
    assert.deepEqual(statuses, [201, ...Array(9).fill(409)]);
    const found = (await allPages(service, '/v1/tenants?limit=5', 'tenants')).filter((tenant) => tenant.name === name);
    assert.equal(found.length, 1);
  });

  test('fields that are unknown, missing or out of bounds are pointed at', async () => {
    const good = { name: 'fine', owner_email: 'o@example.com' };
    const tries: [object, string][] = [
      [{ ...good, name: 'a/b' }, '/body/name'],
      [{ name: 'fine' }, '/body/owner_email'],
      [{ ...good, plan: 'free' }, '/body/plan'],
      [{ ...good, is_operator: 1 }, '/body/is_operator'],
      [{ ...good, rate_limits: { read: 0 } }, '/body/rate_limits/read'],
      [{ ...good, rate_limits: { login: 5 } }, '/body/rate_limits/login'],
    ];
    for (const [body, pointer] of tries) await invalid(create(body), pointer);
    const { id } = await addTenant(service);
    await invalid(patch(id, { name: 'renamed' }), '/body/name');
    await invalid(patch(id, { status: 'deleted' }), '/body/status');
    await refused(patch('tenant_none', { plan: 'starter' }), 404, 'NOT_FOUND');
    await refused(service.call('GET', '/v1/tenants/tenant_none'), 404, 'NOT_FOUND');
  });

  test('a suspended tenant is shut out at once and let in again', async () => {
    const tenant = await addTenant(service);
    const person = await addPerson(service, { tenant });
    const session = await logIn(service, person);
    await ok(patch(tenant.id, { status: 'suspended' }));
    for (const token of [tenant.owner.token, person.token, session]) await refused(me(token), 401, 'INVALID_TOKEN');
    await refused(tryLogIn(service, person), 401, 'LOGIN_DENIED');
    await ok(patch(tenant.id, { status: 'active' }));
    for (const token of [tenant.owner.token, person.token, session]) await ok(me(token));
  });

  test('the tenant that runs the installation cannot suspend itself', async () => {
    const { tenant } = await ok(service.call('GET', '/auth/me'));
    await refused(patch(tenant.id, { status: 'suspended' }), 409, 'IN_USE');
    await ok(service.call('GET', '/auth/me'));
  });

  test('no tenant sees another, or can make one, whatever its owner may do', async () => {
    const [one, two] = [await addTenant(service), await addTenant(service)];
    const { token } = one.owner;
    const tries: [string, string, object?][] = [
      ['GET', '/v1/tenants'],
      ['GET', `/v1/tenants/${two.id}`],
      ['GET', `/v1/tenants/${one.id}`],
      ['PATCH', `/v1/tenants/${two.id}`, { status: 'suspended' }],
      ['PATCH', `/v1/tenants/${one.id}`, { plan: 'enterprise', rate_limits: {} }],
      ['POST', '/v1/tenants', { name: uniqueName('sneaked'), owner_email: 'o@example.com' }],
      ['GET', '/metrics'],
    ];
    for (const [method, path, body] of tries) {
      const answer = service.call(method, path, { token, ...(body !== undefined && { body }) });
      await refused(answer, 403, 'INSUFFICIENT_PRIVILEGE');
    }
    await ok(me(two.owner.token));
  });

  test('plan and limits are stored as given and replaced as a whole', async () => {
    const { id } = await addTenant(service, { plan: 'professional', rate_limits: { read: 7, write: 9 } });
    const changed = await ok(patch(id, { rate_limits: { read: 8 } }));
    assert.deepEqual([changed.plan, changed.rate_limits], ['professional', { read: 8 }]);
    assert.deepEqual((await ok(patch(id, { plan: 'starter' }))).rate_limits, { read: 8 });
    assert.deepEqual((await ok(patch(id, { rate_limits: {} }))).rate_limits, {});
  });
});
