import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  addPerson,
  addTenant,
  approve,
  done,
  ok,
  type Person,
  refused,
  type Tenant,
  uniqueName,
} from '../../../../test/support/people.ts';
import { onBothDatabases, type Service, startService } from '../../../../test/support/service.ts';
import { runJobs } from '../../../../test/support/vaults.ts';
import { DAY_MS } from '../../kernel/base/clock.ts';

onBothDatabases('deleting a production vault', (database, { rule }) => {
  let service: Service;
  let tenant: Tenant;
  let admin: Person;
  let manager: Person;
  before(async () => {
    service = await startService(database);
    tenant = await addTenant(service);
    manager = await addPerson(service, { tenant });
    admin = await addPerson(service, { tenant, role: 'admin' });
  });
  after(() => service.close());

  const as = (token: string, method: string, path: string, body?: unknown) =>
    service.call(method, path, { token, ...(body !== undefined && { body }) });
  const newVault = async () => {
    const name = uniqueName('live');
    const { token } = tenant.owner;
    await ok(as(token, 'POST', '/v1/vaults', { name, environment: 'prd' }), 201);
    await done(
      service,
      as(token, 'POST', `/v1/vaults/${name}/members`, { user: manager.id, role: 'manager' }),
      201,
      tenant,
    );
    await ok(
      as(token, 'POST', `/v1/vaults/${name}/secrets`, { path: 'a', value: 'x', environment: 'production' }),
      201,
    );
    return name;
  };
  const ask = async (name: string, token = tenant.owner.token) => {
    const { approval_id } = await ok(as(token, 'DELETE', `/v1/vaults/${name}`), 202);
    return String(approval_id);
  };
  const decide = (token: string, id: string, verb: 'approve' | 'reject') =>
    verb === 'approve'
      ? approve(service, id, token, { reason: 'as agreed' })
      : as(token, 'POST', `/approvals/${id}/reject`, { reason: 'as agreed' });
  const statusOf = async (name: string) => {
    const { vaults } = await ok(as(tenant.owner.token, 'GET', '/v1/vaults?limit=1000'));
    const deleted = await ok(as(tenant.owner.token, 'GET', '/v1/vaults?limit=1000&status=deleted'));
    const row = [...vaults, ...deleted.vaults].find((vault: { name: string }) => vault.name === name);
    return row?.status;
  };

  test('waits for a manager and then an admin, and is pending meanwhile', async () => {
    const name = await newVault();
    const id = await ask(name);
    const detail = await ok(as(tenant.owner.token, 'GET', `/v1/vaults/${name}`));
    assert.deepEqual([detail.status, detail.approval_id], ['pending_deletion', id]);
    assert.equal((await ok(as(tenant.owner.token, 'GET', `/v1/vaults/${name}/secrets/a`))).value, 'x');
    assert.equal((await ok(decide(manager.token, id, 'approve'))).status, 'pending');
    assert.equal(await statusOf(name), 'pending_deletion');
    await refused(decide(manager.token, id, 'approve'), 403, 'INSUFFICIENT_PRIVILEGE');
    const done = await ok(decide(admin.token, id, 'approve'));
    assert.deepEqual([done.status, done.levels.length], ['completed', 2]);
    assert.equal(await statusOf(name), 'deleted');
    await refused(as(tenant.owner.token, 'GET', `/v1/vaults/${name}/secrets/a`), 404, 'VAULT_NOT_FOUND');
    const { entries } = await ok(as(tenant.owner.token, 'GET', `/v1/audit?vault=${name}&action=vault_deleted`));
    assert.equal(entries[0].details.approval_id, id);
    await ok(as(tenant.owner.token, 'POST', `/v1/vaults/${name}/restore`));
    assert.equal(await statusOf(name), 'active');
  });

  rule('the requester cannot approve', async () => {
    const id = await ask(await newVault());
    await refused(decide(tenant.owner.token, id, 'approve'), 403, 'INSUFFICIENT_PRIVILEGE');
  });

  rule('who became a manager since does not count: added, by a group, or raised', async () => {
    const { token } = tenant.owner;
    const name = await newVault();
    const members = `/v1/vaults/${name}/members`;
    const [added, joined, raised, early] = [
      await addPerson(service, { tenant }),
      await addPerson(service, { tenant }),
      await addPerson(service, { tenant }),
      await addPerson(service, { tenant }),
    ];
    const newGroup = async () =>
      String((await ok(as(token, 'POST', '/v1/groups', { name: uniqueName('group') }), 201)).id);
    const join = async (group: string, { id }: Person) =>
      done(service, as(token, 'POST', `/v1/groups/${group}/members`, { user_id: id }), 201, tenant);
    const [old, late] = [await newGroup(), await newGroup()];
    await join(old, early);
    await done(service, as(token, 'POST', members, { group: old, role: 'manager' }), 201, tenant);
    await done(service, as(token, 'POST', members, { user: raised.id, role: 'reader' }), 201, tenant);
    service.clock.advance(1);
    const id = await ask(name);
    service.clock.advance(1);

    await done(service, as(token, 'POST', members, { user: added.id, role: 'manager' }), 201, tenant);
    await join(late, joined);
    await done(service, as(token, 'POST', members, { group: late, role: 'manager' }), 201, tenant);
    await join(old, added);
    await refused(as(token, 'PATCH', `${members}/${raised.id}`, { role: 'manager' }), 409, 'IN_USE');
    for (const person of [added, joined, raised]) {
      for (const verb of ['approve', 'reject'] as const) {
        await refused(decide(person.token, id, verb), 404, 'NOT_FOUND');
      }
    }
    const { levels } = await ok(decide(early.token, id, 'approve'));
    assert.equal(levels[0].decided_by.id, early.id);
    await ok(decide(admin.token, id, 'reject'));
    await done(service, as(token, 'PATCH', `${members}/${raised.id}`, { role: 'manager' }), 200, tenant);
    service.clock.advance(1);
    const again = await ask(name);
    for (const person of [added, joined, raised]) await ok(as(person.token, 'GET', `/approvals/${again}`));
  });

  rule('an admin who is no member waits while a manager besides the requester is left', async () => {
    const name = await newVault();
    const id = await ask(name);
    const { message } = await refused(decide(admin.token, id, 'approve'), 403, 'INSUFFICIENT_PRIVILEGE');
    assert.match(message, /^A manager of the vault must approve this first/);
    const { status, levels } = await ok(as(admin.token, 'GET', `/approvals/${id}`));
    const [first] = levels;
    assert.deepEqual([status, first.level, first.decided_by], ['pending', 'vault_manager', null]);
    await ok(decide(manager.token, id, 'approve'));
    assert.equal((await ok(decide(admin.token, id, 'approve'))).status, 'completed');
  });

  rule('an admin who is no member takes the level of the managers where the only one is the requester', async () => {
    const third = await addPerson(service, { tenant, role: 'admin' });
    // Its creator is its manager.
    const name = uniqueName('live');
    await ok(as(tenant.owner.token, 'POST', '/v1/vaults', { name, environment: 'production' }), 201);
    const id = await ask(name);
    const half = await ok(decide(admin.token, id, 'approve'));
    assert.deepEqual([half.status, half.levels[0].decided_by.id], ['pending', admin.id]);
    await refused(decide(tenant.owner.token, id, 'approve'), 403, 'INSUFFICIENT_PRIVILEGE');
    const whole = await ok(decide(third.token, id, 'approve'));
    assert.deepEqual([whole.status, whole.levels[1].decided_by.id], ['completed', third.id]);
  });

  rule('rejected or expired, the vault is as it was', async () => {
    const rejected = await newVault();
    await ok(decide(manager.token, await ask(rejected), 'reject'));
    assert.equal(await statusOf(rejected), 'active');
    const expired = await newVault();
    await ask(expired);
    service.clock.advance(4 * DAY_MS);
    await runJobs(service);
    assert.equal(await statusOf(expired), 'active');
  });

  rule(
    'it waits for one approval: the same request gets the same response, and another requester learns that it waits',
    async () => {
      const name = await newVault();
      const id = await ask(name);
      assert.equal(await ask(name), id);
      const error = await refused(as(admin.token, 'DELETE', `/v1/vaults/${name}`), 409, 'IN_USE');
      assert.equal(error.details.approval_id, id);
      assert.equal(await statusOf(name), 'pending_deletion');
    },
  );

  rule('an admin alone in a tenant asks and approves, in two calls', async () => {
    const alone = await addTenant(service);
    const { token } = alone.owner;
    const name = uniqueName('live');
    await ok(as(token, 'POST', '/v1/vaults', { name, environment: 'production' }), 201);
    const { approval_id } = await ok(as(token, 'DELETE', `/v1/vaults/${name}`), 202);
    const done = await ok(decide(token, approval_id, 'approve'));
    assert.deepEqual([done.status, done.self_approved], ['completed', true]);
  });

  test('eight decisions at once delete it once', async () => {
    const name = await newVault();
    const id = await ask(name);
    await ok(decide(manager.token, id, 'approve'));
    const answers = await Promise.all(Array.from({ length: 8 }, () => decide(admin.token, id, 'approve')));
    assert.equal(answers.filter(({ status }) => status === 200).length, 1);
    const { entries } = await ok(
      as(tenant.owner.token, 'GET', `/v1/audit?vault=${name}&action=vault_deleted&decision=allow`),
    );
    assert.equal(entries.filter((entry: { status: number }) => entry.status === 200).length, 1);
  });

  rule('another tenant’s approval does not exist, and other vaults need none', async () => {
    const id = await ask(await newVault());
    await refused(decide(service.adminToken, id, 'approve'), 404, 'NOT_FOUND');
    const name = uniqueName('staging');
    await ok(as(tenant.owner.token, 'POST', '/v1/vaults', { name, environment: 'staging' }), 201);
    await ok(as(tenant.owner.token, 'DELETE', `/v1/vaults/${name}`));
  });
});
