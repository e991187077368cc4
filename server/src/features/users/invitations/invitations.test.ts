import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { granter } from '../../../../../test/support/isolation.ts';
import {
  addPerson,
  addTenant,
  addToken,
  allPages,
  approve,
  approved,
  invalid,
  logIn,
  ok,
  type Person,
  refused,
  type Tenant,
  tryLogIn,
  uniqueName,
} from '../../../../../test/support/people.ts';
import { behindItsBack } from '../../../../../test/support/rows.ts';
import { type Answer, onSqliteAtLanding, type Service, startService } from '../../../../../test/support/service.ts';
import { INVITATION_TTL_MS } from './invitation.ts';

const PASSWORD = 'chosen by themselves';

onSqliteAtLanding('invitations', (database) => {
  let service: Service;
  let admin: Person;
  let foreign: Tenant;

  before(async () => {
    service = await startService(database);
    admin = await addPerson(service, { role: 'admin' });
    foreign = await addTenant(service);
  });
  after(() => service.close());

  const create = (body: object, token = service.adminToken) => service.call('POST', '/v1/users', { token, body });
  const again = (id: string, token = service.adminToken) => service.call('POST', `/v1/users/${id}/invite`, { token });
  const accept = (token: string, password = PASSWORD) =>
    service.call('POST', '/auth/accept-invite', { token: null, body: { token, password } });
  const look = (token: string) => service.call('POST', '/auth/read-invite', { token: null, body: { token } });
  const patch = (id: string, body: object) => service.call('PATCH', `/v1/users/${id}`, { body });
  const statusOf = async (id: string) => (await ok(service.call('GET', `/v1/users/${id}`))).status;
  const address = () => `${uniqueName('invited')}@example.com`;
  const invite = async (more: object = {}, token?: string) =>
    ok(create({ email: address(), invite: true, ...more }, token), 201);
  const isRefused = async (token: string) => {
    for (const use of [accept, look]) {
      const { message } = await refused(use(token), 401, 'LOGIN_DENIED');
      assert.match(message, /Ask the person who invited you for a new one/);
    }
  };
  const userBy = async (email: string) =>
    (await allPages(service, '/v1/users', 'users')).find((user) => user.email === email);

  test('who is invited chooses a password, once, and is let in', async () => {
    const made = await invite({ name: 'Bob' });
    assert.deepEqual([made.status, made.has_password], ['invited', false]);
    assert.match(made.invitation.token, /^cv_inv_[0-9A-Za-z]{49}$/);
    assert.equal(Date.parse(made.invitation.expires_at), Date.parse(made.created_at) + INVITATION_TTL_MS);
    const session = await ok(accept(made.invitation.token));
    assert.equal(session.user_id, made.id);
    const me = await ok(service.call('GET', '/auth/me', { token: session.token }));
    assert.deepEqual([me.user.email, me.user.role], [made.email, 'member']);
    assert.equal(await statusOf(made.id), 'active');
    assert.ok(await logIn(service, { ...made, password: PASSWORD }));
    await isRefused(made.invitation.token);
  });

  test('its holder sees what it is for, and that uses up nothing', async () => {
    const { owner, name } = await addTenant(service);
    await ok(service.call('PATCH', '/auth/me', { token: owner.token, body: { name: 'Olga Owner' } }));
    const made = await invite({ name: 'Bob', role: 'auditor' }, owner.token);
    const shown = {
      organization: name,
      email: made.email,
      role: 'auditor',
      invited_by: 'Olga Owner',
      expires_at: made.invitation.expires_at,
    };
    assert.deepEqual(await ok(look(made.invitation.token)), shown);
    assert.deepEqual(await ok(look(made.invitation.token)), shown);
    await ok(service.call('PATCH', `/v1/users/${owner.id}`, { token: owner.token, body: { name: '' } }));
    assert.equal((await ok(look(made.invitation.token))).invited_by, null);
    const { entries } = await ok(service.call('GET', '/v1/audit?action=auth:read_invite', { token: owner.token }));
    assert.deepEqual(
      entries.map(({ actor, details }: { actor: { kind: string; id: string }; details: object }) => [actor, details]),
      Array(3).fill([
        { kind: 'anonymous', id: '', name: made.email, key: '' },
        { user: made.id, invited_by: owner.id },
      ]),
    );
    await ok(accept(made.invitation.token));
  });

  test('until then nobody is let in, and lists say so', async () => {
    const { email, id } = await invite();
    for (const password of ['', PASSWORD]) {
      const status = password === '' ? 422 : 401;
      assert.equal((await tryLogIn(service, { email, password, tenant: undefined })).status, status);
    }
    assert.equal((await userBy(email)).status, 'invited');
    assert.equal(await statusOf(id), 'invited');
  });

  test('of five who accept at once one is let in', async () => {
    const { invitation, email } = await invite();
    const answers = await Promise.all(
      Array.from({ length: 5 }, (_, i) => accept(invitation.token, `${PASSWORD} ${i}`)),
    );
    const first = answers.findIndex(({ status }) => status === 200);
    assert.deepEqual(
      answers.filter((_, i) => i !== first).map(({ status }) => status),
      Array(4).fill(401),
    );
    assert.ok(await logIn(service, { id: '', email, tenant: undefined, password: `${PASSWORD} ${first}` }));
  });

  test('a bad token is answered alike, whatever is wrong with it', async () => {
    const used = (await invite()).invitation.token;
    await ok(accept(used));
    const tokens = [
      used,
      `${used.slice(0, -1)}${used.endsWith('0') ? '1' : '0'}`,
      'cv_inv_',
      service.adminToken.slice(0, 100),
    ];
    const told = new Set<string>();
    for (const token of tokens) {
      for (const { text, headers, body } of [await accept(token), await look(token)]) {
        told.add(text.replace(body.error.request_id, '').replace(headers.get('x-request-id') ?? '', ''));
        assert.ok(!text.includes(token));
      }
    }
    assert.equal(told.size, 1);
    await invalid(accept(used, 'short'), '/body/password');
    await invalid(accept(''), '/body/token');
    await invalid(look(''), '/body/token');
    await invalid(look('cv_inv_'.padEnd(129, 'x')), '/body/token');
    await invalid(create({ email: address(), invite: true, password: PASSWORD }), '/body/password');
  });

  test('it ends after 72 hours, and can be given anew', async () => {
    const { id, invitation } = await invite();
    service.clock.advance(INVITATION_TTL_MS);
    await isRefused(invitation.token);
    const { token } = await ok(again(id), 201);
    await isRefused(invitation.token);
    await ok(accept(token));
    const { message } = await refused(again(id), 409, 'IN_USE');
    assert.match(message, /PATCH/);
  });

  test('who was added without a password can be invited, an owner with a token alone by nobody', async () => {
    const { id, email } = await ok(create({ email: address() }), 201);
    const { token } = await ok(again(id), 201);
    assert.equal(await statusOf(id), 'invited');
    await ok(accept(token));
    assert.ok(await logIn(service, { id, email, tenant: undefined, password: PASSWORD }));
    const { user } = await ok(service.call('GET', '/auth/me'));
    await refused(again(user.id), 403, 'INSUFFICIENT_PRIVILEGE');
    await ok(service.call('GET', '/auth/me'));
  });

  test('a new one ends the one before', async () => {
    const { id, invitation } = await invite();
    const { token } = await ok(again(id), 201);
    await isRefused(invitation.token);
    await ok(accept(token));
  });

  test('a password, a status, or deletion ends it', async () => {
    const given = await invite();
    assert.equal((await ok(patch(given.id, { password: 'given by an admin' }))).status, 'active');
    const disabled = await invite();
    await ok(patch(disabled.id, { status: 'disabled' }));
    const deleted = await invite();
    await ok(service.call('DELETE', `/v1/users/${deleted.id}`));
    for (const { invitation } of [given, disabled, deleted]) await isRefused(invitation.token);
    await ok(patch(disabled.id, { status: 'active' }));
    await isRefused(disabled.invitation.token);
    const renamed = await invite();
    await ok(patch(renamed.id, { name: 'Another name' }));
    await ok(accept(renamed.invitation.token));
  });

  test('with a role it waits for approval, nobody is shown a token then, and only the requester can have one', async () => {
    const email = address();
    const asked = create({ email, role: 'admin', invite: true });
    assert.equal((await asked).status, 202);
    const carriedOut = await approved(service, asked, admin.token);
    assert.ok(!JSON.stringify(carriedOut).includes('cv_inv_'));
    const { id, status } = await userBy(email);
    assert.equal(status, 'invited');
    await refused(again(id, admin.token), 403, 'INSUFFICIENT_PRIVILEGE');
    const { token } = await ok(again(id), 201);
    const session = await ok(accept(token));
    assert.equal((await ok(service.call('GET', '/auth/me', { token: session.token }))).user.role, 'admin');
    await ok(service.call('GET', '/v1/users', { token: session.token }));
  });

  test('a new role ends the invitation, and only the requester of the role can give another', async () => {
    const made = await invite({}, admin.token);
    const asked = service.call('PATCH', `/v1/users/${made.id}`, { body: { role: 'auditor' } });
    assert.equal((await asked).status, 202);
    await approved(service, asked, admin.token);
    await isRefused(made.invitation.token);
    await refused(again(made.id, admin.token), 403, 'INSUFFICIENT_PRIVILEGE');
    await ok(accept((await ok(again(made.id), 201)).token));
  });

  test('a way in that somebody gave themselves while a role waits for approval fails the approval', async () => {
    const made = await invite();
    const { body } = await service.call('PATCH', `/v1/users/${made.id}`, { body: { role: 'admin' } });
    const { token } = await ok(again(made.id, admin.token), 201);
    const decided = await ok(approve(service, body.approval_id, admin.token));
    assert.equal(decided.status, 'failed');
    await ok(accept(token));
    assert.equal((await ok(service.call('GET', `/v1/users/${made.id}`))).role, 'member');
  });

  test('the right to invite alone opens no account that somebody else invited', async () => {
    const inviter = await addPerson(service);
    await (await granter(service, inviter.id, admin))([
      { action: ['users:invite', 'users:create'], resource: ['user', 'user/*'] },
    ]);
    const { id } = await invite();
    await refused(again(id, inviter.token), 403, 'INSUFFICIENT_PRIVILEGE');
    const own = await invite({}, inviter.token);
    await ok(again(own.id, inviter.token), 201);
  });

  test('ends with the rights of who gave it', async () => {
    const inviters = await Promise.all([addPerson(service), addPerson(service), addPerson(service)]);
    const tokens: string[] = [];
    for (const { id, token } of inviters) {
      await (await granter(service, id, admin))([{ action: ['users:create'], resource: ['user'] }]);
      tokens.push((await invite({}, token)).invitation.token);
    }
    const [disabled, deleted, promoted] = inviters.map(({ id }) => id);
    await ok(patch(String(disabled), { status: 'disabled' }));
    await ok(service.call('DELETE', `/v1/users/${deleted}`));
    const role = service.call('PATCH', `/v1/users/${promoted}`, { body: { role: 'auditor' } });
    await approved(service, role, admin.token);
    for (const token of tokens) await isRefused(token);
  });

  test('an invited auditor cannot be taken over by a password either', async () => {
    const email = address();
    await approved(service, create({ email, role: 'auditor', invite: true }), admin.token);
    const { id } = await userBy(email);
    assert.equal((await patch(id, { password: 'known to who set it' })).status, 202);
  });

  test('an invited admin approves nothing and gets no request', async () => {
    const owner = foreign.owner;
    const { id, invitation } = await invite({ role: 'admin' }, owner.token);
    // One active admin decides alone, so this takes effect at once.
    await ok(create({ email: address(), role: 'auditor' }, owner.token), 201);
    const me = await ok(service.call('GET', '/auth/me', { token: owner.token }));
    assert.deepEqual(me.warnings, []);
    await ok(accept(invitation.token));
    assert.equal((await create({ email: address(), role: 'auditor' }, owner.token)).status, 202);
    await refused(service.call('GET', `/v1/users/${id}`), 404, 'NOT_FOUND');
  });

  test('needs the right to, an unrestricted token, and one’s own tenant', async () => {
    const { id } = await invite();
    const member = await addPerson(service);
    await refused(again(id, member.token), 403, 'INSUFFICIENT_PRIVILEGE');
    await refused(create({ email: address(), invite: true }, member.token), 403, 'INSUFFICIENT_PRIVILEGE');
    await refused(again(id, foreign.owner.token), 404, 'NOT_FOUND');
    const { token } = await addToken(service, service.adminToken, { scope: { actions: ['users:*'] } });
    await refused(again(id, token), 403, 'INSUFFICIENT_PRIVILEGE');
    await refused(service.call('POST', `/v1/users/${id}/invite`, { token: null }), 401, 'INVALID_TOKEN');
  });

  test('is recorded without its token', async () => {
    const { id, email, invitation } = await invite();
    const { token } = await ok(again(id), 201);
    await ok(look(token));
    await ok(accept(token));
    const log: Answer = await service.call('GET', '/v1/audit?limit=100');
    for (const one of [token, invitation.token]) assert.ok(!log.text.includes(one));
    const actions = log.body.entries
      .filter(({ details, actor }: { details: { email?: string }; actor: { id: string } }) => {
        return details?.email === email || actor.id === id;
      })
      .map(({ action }: { action: string }) => action);
    assert.deepEqual(actions.toSorted(), ['auth:accept_invite', 'users:create', 'users:invite']);
  });

  test('of a suspended tenant lets nobody in', async () => {
    const { id, owner } = await addTenant(service);
    const { invitation } = await invite({}, owner.token);
    await ok(service.call('PATCH', `/v1/tenants/${id}`, { body: { status: 'suspended' } }));
    await isRefused(invitation.token);
    await ok(service.call('PATCH', `/v1/tenants/${id}`, { body: { status: 'active' } }));
    await ok(accept(invitation.token));
  });

  test('anyone who writes to the database makes none, and extends none', async () => {
    service.expectErrorLogs(/not written by the service/);
    const { id, invitation } = await invite();
    const victim = await invite();
    const { database: db } = service.app.kernel;
    service.clock.advance(INVITATION_TTL_MS);
    await behindItsBack(db, (rows) =>
      rows
        .updateTable('invitations')
        .set({ expires_at: service.clock.now() + 1000 })
        .where('user_id', '=', id)
        .execute(),
    );
    const extended = await accept(invitation.token);
    assert.ok(extended.status >= 400, String(extended.status));
    assert.ok((await look(invitation.token)).status >= 400);
    await behindItsBack(db, (rows) =>
      rows.updateTable('invitations').set({ user_id: 'user_x' }).where('user_id', '=', victim.id).execute(),
    );
    assert.ok((await accept(victim.invitation.token)).status >= 400);
    assert.equal(await statusOf(id), 'invited');
    await behindItsBack(db, (rows) => rows.deleteFrom('invitations').where('user_id', 'in', [id, 'user_x']).execute());
  });
});
