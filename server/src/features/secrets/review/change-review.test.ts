import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { addConnection, callAs } from '../../../../../test/support/machines.ts';
import {
  addColleague,
  addTenant,
  approve,
  approved,
  type Colleague,
  ok,
  refused,
  type Tenant,
  uniqueName,
} from '../../../../../test/support/people.ts';
import { onBothDatabases, type Service, startService } from '../../../../../test/support/service.ts';
import { addPolicy, addVault, auditOf, readValue, runJobs, secretUrl } from '../../../../../test/support/vaults.ts';
import { DAY_MS } from '../../../kernel/base/clock.ts';

onBothDatabases('changes of secrets that are reviewed', (database, { rule }) => {
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
    await ok(create('db/password', { value: 'first' }), 201);
    await ok(as(reviewer, 'PATCH', `/v1/vaults/${vault}`, { change_control: 'review' }));
  });

  const as = ({ token }: { token: string }, method: string, path: string, body?: unknown) =>
    service.call(method, path, { token, ...(body !== undefined && { body }) });
  const create = (path: string, more: object = {}, by: { token: string } = writer) =>
    as(by, 'POST', `/v1/vaults/${vault}/secrets`, { path, value: 'a value', ...more });
  const put = (body: object, by: { token: string } = writer) => as(by, 'PUT', secretUrl(vault, 'db/password'), body);
  const post = (verb: string, body: object) => as(writer, 'POST', secretUrl(vault, 'db/password', verb), body);
  const value = (path = 'db/password') => readValue(service, vault, path, { token: tenant.owner.token });
  const show = async (id: string, by: { token: string } = reviewer) => ok(as(by, 'GET', `/approvals/${id}`));

  test('wait, happen once they are approved, and are authored by their requester', async () => {
    const waiting = await ok(put({ value: 'second', reason: 'rotated by hand' }), 202);
    assert.deepEqual([waiting.approval, waiting.resource], ['secret_change', `vault/${vault}/db/password`]);
    assert.equal(await value(), 'first');
    const { status } = await ok(approve(service, waiting.approval_id, reviewer.token));
    assert.equal(status, 'completed');
    assert.equal(await value(), 'second');
    const { versions } = await ok(as(writer, 'GET', secretUrl(vault, 'db/password', 'versions')));
    assert.deepEqual([versions[0].author.id, versions[0].reason], [writer.id, 'rotated by hand']);
  });

  test('are all that changes a secret', async () => {
    const { version } = await ok(as(writer, 'GET', secretUrl(vault, 'db/password')));
    const waiting = [
      await ok(create('new'), 202),
      await ok(put({ metadata: { owner: 'Ann' } }), 202),
      await ok(put({ expires_at: '2099-01-31' }), 202),
      await ok(post('rotate', { value: 'rotated' }), 202),
      await ok(post('rollback', { to_version: 1 }), 202),
      await ok(post('move', { to_path: 'moved' }), 202),
      await ok(as(writer, 'DELETE', secretUrl(vault, 'db/password')), 202),
    ];
    assert.equal(new Set(waiting.map(({ approval_id }) => approval_id)).size, waiting.length);
    assert.equal((await ok(as(writer, 'GET', secretUrl(vault, 'db/password')))).version, version);
    assert.equal(await value(), 'first');
    await approved(service, create('another'), reviewer.token);
    assert.equal(await value('another'), 'a value');
    await approved(service, as(writer, 'DELETE', secretUrl(vault, 'another')), reviewer.token);
    await approved(service, as(writer, 'POST', secretUrl(vault, 'another', 'restore'), {}), reviewer.token);
    await approved(
      service,
      as(writer, 'POST', secretUrl(vault, 'another', 'move'), { to_path: 'moved' }),
      reviewer.token,
    );
    assert.equal(await value('moved'), 'a value');
    await approved(service, post('rotate', { generator: { length: 24 } }), reviewer.token);
    assert.equal((await value()).length, 24);
  });

  test('are approved by one other person who reviews, and by nobody else', async () => {
    const { approval_id: id } = await ok(put({ value: 'second' }), 202);
    const other = await addTenant(service);
    const peer = await addColleague(service, tenant.id, 'member');
    await ok(as(reviewer, 'POST', `/v1/vaults/${vault}/members`, { user: peer.id, role: 'writer' }), 201);
    const auditor = await addColleague(service, tenant.id, 'auditor');
    await refused(approve(service, id, writer.token), 403, 'INSUFFICIENT_PRIVILEGE');
    await refused(approve(service, id, peer.token), 404, 'NOT_FOUND');
    await refused(approve(service, id, auditor.token), 403, 'INSUFFICIENT_PRIVILEGE');
    await refused(approve(service, id, other.owner.token), 404, 'NOT_FOUND');
    const blind = service.call('POST', `/approvals/${id}/approve`, {
      token: reviewer.token,
      body: { digest: 'unseen' },
    });
    await refused(blind, 409, 'VERSION_CONFLICT');
    assert.equal(await value(), 'first');
    assert.equal((await show(id)).can_approve, true);
    assert.equal((await show(id, writer)).can_approve, false);
    const listed = await ok(as(reviewer, 'GET', '/approvals?status=pending'));
    assert.deepEqual(
      listed.approvals.map((one: { id: string }) => one.id),
      [id],
    );
    assert.deepEqual((await ok(as(peer, 'GET', '/approvals'))).approvals, []);
    // A manager and an owner cannot approve what they requested themselves.
    for (const by of [reviewer, tenant.owner]) {
      const own = await ok(put({ value: `of ${by.id}` }, by), 202);
      await refused(approve(service, own.approval_id, by.token), 403, 'INSUFFICIENT_PRIVILEGE');
    }
    await ok(approve(service, id, tenant.owner.token));
    assert.equal(await value(), 'second');
  });

  test('are not approved by a puppet: a new manager takes two people, and reviews only what is requested later', async () => {
    const puppet = await addColleague(service, tenant.id, 'member');
    const { approval_id: id } = await ok(put({ value: 'second' }, reviewer), 202);
    await addColleague(service, tenant.id, 'admin');
    const adding = await ok(
      as(reviewer, 'POST', `/v1/vaults/${vault}/members`, { user: puppet.id, role: 'manager' }),
      202,
    );
    await refused(approve(service, id, puppet.token), 404, 'NOT_FOUND');
    await ok(approve(service, adding.approval_id, tenant.owner.token));
    await refused(approve(service, id, puppet.token), 404, 'NOT_FOUND');
    assert.equal(await value(), 'first');
    const later = await ok(put({ value: 'third' }, reviewer), 202);
    await ok(approve(service, later.approval_id, puppet.token));
    assert.equal(await value(), 'third');
  });

  test('are reviewed by a policy on the path alone', async () => {
    const narrow = await addColleague(service, tenant.id, 'member');
    const statement = { action: ['secrets:review'], resource: [`vault/${vault}/db/**`] };
    await addPolicy(service, { user: narrow.id }, [statement], tenant.owner.token);
    const there = await ok(put({ value: 'second' }), 202);
    const elsewhere = await ok(create('elsewhere'), 202);
    const out = await ok(post('move', { to_path: 'moved/out' }), 202);
    for (const { approval_id } of [elsewhere, out])
      await refused(approve(service, approval_id, narrow.token), 404, 'NOT_FOUND');
    const seen = await show(there.approval_id, narrow);
    assert.ok(!JSON.stringify(seen).includes('second') && !JSON.stringify(seen).includes('first'));
    await ok(approve(service, there.approval_id, narrow.token));
    await refused(as(narrow, 'GET', secretUrl(vault, 'db/password')), 403, 'INSUFFICIENT_PRIVILEGE');
  });

  test('show who, why and what, and of values only what they are like', async () => {
    const marker = uniqueName('marker');
    await approved(service, create('other', { value: marker }), reviewer.token);
    const body = { value: marker, metadata: { owner: 'Ann' }, reason: 'new account' };
    const { approval_id: id } = await ok(put(body), 202);
    const seen = await show(id);
    assert.equal(seen.requested_by.id, writer.id);
    assert.deepEqual(seen.request.body, { value: '[redacted]', metadata: { owner: 'Ann' }, reason: 'new account' });
    assert.deepEqual(seen.request.differences, [
      { what: 'metadata', before: { tags: [] }, after: { owner: 'Ann', tags: [] } },
      {
        what: 'value',
        before: 'the present value',
        after: { bytes: marker.length, is_present_value: false, is_in_another_secret: true },
      },
    ]);
    // A requester could test a guess by what the service found about the value.
    const own = await show(id, writer);
    assert.deepEqual([own.request.differences, own.details], [[], {}]);
    const same = await ok(put({ value: 'first' }), 202);
    const [difference] = (await show(same.approval_id)).request.differences;
    assert.deepEqual(difference.after, { bytes: 5, is_present_value: true, is_in_another_secret: false });
    for (const entry of await auditOf(service, `vault=${vault}`, tenant.owner.token))
      assert.ok(!JSON.stringify(entry).includes(marker));
    assert.ok(!service.logs.join().includes(marker));
  });

  test('fail if the secret changed since, or the expected version is another', async () => {
    await refused(put({ value: 'x', expected_version: 7 }), 409, 'VERSION_CONFLICT');
    const [one, two] = [
      await ok(put({ value: 'one', expected_version: 1 }), 202),
      await ok(put({ value: 'two', expected_version: 1 }), 202),
    ];
    await ok(approve(service, one.approval_id, reviewer.token));
    const { status, failure } = await ok(approve(service, two.approval_id, reviewer.token));
    assert.deepEqual([status, failure.code], ['failed', 'VERSION_CONFLICT']);
    assert.match(failure.message, /at version 2/);
    assert.equal(await value(), 'one');
  });

  test('that are approved at once by two people happen once', async () => {
    const { approval_id: id } = await ok(put({ value: 'second' }), 202);
    const { digest } = await show(id);
    const answers = await Promise.all(
      [reviewer, tenant.owner].map(({ token }) =>
        service.call('POST', `/approvals/${id}/approve`, { token, body: { digest } }),
      ),
    );
    assert.deepEqual(answers.map(({ status }) => status).toSorted(), [200, 409]);
    const { version } = await ok(as(writer, 'GET', secretUrl(vault, 'db/password')));
    assert.equal(version, 2);
  });

  test('do not happen once the requester lost the right to them', async () => {
    const { approval_id: id } = await ok(put({ value: 'second' }), 202);
    await ok(as(tenant.owner, 'DELETE', `/v1/vaults/${vault}/members/${writer.id}`));
    const { status, failure } = await ok(approve(service, id, reviewer.token));
    assert.deepEqual([status, failure.code], ['failed', 'INSUFFICIENT_PRIVILEGE']);
    assert.equal(await value(), 'first');
  });

  test('are compared with what was shown, also once the vault is no longer reviewed', async () => {
    const { approval_id: id } = await ok(put({ metadata: { owner: 'Ann' } }), 202);
    await ok(as(tenant.owner, 'PATCH', `/v1/vaults/${vault}`, { change_control: 'none' }));
    await ok(put({ value: 'meanwhile' }));
    const { status } = await ok(approve(service, id, reviewer.token));
    assert.equal(status, 'failed');
  });

  test('stop waiting only if a second person agrees', async () => {
    await addColleague(service, tenant.id, 'admin');
    const off = await ok(as(reviewer, 'PATCH', `/v1/vaults/${vault}`, { change_control: 'none' }), 202);
    assert.equal(off.approval, 'siem_change');
    await ok(put({ value: 'second' }), 202);
    await ok(approve(service, off.approval_id, tenant.owner.token));
    await ok(put({ value: 'third' }));
  });

  test('of a machine wait too, unless a policy lets it bypass the review, which is recorded', async () => {
    const machine = async (bypasses: boolean) => {
      const rights = { allowed_paths: ['*'], scopes: ['secrets:*'] };
      const made = await addConnection(service, vault, rights, tenant.owner.token);
      if (bypasses) {
        const statement = { action: ['changes:bypass'], resource: [`vault/${vault}/**`] };
        await addPolicy(service, { app_connection: made.client_id }, [statement], tenant.owner.token);
      }
      return (body: object) => callAs(service, made, 'PUT', secretUrl(vault, 'db/password'), { body });
    };
    const [ordinary, trusted] = [await machine(false), await machine(true)];
    const { approval_id } = await ok(ordinary({ value: 'by a machine' }), 202);
    // One person gives a connection its scopes, so none of them is this right.
    const scoped = { name: uniqueName('scoped'), vault, mtls_required: false, scopes: ['changes:bypass'] };
    await refused(as(tenant.owner, 'POST', '/v1/app-connections', scoped), 422, 'VALIDATION_FAILED');
    await ok(trusted({ value: 'at once' }));
    assert.equal(await value(), 'at once');
    const [entry] = await auditOf(service, `vault=${vault}&action=secrets:update&decision=allow`, tenant.owner.token);
    assert.equal(entry.details.bypassed_review, true);
    const { status } = await ok(approve(service, approval_id, reviewer.token));
    assert.equal(status, 'failed', 'the secret was changed since');
  });

  test('that a schedule makes do not wait, because the schedule was reviewed', async () => {
    const rotation = { interval_days: 1 };
    await approved(service, create('key', { type: 'api_key', value: undefined, rotation }), reviewer.token);
    const before = await value('key');
    service.clock.advance(DAY_MS + 1000);
    await runJobs(service);
    assert.notEqual(await value('key'), before);
  });

  rule('cannot come by an import, a copy or a move from another vault', async () => {
    const elsewhere = await addVault(service, {}, tenant.owner.token);
    await ok(as(tenant.owner, 'POST', `/v1/vaults/${elsewhere}/secrets`, { path: 'x', value: 'v' }), 201);
    for (const dry_run of [true, false]) {
      const body = { secrets: { imported: 'v' }, dry_run };
      await refused(as(tenant.owner, 'POST', `/v1/vaults/${vault}/import`, body), 409, 'REVIEW_REQUIRED');
    }
    for (const verb of ['move', 'copy']) {
      const body = { to_vault: vault, to_path: 'arrived' };
      await refused(as(tenant.owner, 'POST', secretUrl(elsewhere, 'x', verb), body), 409, 'REVIEW_REQUIRED');
    }
    const away = { to_vault: elsewhere, to_path: 'db/password' };
    await ok(as(tenant.owner, 'POST', secretUrl(vault, 'db/password', 'move'), away), 202);
  });

  rule('are checked when they are requested: what is not valid or not permitted is refused at once', async () => {
    const stranger = await addColleague(service, tenant.id, 'member');
    await refused(put({ value: 'x' }, stranger), 403, 'INSUFFICIENT_PRIVILEGE');
    await refused(create('db/password'), 409, 'SECRET_ALREADY_EXISTS');
    await refused(create('bad', { type: 'json', value: '{' }), 422, 'VALIDATION_FAILED');
    assert.deepEqual((await ok(as(reviewer, 'GET', '/approvals?status=pending'))).approvals, []);
  });

  rule('is a setting of a vault from its creation on, and shown', async () => {
    const name = await addVault(service, { change_control: 'review' }, tenant.owner.token);
    assert.equal((await ok(as(tenant.owner, 'GET', `/v1/vaults/${name}`))).change_control, 'review');
    const body = { path: 'x', value: 'v' };
    await ok(as(tenant.owner, 'POST', `/v1/vaults/${name}/secrets`, body), 202);
    await refused(
      as(tenant.owner, 'PATCH', `/v1/vaults/${name}`, { change_control: 'some' }),
      422,
      'VALIDATION_FAILED',
    );
  });
});
