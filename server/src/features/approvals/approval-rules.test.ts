import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  addColleague,
  addTenant,
  approve,
  approved,
  type Colleague,
  ok,
  openSession,
  refused,
  type Tenant,
  tryLogIn,
  uniqueName,
} from '../../../../test/support/people.ts';
import { onSqliteAtLanding, type Service, startService } from '../../../../test/support/service.ts';
import { addTotp, beginTotp } from '../../../../test/support/totp.ts';
import { SECOND_MS } from '../../kernel/base/clock.ts';

const STEP_MS = 30 * SECOND_MS;
const PASSWORD = 'correct horse battery 9';
const allow = (action: string) => ({
  version: '2026-01-01',
  statement: [{ effect: 'allow', action: [action], resource: ['*'] }],
});

/** Which changes take two people: those that give or take rights, and those by which one person could become the second. */
onSqliteAtLanding('what needs approval', (database) => {
  let service: Service;
  let tenant: Tenant;
  let admin: Colleague;
  before(async () => {
    service = await startService(database);
    tenant = await addTenant(service);
    admin = await addColleague(service, tenant.id, 'admin');
  });
  after(() => service.close());

  const send = (method: string, path: string, body?: object, token = tenant.owner.token) =>
    service.call(method, path, { token, ...(body !== undefined && { body }) });
  const colleague = (role: 'owner' | 'admin' | 'auditor' | 'member') => addColleague(service, tenant.id, role);
  const newPolicy = async () => {
    const body = { name: uniqueName('policy'), document: allow('audit:read') };
    return String((await ok(send('POST', '/v1/policies', body), 201)).name);
  };
  const attach = (name: string, principal: object) => send('POST', `/v1/policies/${name}/attach`, { principal });
  const newGroup = () => ok(send('POST', '/v1/groups', { name: uniqueName('group') }), 201);

  test('to make somebody with a role, but not a member', async () => {
    const body = () => ({ email: `${uniqueName('new')}@example.com` });
    await ok(send('POST', '/v1/users', body()), 201);
    for (const role of ['auditor', 'admin', 'owner']) await ok(send('POST', '/v1/users', { ...body(), role }), 202);
    const { email } = body();
    await approved(service, send('POST', '/v1/users', { email, role: 'auditor' }), admin.token);
    await refused(send('POST', '/v1/users', { email }), 409, 'ALREADY_EXISTS');
  });

  test('to change a role; the status of an admin; the password of a user who has a role; nothing else about a person', async () => {
    const rows: [Parameters<typeof colleague>[0], object, number][] = [
      ['member', { role: 'auditor' }, 202],
      ['auditor', { role: 'member' }, 202],
      ['admin', { role: 'member' }, 202],
      ['member', { role: 'member', name: 'Same' }, 200],
      ['member', { status: 'disabled' }, 200],
      ['auditor', { status: 'disabled' }, 200],
      ['admin', { status: 'disabled' }, 202],
      ['owner', { status: 'disabled' }, 202],
      ['admin', { status: 'active', name: 'Still here' }, 200],
      ['member', { password: PASSWORD }, 200],
      ['auditor', { password: PASSWORD }, 202],
      ['admin', { password: PASSWORD }, 202],
      ['owner', { password: PASSWORD, name: 'Taken over' }, 202],
    ];
    for (const [role, change, status] of rows) {
      const before = await colleague(role);
      const answer = await send('PATCH', `/v1/users/${before.id}`, change);
      assert.equal(answer.status, status, `${role} ${JSON.stringify(change)}: ${answer.text}`);
      if (status === 202) {
        const user = await ok(send('GET', `/v1/users/${before.id}`));
        assert.deepEqual([user.role, user.status, user.has_password, user.name], [role, 'active', false, '']);
        await ok(send('GET', '/auth/me', undefined, before.token));
      }
    }
  });

  test('who approves sees what would change, and never a password', async () => {
    const { id } = await colleague('admin');
    const { approval_id } = await ok(send('PATCH', `/v1/users/${id}`, { role: 'auditor', password: PASSWORD }), 202);
    const { details } = await ok(send('GET', `/approvals/${approval_id}`, undefined, admin.token));
    assert.deepEqual(details, { changed: ['role', 'password'], role: 'auditor', sets_password: true });
    for (const [more, noted] of [
      [{ password: PASSWORD }, true],
      [{}, undefined],
    ] as const) {
      const body = { email: `${uniqueName('new')}@example.com`, role: 'admin', ...more };
      const asked = await ok(send('POST', '/v1/users', body), 202);
      const shown = await ok(send('GET', `/approvals/${asked.approval_id}`, undefined, admin.token));
      assert.equal(shown.details.sets_password, noted);
      assert.ok(!JSON.stringify(shown).includes(PASSWORD));
    }
  });

  test('a password set with approval works, and ends what there was', async () => {
    const person = await colleague('admin');
    await approved(service, send('PATCH', `/v1/users/${person.id}`, { password: PASSWORD }), admin.token);
    await refused(send('GET', '/auth/me', undefined, person.token), 401, 'INVALID_TOKEN');
    await ok(tryLogIn(service, { email: person.email, password: PASSWORD, tenant: tenant.name }));
  });

  test('who would get a role is the person it was requested for: a new way into the account is another person', async () => {
    const askFor = async (id: string) =>
      (await ok(send('PATCH', `/v1/users/${id}`, { role: 'admin' }), 202)).approval_id;
    const outcome = async (approvalId: string) => {
      const { status, failure } = await ok(approve(service, approvalId, admin.token));
      return [status, failure?.code];
    };
    const roleOf = async (id: string) => (await ok(send('GET', `/v1/users/${id}`))).role;
    const stale = ['failed', 'VERSION_CONFLICT'];

    const taken = await colleague('member');
    const asked = await askFor(taken.id);
    await ok(send('PATCH', `/v1/users/${taken.id}`, { password: PASSWORD }));
    assert.deepEqual(await outcome(asked), stale, 'who asked chose the password meanwhile');
    assert.equal(await roleOf(taken.id), 'member');
    assert.deepEqual(await outcome(await askFor(taken.id)), ['completed', undefined], 'asked for again it is known');

    const bared = await colleague('member');
    await confirm(bared);
    const withFactor = await askFor(bared.id);
    await approved(service, send('DELETE', `/v1/users/${bared.id}/mfa`), admin.token);
    assert.deepEqual(await outcome(withFactor), stale, 'the second factor is gone');

    const renamed = await colleague('member');
    const untouched = await askFor(renamed.id);
    await ok(send('PATCH', `/v1/users/${renamed.id}`, { name: 'Another name' }));
    assert.deepEqual(await outcome(untouched), ['completed', undefined]);
    assert.equal(await roleOf(renamed.id), 'admin');
  });

  test('to remove an admin or owner, and nobody else', async () => {
    for (const role of ['member', 'auditor'] as const) {
      await ok(send('DELETE', `/v1/users/${(await colleague(role)).id}`), 200);
    }
    for (const role of ['admin', 'owner'] as const) {
      const { id } = await colleague(role);
      await approved(service, send('DELETE', `/v1/users/${id}`), admin.token);
      await refused(send('GET', `/v1/users/${id}`), 404, 'NOT_FOUND');
    }
  });

  test('what a person may not do they may not ask for either', async () => {
    const owner = await colleague('owner');
    const by = (method: string, path: string, body?: object) => send(method, path, body, admin.token);
    await refused(by('PATCH', `/v1/users/${owner.id}`, { role: 'member' }), 403, 'INSUFFICIENT_PRIVILEGE');
    await refused(by('DELETE', `/v1/users/${owner.id}`), 403, 'INSUFFICIENT_PRIVILEGE');
    await refused(by('DELETE', `/v1/users/${owner.id}/mfa`), 403, 'INSUFFICIENT_PRIVILEGE');
    await refused(attach(await newPolicy(), { user: 'nobody@example.com' }), 404, 'NOT_FOUND');
  });

  test('to attach, detach, or rewrite what is attached', async () => {
    const { id } = await colleague('member');
    const name = await newPolicy();
    const rewrite = (document: object) => send('PUT', `/v1/policies/${name}`, { document });
    await ok(rewrite(allow('audit:verify')));
    await approved(service, attach(name, { user: id }), admin.token);
    await ok(rewrite(allow('audit:verify')), 200);
    assert.equal((await ok(send('GET', `/v1/policies/${name}`))).version, 3, 'the same document needs nobody');
    await approved(service, rewrite(allow('audit:read')), admin.token);
    const { document, version } = await ok(send('GET', `/v1/policies/${name}`));
    assert.deepEqual([document, version], [allow('audit:read'), 4]);
    const stale = await ok(rewrite(allow('users:list')), 202);
    await approved(service, rewrite(allow('groups:list')), admin.token);
    const { status, failure } = await ok(approve(service, stale.approval_id, admin.token));
    assert.deepEqual([status, failure.code], ['failed', 'VERSION_CONFLICT'], 'it was asked for over another version');
    const detach = send('POST', `/v1/policies/${name}/detach`, { principal: { user: id } });
    await approved(service, detach, admin.token);
    assert.deepEqual((await ok(send('GET', `/v1/policies/${name}`))).attachments, []);
  });

  test('to join, leave or remove a group that a policy is attached to, and no other', async () => {
    const { id: user_id, token } = await colleague('member');
    const plain = await newGroup();
    await ok(send('POST', `/v1/groups/${plain.id}/members`, { user_id }), 201);
    await ok(send('DELETE', `/v1/groups/${plain.id}/members/${user_id}`), 200);
    await ok(send('DELETE', `/v1/groups/${plain.id}`), 200);

    const group = await newGroup();
    await approved(service, attach(await newPolicy(), { group: group.id }), admin.token);
    const members = `/v1/groups/${group.id}/members`;
    const mayRead = async () => (await send('GET', '/v1/audit?limit=1', undefined, token)).status;
    const joining = send('POST', members, { user_id });
    await ok(joining, 202);
    assert.equal(await mayRead(), 403);
    await approved(service, joining, admin.token);
    assert.equal(await mayRead(), 200);
    await ok(send('PATCH', `/v1/groups/${group.id}`, { description: 'gives nobody anything' }));
    const leaving = send('DELETE', `${members}/${user_id}`);
    await ok(leaving, 202);
    assert.equal(await mayRead(), 200);
    await approved(service, leaving, admin.token);
    assert.equal(await mayRead(), 403);
    await approved(service, send('DELETE', `/v1/groups/${group.id}`), admin.token);
    await refused(send('GET', `/v1/groups/${group.id}`), 404, 'NOT_FOUND');
  });

  test('to join a group that is in a vault, which would let one in as well', async () => {
    const { id: user_id } = await colleague('member');
    const group = await newGroup();
    const vault = uniqueName('vault');
    await ok(send('POST', '/v1/vaults', { name: vault, environment: 'staging' }), 201);
    await ok(send('POST', `/v1/vaults/${vault}/members`, { group: group.id, role: 'manager' }), 201);
    await ok(send('POST', `/v1/groups/${group.id}/members`, { user_id }), 202);
  });

  const confirm = async ({ id }: { id: string }) => {
    await addTotp(service, id);
    service.clock.advance(STEP_MS);
  };
  const isEnrolled = async ({ token }: { token: string }) =>
    (await ok(send('GET', '/auth/mfa', undefined, token))).totp.enrolled;
  const shown = ({ id }: { id: string }) => openSession(service, id, { isFactorShown: true });
  const disable = async (who: { id: string }) => send('DELETE', '/auth/mfa/totp', undefined, await shown(who));

  test('to give up one’s second factor, once it is confirmed', async () => {
    const person = await colleague('member');
    await refused(disable(person), 404, 'NOT_FOUND');
    await beginTotp(service, person.id);
    await ok(disable(person), 200);
    await confirm(person);
    const { approval_id } = await ok(disable(person), 202);
    assert.equal(await isEnrolled(person), true);
    await refused(approve(service, approval_id, person.token), 403, 'INSUFFICIENT_PRIVILEGE');
    assert.equal((await ok(approve(service, approval_id, admin.token))).status, 'completed');
    const { totp, recovery_codes_left } = await ok(send('GET', '/auth/mfa', undefined, person.token));
    assert.deepEqual([totp.enrolled, recovery_codes_left], [false, 0]);
  });

  test('to take away somebody’s who lost it', async () => {
    const person = await colleague('admin');
    await refused(send('DELETE', `/v1/users/${person.id}/mfa`), 404, 'NOT_FOUND');
    await refused(send('DELETE', '/v1/users/user_none/mfa'), 404, 'NOT_FOUND');
    await confirm(person);
    await approved(service, send('DELETE', `/v1/users/${person.id}/mfa`), admin.token);
    assert.equal(await isEnrolled(person), false);
    await refused(
      send('DELETE', `/v1/users/${person.id}/mfa`, undefined, (await colleague('member')).token),
      403,
      'INSUFFICIENT_PRIVILEGE',
    );
  });

  test('a factor enrolled anew meanwhile is not the one that was to go', async () => {
    const person = await colleague('member');
    await confirm(person);
    const own = await ok(disable(person), 202);
    await approved(service, send('DELETE', `/v1/users/${person.id}/mfa`), admin.token);
    await confirm(person);
    const { status, failure } = await ok(approve(service, own.approval_id, admin.token));
    assert.deepEqual([status, failure.code], ['failed', 'VERSION_CONFLICT']);
    assert.equal(await isEnrolled(person), true);
  });

  test('the only admin of a tenant gives up theirs at once', async () => {
    const { owner } = await addTenant(service);
    await confirm(owner);
    await ok(disable(owner), 200);
    const { entries } = await ok(send('GET', '/v1/audit?action=mfa:disable', undefined, owner.token));
    assert.equal(entries[0].details.self_approved, true);
  });
});
