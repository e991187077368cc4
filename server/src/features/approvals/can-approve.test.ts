import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import {
  addColleague,
  addTenant,
  addToken,
  allPages,
  approve,
  type Colleague,
  ok,
  refused,
  type Tenant,
  uniqueName,
} from '../../../../test/support/people.ts';
import { queriesDuring } from '../../../../test/support/queries.ts';
import { onSqliteAtLanding, type Service, startService } from '../../../../test/support/service.ts';
import { until } from '../../../../test/support/until.ts';

onSqliteAtLanding('whether it is somebody’s turn to approve', (database) => {
  let service: Service;
  let tenant: Tenant;
  before(async () => {
    service = await startService(database);
  });
  after(() => service.close());
  beforeEach(async () => {
    tenant = await addTenant(service);
  });

  const send = (method: string, path: string, body?: object, token = tenant.owner.token) =>
    service.call(method, path, { token, ...(body !== undefined && { body }) });
  const colleague = (role: Parameters<typeof addColleague>[2]) => addColleague(service, tenant.id, role);
  const allowed = (token: string): Promise<Record<string, boolean>> =>
    allPages(service, '/approvals', 'approvals', { token }).then((rows) =>
      Object.fromEntries(rows.map(({ id, can_approve }) => [id, can_approve])),
    );
  /** Asserts that the list and the approval itself say so, and that approving it does so. */
  const says = async (id: string, token: string, isTurn: boolean) => {
    assert.equal((await allowed(token))[id], isTurn, 'in the list');
    assert.equal((await ok(send('GET', `/approvals/${id}`, undefined, token))).can_approve, isTurn);
    if (!isTurn) assert.ok([403, 409].includes((await approve(service, id, token)).status));
  };
  const role = async (by: Colleague, to = 'auditor') => {
    const { id } = await colleague('member');
    return (await ok(send('PATCH', `/v1/users/${id}`, { role: to }, by.token), 202)).approval_id as string;
  };
  const deletion = async (managers: readonly object[]) => {
    const name = uniqueName('live');
    await ok(send('POST', '/v1/vaults', { name, environment: 'production' }), 201);
    for (const member of managers) {
      const path = `/v1/vaults/${name}/members`;
      const answer = await send('POST', path, { ...member, role: 'manager' });
      assert.equal(answer.status, 201, answer.text);
    }
    return async (by = tenant.owner.token) =>
      (await ok(send('DELETE', `/v1/vaults/${name}`, undefined, by), 202)).approval_id as string;
  };

  test('another admin’s turn, and of nobody who requested, decided, only watches, or has a restricted token', async () => {
    const [admin, auditor] = [await colleague('admin'), await colleague('auditor')];
    const id = await role(tenant.owner);
    await says(id, tenant.owner.token, false);
    await says(id, auditor.token, false);
    await says(id, (await addToken(service, admin.token, { ip_allowlist: ['127.0.0.0/8', '::/0'] })).token, false);
    const other = (await addTenant(service)).owner.token;
    assert.deepEqual(await allowed(other), {});
    await says(id, admin.token, true);
    assert.equal((await ok(approve(service, id, admin.token))).can_approve, false);
    await says(id, admin.token, false);
    const withdrawn = await role(admin);
    await says(withdrawn, tenant.owner.token, true);
    await ok(send('POST', `/approvals/${withdrawn}/reject`, {}, admin.token));
    await says(withdrawn, tenant.owner.token, false);
  });

  test('not of somebody who is denied to decide, nor of anybody once the requester is deleted', async () => {
    const [admin, third] = [await colleague('admin'), await colleague('admin')];
    const id = await role(tenant.owner);
    const gone = await role(third);
    const statement = [{ effect: 'deny', action: ['approvals:decide'], resource: ['*'] }];
    const name = uniqueName('policy');
    await ok(send('POST', '/v1/policies', { name, document: { version: '2026-01-01', statement } }), 201);
    const attach = await ok(send('POST', `/v1/policies/${name}/attach`, { principal: { user: admin.id } }), 202);
    await ok(approve(service, attach.approval_id, third.token));
    await says(id, admin.token, false);
    await says(id, third.token, true);
    await says(gone, tenant.owner.token, true);
    const disable = await ok(send('PATCH', `/v1/users/${third.id}`, { status: 'disabled' }), 202);
    await refused(approve(service, disable.approval_id, third.token), 403, 'INSUFFICIENT_PRIVILEGE');
    await ok(approve(service, disable.approval_id, (await colleague('admin')).token));
    await says(gone, tenant.owner.token, false);
  });

  test('level by level: a manager first, then an admin who has not decided yet', async () => {
    const manager = await colleague('member');
    const grouped = await colleague('member');
    const { id: group } = await ok(send('POST', '/v1/groups', { name: uniqueName('group') }), 201);
    await ok(send('POST', `/v1/groups/${group}/members`, { user_id: grouped.id }), 201);
    const ask = await deletion([{ user: manager.id }, { group }]);
    const [first, second, late] = [await colleague('admin'), await colleague('admin'), await colleague('member')];
    const id = await ask();
    for (const { token } of [manager, grouped]) await says(id, token, true);
    for (const { token } of [first, second, tenant.owner]) await says(id, token, false);
    assert.deepEqual(await allowed(late.token), {});
    await refused(approve(service, id, first.token), 403, 'INSUFFICIENT_PRIVILEGE');
    await ok(approve(service, id, grouped.token));
    for (const { token } of [manager, grouped, tenant.owner]) await says(id, token, false);
    for (const { token } of [first, second]) await says(id, token, true);
  });

  test('the only admin’s own turn, where it waits for a second call', async () => {
    const id = await (await deletion([]))();
    await says(id, tenant.owner.token, true);
    const { status, self_approved } = await ok(approve(service, id, tenant.owner.token));
    assert.deepEqual([status, self_approved], ['completed', true]);
    await says(id, tenant.owner.token, false);
  });

  test('a page takes as many queries for many as for few', async () => {
    const asks = [];
    for (let i = 0; i < 6; i++) asks.push(await deletion([]));
    // Of one admin alone the level after the managers’ would need the decision.
    const [admin] = [await colleague('admin'), await colleague('admin')];
    const [first, ...others] = asks;
    await first?.();
    // Background work and a cold cache only add queries, for a while after each request for approval.
    const count = async () =>
      (await queriesDuring(() => ok(send('GET', '/approvals', undefined, admin.token)))).queries.length;
    let few = Number.POSITIVE_INFINITY;
    for (let i = 0; i < 5; i++) few = Math.min(few, await count());
    for (const ask of others) await ask();
    await role(tenant.owner);
    let more = Number.POSITIVE_INFINITY;
    await until(
      () => `${more} queries, and ${few} for few`,
      async () => {
        more = await count();
        return more <= few;
      },
    );
    const turns = Object.values(await allowed(admin.token));
    assert.deepEqual(turns, Array(7).fill(true));
  });
});
