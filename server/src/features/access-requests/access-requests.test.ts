import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import {
  addColleague,
  addTenant,
  addToken,
  approve,
  type Colleague,
  invalid,
  ok,
  refused,
  type Tenant,
} from '../../../../test/support/people.ts';
import { newMigratedDatabase } from '../../../../test/support/postgres.ts';
import { behindItsBack } from '../../../../test/support/rows.ts';
import { onBothDatabases, type Service, startService } from '../../../../test/support/service.ts';
import { addSecret, addVault, auditOf, runJobs, secretUrl, startNodeBeside } from '../../../../test/support/vaults.ts';
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../../kernel/base/clock.ts';

onBothDatabases('access for a time', (database, { rule }) => {
  let service: Service;
  let beside: Service | undefined;
  let tenant: Tenant;
  let vault: string;
  let manager: Colleague;
  let member: Colleague;
  before(async () => {
    const databaseUrl = database === 'postgres' ? await newMigratedDatabase() : undefined;
    service = await startService(database, databaseUrl === undefined ? {} : { databaseUrl });
    if (databaseUrl !== undefined) beside = await startNodeBeside(service, databaseUrl);
  });
  after(async () => {
    await beside?.close();
    await service.close();
  });
  beforeEach(async () => {
    tenant = await addTenant(service);
    manager = await addColleague(service, tenant.id, 'member');
    member = await addColleague(service, tenant.id, 'member');
    vault = await addVault(service, {}, tenant.owner.token);
    await addSecret(service, vault, 'db/password', {}, tenant.owner.token);
    await ok(as(tenant.owner, 'POST', `/v1/vaults/${vault}/members`, { user: manager.id, role: 'manager' }), 201);
    // The creator of the vault manages it too, and would stand beside the manager.
    await ok(as(tenant.owner, 'DELETE', `/v1/vaults/${vault}/members/${tenant.owner.id}`));
  });

  const as = ({ token }: { token: string }, method: string, path: string, body?: unknown, at = service) =>
    at.call(method, path, { token, ...(body !== undefined && { body }) });
  const request = (more: object = {}, by = member) =>
    as(by, 'POST', '/v1/access-requests', { vault, role: 'reader', ttl_seconds: 3600, reason: 'Incident 1', ...more });
  const read = (path = 'db/password', by = member, at = service) =>
    as(by, 'GET', secretUrl(vault, path), undefined, at);
  const write = (path = 'db/password') => as(member, 'PUT', secretUrl(vault, path), { value: 'changed' });
  const listed = async (query = '', by: { token: string } = member) =>
    (await ok(as(by, 'GET', `/v1/access-requests?${query}`))).access;
  async function given(more: object = {}): Promise<string> {
    const { approval_id } = await ok(request(more), 202);
    const { status } = await ok(approve(service, approval_id, manager.token));
    assert.equal(status, 'completed');
    const [{ id }] = await listed();
    return id;
  }

  test('begins with the approval of a manager, and ends by itself at its second on every node', async () => {
    await refused(read(), 403, 'INSUFFICIENT_PRIVILEGE');
    const { approval_id, approval } = await ok(request(), 202);
    assert.equal(approval, 'access_request');
    await refused(read(), 403, 'INSUFFICIENT_PRIVILEGE');
    const seen = await ok(as(manager, 'GET', `/approvals/${approval_id}`));
    assert.equal(seen.can_approve, true);
    assert.deepEqual(seen.request.differences, [
      { what: `role of ${member.email} in vault/${vault}`, before: null, after: 'reader for 1 hour' },
    ]);
    assert.equal(seen.request.body.reason, 'Incident 1');
    await ok(approve(service, approval_id, manager.token));
    const nodes = beside === undefined ? [service] : [service, beside];
    for (const node of nodes) await ok(read('db/password', member, node));
    await refused(write(), 403, 'INSUFFICIENT_PRIVILEGE');
    const [access] = await listed();
    assert.deepEqual(
      [access.vault, access.user_id, access.role, access.path, access.reason, access.status, access.approval_id],
      [vault, member.id, 'reader', null, 'Incident 1', 'active', approval_id],
    );
    const left = Date.parse(access.expires_at) - service.clock.now();
    for (const node of nodes) node.clock.advance(left - 2 * SECOND_MS);
    for (const node of nodes) await ok(read('db/password', member, node));
    for (const node of nodes) node.clock.advance(2 * SECOND_MS);
    for (const node of nodes) await refused(read('db/password', member, node), 403, 'INSUFFICIENT_PRIVILEGE');
    assert.equal((await listed())[0].status, 'ended');
    for (const node of nodes) node.clock.advance(MINUTE_MS);
    await runJobs(service);
    const [entry] = await auditOf(service, 'action=access_expired', tenant.owner.token);
    assert.deepEqual([entry.resource, entry.details.user], [`vault/${vault}`, member.id]);
    const [over] = await listed();
    assert.deepEqual([over.status, over.ended_at, over.ended_by], ['ended', access.expires_at, null]);
    for (const node of nodes) await refused(read('db/password', member, node), 403, 'INSUFFICIENT_PRIVILEGE');
  });

  test('ends early by a manager or by oneself, on every node with the next request', async () => {
    for (const by of [manager, member]) {
      const id = await given();
      if (beside !== undefined) await ok(read('db/password', member, beside));
      await ok(as(by, 'DELETE', `/v1/access-requests/${id}`));
      await refused(read(), 403, 'INSUFFICIENT_PRIVILEGE');
      if (beside !== undefined) await refused(read('db/password', member, beside), 403, 'INSUFFICIENT_PRIVILEGE');
      const [{ status, ended_by }] = await listed();
      assert.deepEqual([status, ended_by], ['ended', by.id]);
      await refused(as(by, 'DELETE', `/v1/access-requests/${id}`), 404, 'NOT_FOUND');
    }
  });

  test('that is ended twice at once ends once', async () => {
    const id = await given();
    const answers = await Promise.all([manager, member].map((by) => as(by, 'DELETE', `/v1/access-requests/${id}`)));
    assert.deepEqual(answers.map(({ status }) => status).toSorted(), [200, 404]);
  });

  test('is limited to a path, and gives a writer no more than that', async () => {
    for (const path of ['db', 'db/other', 'dbx/password'])
      await addSecret(service, vault, path, {}, tenant.owner.token);
    await given({ path: 'db', role: 'writer' });
    for (const path of ['db', 'db/password', 'db/other']) await ok(read(path));
    await ok(write('db/other'));
    await refused(read('dbx/password'), 403, 'INSUFFICIENT_PRIVILEGE');
    await refused(write('dbx/password'), 403, 'INSUFFICIENT_PRIVILEGE');
    const { secrets } = await ok(as(member, 'GET', `/v1/vaults/${vault}/secrets`));
    assert.deepEqual(
      secrets.map(({ path }: { path: string }) => path),
      ['db', 'db/other', 'db/password'],
    );
    await refused(as(member, 'GET', `/v1/vaults/${vault}/members`), 403, 'INSUFFICIENT_PRIVILEGE');
    await refused(as(member, 'DELETE', `/v1/vaults/${vault}`), 403, 'INSUFFICIENT_PRIVILEGE');
  });

  test('is decided by no requester, no puppet and nobody from outside', async () => {
    const { approval_id } = await ok(request(), 202);
    const other = await addTenant(service);
    const bystander = await addColleague(service, tenant.id, 'member');
    await refused(approve(service, approval_id, member.token), 403, 'INSUFFICIENT_PRIVILEGE');
    await refused(approve(service, approval_id, bystander.token), 404, 'NOT_FOUND');
    await refused(approve(service, approval_id, other.owner.token), 404, 'NOT_FOUND');
    // An admin stands in only where nobody manages the vault.
    await refused(approve(service, approval_id, tenant.owner.token), 403, 'INSUFFICIENT_PRIVILEGE');
    // Somebody who became a manager after the request does not decide it.
    const puppet = { user: bystander.id, role: 'manager' };
    await ok(as(manager, 'POST', `/v1/vaults/${vault}/members`, puppet), 201);
    await refused(approve(service, approval_id, bystander.token), 404, 'NOT_FOUND');
    const blind = { token: manager.token, body: { digest: 'never-seen' } };
    await refused(service.call('POST', `/approvals/${approval_id}/approve`, blind), 409, 'VERSION_CONFLICT');
    await refused(read(), 403, 'INSUFFICIENT_PRIVILEGE');
    await ok(approve(service, approval_id, manager.token));
    await ok(read());
  });

  test('is decided by an admin where nobody manages the vault', async () => {
    await ok(as(tenant.owner, 'DELETE', `/v1/vaults/${vault}/members/${manager.id}`));
    const { approval_id } = await ok(request(), 202);
    await ok(approve(service, approval_id, tenant.owner.token));
    await ok(read());
  });

  test('is not given once the requester or the vault is gone, and a race with that is won by one of them', async () => {
    const { approval_id } = await ok(request(), 202);
    const disabling = as(tenant.owner, 'PATCH', `/v1/users/${member.id}`, { status: 'disabled' });
    const [decided] = await Promise.all([approve(service, approval_id, manager.token), disabling]);
    assert.ok([200, 409].includes(decided.status), String(decided.status));
    await refused(read(), 401, 'INVALID_TOKEN');
    member = await addColleague(service, tenant.id, 'member');
    const late = await ok(request(), 202);
    await ok(as(manager, 'DELETE', `/v1/vaults/${vault}`));
    const { status, failure } = await ok(approve(service, late.approval_id, manager.token));
    assert.deepEqual([status, failure.code], ['failed', 'VERSION_CONFLICT']);
  });

  test('goes when the person goes, and not to a later vault of the name', async () => {
    await given();
    await ok(as(manager, 'DELETE', `/v1/vaults/${vault}`));
    await refused(read(), 404, 'VAULT_NOT_FOUND');
    await ok(as(tenant.owner, 'DELETE', `/v1/users/${member.id}`));
    const rows = service.app.kernel.database.read.selectFrom('timed_access').selectAll();
    assert.deepEqual(await rows.where('tenant_id', '=', tenant.id).execute(), []);
  });

  test('that somebody wrote into the database gives nothing, nor does a later end', async () => {
    service.expectErrorLogs(/row/);
    const id = await given({ ttl_seconds: 60 });
    await behindItsBack(service.app.kernel.database, (db) =>
      db
        .updateTable('timed_access')
        .set({ expires_at: service.clock.now() + 1000 * HOUR_MS })
        .where('access_id', '=', id)
        .execute(),
    );
    service.clock.advance(HOUR_MS);
    await refused(read(), 403, 'INSUFFICIENT_PRIVILEGE');
  });

  test('is shown by who-can with its end, while it lasts', async () => {
    await given();
    const who = async () => {
      const body = { action: 'secrets:read', resource: `vault/${vault}/db/password` };
      const { principals } = await ok(as(tenant.owner, 'POST', '/v1/policies/who-can', body));
      return principals.find(({ id }: { id: string }) => id === member.id);
    };
    const [{ expires_at: until }] = await listed();
    assert.deepEqual((await who()).because, [{ kind: 'access', name: 'reader', until }]);
    service.clock.advance(2 * HOUR_MS);
    assert.equal(await who(), undefined);
  });

  test('is counted as a reader by the risk of a secret, while it lasts', async () => {
    const readers = async () => {
      const path = `${secretUrl(vault, 'db/password')}/risk`;
      const { risk_factors } = await ok(as(tenant.owner, 'GET', path));
      return risk_factors.find(({ factor }: { factor: string }) => factor === 'readers')?.why;
    };
    for (let i = 0; i < 3; i++) {
      const { id } = await addColleague(service, tenant.id, 'member');
      await ok(as(manager, 'POST', `/v1/vaults/${vault}/members`, { user: id, role: 'reader' }), 201);
    }
    assert.equal(await readers(), undefined);
    await given();
    assert.equal(await readers(), '6 users and connections may read it.');
    service.clock.advance(2 * HOUR_MS);
    assert.equal(await readers(), undefined);
  });

  test('is listed to its owner and to managers, newest first, page by page', async () => {
    for (const reason of ['one', 'two', 'three']) await given({ reason });
    const stranger = await addColleague(service, tenant.id, 'member');
    const other = await addTenant(service);
    for (const by of [stranger, other.owner]) assert.deepEqual(await listed('', by), []);
    const reasons = async (by: { token: string }, query = '') =>
      (await listed(query, by)).map(({ reason }: { reason: string }) => reason);
    for (const by of [member, manager, tenant.owner]) assert.deepEqual(await reasons(by), ['three', 'two', 'one']);
    const page = await ok(as(manager, 'GET', '/v1/access-requests?limit=2'));
    assert.equal(page.access.length, 2);
    const next = await ok(as(manager, 'GET', `/v1/access-requests?limit=2&cursor=${page.next_cursor}`));
    assert.deepEqual([next.access[0].reason, next.next_cursor], ['one', null]);
    assert.deepEqual(await reasons(manager, 'vault=nowhere'), []);
    assert.deepEqual(await reasons(manager, 'status=ended'), []);
  });

  test('lasts in at most twenty places, and the request for one more fails', async () => {
    for (let i = 0; i < 20; i++) await given({ path: `db/${i}` });
    const { approval_id } = await ok(request({ path: 'db/one-more' }), 202);
    const { status, failure } = await ok(approve(service, approval_id, manager.token));
    assert.deepEqual([status, failure.code], ['failed', 'QUOTA_EXCEEDED']);
  });

  rule('is requested of a vault that does not exist like of any other', async () => {
    const known = await ok(request(), 202);
    const unknown = await ok(request({ vault: 'nowhere' }), 202);
    const shown = async (id: string) => {
      const { request: seen, details, levels, can_approve } = await ok(as(member, 'GET', `/approvals/${id}`));
      return { differences: seen.differences, names: seen.names, details, levels, can_approve };
    };
    assert.deepEqual(await shown(unknown.approval_id), await shown(known.approval_id));
    const { status, failure } = await ok(approve(service, unknown.approval_id, tenant.owner.token));
    assert.deepEqual([status, failure.code], ['failed', 'VAULT_NOT_FOUND']);
  });

  rule('is refused with a bad role, path, time or reason', async () => {
    await invalid(request({ role: 'manager' }), '/body/role');
    for (const ttl_seconds of [0, 59, 30 * 24 * 3600 + 1, 1.5, '60'])
      await invalid(request({ ttl_seconds }), '/body/ttl_seconds');
    for (const path of ['', '/db', 'db//x', '../x', 'a'.repeat(1025)]) await invalid(request({ path }), '/body/path');
    for (const reason of ['', 'two\nlines', 'a'.repeat(513)]) await invalid(request({ reason }), '/body/reason');
    await invalid(request({ vault: 'no/vault' }), '/body/vault');
    await invalid(request({ user: member.id }), '/body/user');
    assert.deepEqual((await ok(as(member, 'GET', '/approvals'))).approvals, []);
  });

  rule('is not requested by a token with a scope', async () => {
    const { token } = await addToken(service, member.token, { scope: { vaults: [vault], actions: ['*'] } });
    await refused(request({}, { ...member, token }), 403, 'INSUFFICIENT_PRIVILEGE');
  });
});
