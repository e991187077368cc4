import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import {
  addColleague,
  addTenant,
  approve,
  type Colleague,
  invalid,
  ok,
  refused,
  type Tenant,
} from '../../../../test/support/people.ts';
import { onBothDatabases, type Service, startService } from '../../../../test/support/service.ts';
import { addPolicy, addVault, auditOf, secretUrl } from '../../../../test/support/vaults.ts';

onBothDatabases('the values of a change that waits', (database, { rule }) => {
  let service: Service;
  let tenant: Tenant;
  let vault: string;
  let writer: Colleague;
  let reviewer: Colleague;
  before(async () => {
    service = await startService(database);
  });
  after(() => service.close());
  beforeEach(async () => {
    tenant = await addTenant(service);
    writer = await addColleague(service, tenant.id, 'member');
    reviewer = await addColleague(service, tenant.id, 'member');
    vault = await addVault(service, {}, tenant.owner.token);
    await ok(as(tenant.owner, 'POST', `/v1/vaults/${vault}/members`, { user: writer.id, role: 'writer' }), 201);
    await ok(as(tenant.owner, 'POST', `/v1/vaults/${vault}/members`, { user: reviewer.id, role: 'manager' }), 201);
    const secret = { path: 'db/password', value: 'first', metadata: { tags: ['db'] } };
    await ok(as(writer, 'POST', `/v1/vaults/${vault}/secrets`, secret), 201);
    await ok(as(reviewer, 'PATCH', `/v1/vaults/${vault}`, { change_control: 'review' }));
  });

  const as = ({ token }: { token: string }, method: string, path: string, body?: unknown) =>
    service.call(method, path, { token, ...(body !== undefined && { body }) });
  const put = (body: object) => ok(as(writer, 'PUT', secretUrl(vault, 'db/password'), body), 202);
  const reveal = (id: string, by: { token: string } = reviewer, path?: string) =>
    as(by, 'GET', `/approvals/${id}/values${path === undefined ? '' : `?path=${path}`}`);
  const readsOf = async () =>
    (await auditOf(service, `vault=${vault}&action=secrets:read`, tenant.owner.token)).map(
      ({ actor, decision, resource }) => [actor.id, decision, resource],
    );

  test('are revealed to a reviewer who may read them, and recorded as a read', async () => {
    const { approval_id: id } = await put({ value: 'second' });
    assert.deepEqual(await ok(reveal(id)), { path: 'db/password', version: 1, before: 'first', after: 'second' });
    assert.deepEqual(await readsOf(), [[reviewer.id, 'allow', `vault/${vault}/db/password`]]);
    const rest = JSON.stringify([await ok(as(reviewer, 'GET', `/approvals/${id}`)), service.logs]);
    assert.ok(!rest.includes('second') && !rest.includes('first'));
  });

  test('are revealed to nobody else', async () => {
    const { approval_id: id } = await put({ value: 'second' });
    const peer = await addColleague(service, tenant.id, 'member');
    await ok(as(reviewer, 'POST', `/v1/vaults/${vault}/members`, { user: peer.id, role: 'writer' }), 201);
    const blind = await addColleague(service, tenant.id, 'member');
    const statement = { action: ['secrets:review'], resource: [`vault/${vault}/**`] };
    await addPolicy(service, { user: blind.id }, [statement], tenant.owner.token);
    const other = await addTenant(service);
    const auditor = await addColleague(service, tenant.id, 'auditor');
    await refused(reveal(id, blind), 403, 'INSUFFICIENT_PRIVILEGE');
    await refused(reveal(id, writer), 403, 'INSUFFICIENT_PRIVILEGE');
    await refused(reveal(id, auditor), 403, 'INSUFFICIENT_PRIVILEGE');
    await refused(reveal(id, peer), 404, 'NOT_FOUND');
    await refused(reveal(id, other.owner), 404, 'NOT_FOUND');
    assert.equal((await as(blind, 'GET', `/approvals/${id}`)).status, 200, 'a reviewer sees the rest');
    assert.ok((await readsOf()).every(([, decision]) => decision === 'deny'));
    // A copy of the request is stored only while it waits.
    await ok(approve(service, id, blind.token));
    await refused(reveal(id), 409, 'VERSION_CONFLICT');
  });

  test('are read with the tags that the secret has and would have', async () => {
    const narrow = await addColleague(service, tenant.id, 'member');
    const resource = [`vault/${vault}/**`];
    const rights = [
      { action: ['secrets:read', 'secrets:review'], resource },
      { effect: 'deny' as const, action: ['secrets:read'], resource, condition: { tag_equals: ['hot'] } },
    ];
    await addPolicy(service, { user: narrow.id }, rights, tenant.owner.token);
    const [plain, heated] = [
      await put({ value: 'second' }),
      await put({ value: 'second', metadata: { tags: ['hot'] } }),
    ];
    await ok(reveal(plain.approval_id, narrow));
    await refused(reveal(heated.approval_id, narrow), 403, 'INSUFFICIENT_PRIVILEGE');
    await ok(approve(service, heated.approval_id, reviewer.token));
    const cooled = await put({ value: 'third', metadata: { tags: null } });
    await refused(reveal(cooled.approval_id, narrow), 403, 'INSUFFICIENT_PRIVILEGE');
  });

  test('of several changes are revealed one by one, each if it may be read', async () => {
    const narrow = await addColleague(service, tenant.id, 'member');
    const resource = [`vault/${vault}/**`];
    const rights = [
      { action: ['secrets:review'], resource },
      { action: ['secrets:read'], resource: [`vault/${vault}/db/**`] },
    ];
    await addPolicy(service, { user: narrow.id }, rights, tenant.owner.token);
    const changes = [
      { op: 'update', path: 'db/password', value: 'second' },
      { op: 'create', path: 'else/new', value: 'made' },
    ];
    const { approval_id: id } = await ok(as(writer, 'POST', `/v1/vaults/${vault}/changes`, { changes }), 202);
    assert.equal((await ok(reveal(id, narrow, 'db/password'))).after, 'second');
    await refused(reveal(id, narrow, 'else/new'), 403, 'INSUFFICIENT_PRIVILEGE');
    await invalid(reveal(id), '/query/path');
    await invalid(reveal(id, reviewer, 'not/there'), '/query/path');
    const created = { path: 'else/new', version: null, before: null, after: 'made' };
    assert.deepEqual(await ok(reveal(id, reviewer, 'else/new')), created);
  });

  rule('of a rollback are those of both versions, and of a generated value only the present one', async () => {
    const { approval_id: next } = await put({ value: 'second' });
    await ok(approve(service, next, reviewer.token));
    const back = await ok(as(writer, 'POST', secretUrl(vault, 'db/password', 'rollback'), { to_version: 1 }), 202);
    const { before: present, after: older } = await ok(reveal(back.approval_id));
    assert.deepEqual([present, older], ['second', 'first']);
    const made = { generator: { length: 24 } };
    const rotated = await ok(as(writer, 'POST', secretUrl(vault, 'db/password', 'rotate'), made), 202);
    assert.equal((await ok(reveal(rotated.approval_id))).after, null);
  });

  rule('are not revealed of a fortress secret, whatever the reviewer proved', async () => {
    const proof = { mfaAt: service.clock.now() };
    const [proven, other] = [
      await addColleague(service, tenant.id, 'admin', proof),
      await addColleague(service, tenant.id, 'admin', proof),
    ];
    const body = { path: 'fortress', value: 'sealed twice', protection: 'fortress' };
    const { approval_id: id } = await ok(as(proven, 'POST', `/v1/vaults/${vault}/secrets`, body), 202);
    await refused(reveal(id, other), 403, 'INSUFFICIENT_PRIVILEGE');
  });
});
