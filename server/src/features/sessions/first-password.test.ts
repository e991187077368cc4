import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import * as OTPAuth from 'otpauth';
import {
  addColleague,
  addTenant,
  invalid,
  ok,
  openSession,
  refused,
  type Tenant,
  tryLogIn,
} from '../../../../test/support/people.ts';
import { recorded } from '../../../../test/support/rows.ts';
import { onSqliteAtLanding, type Service, startService } from '../../../../test/support/service.ts';
import { poll, startDevice } from '../../../../test/support/sign-on.ts';
import { MINUTE_MS, SECOND_MS } from '../../kernel/base/clock.ts';
import { sha256 } from '../../kernel/crypto/digest.ts';
import { insertIdentity } from '../sign-on/storage/index.ts';
import { USERS } from '../users/storage/index.ts';

const PASSWORD = 'a first password, long enough';

/** Accounts that have no password: there is none to ask for, so something else has to prove who sets one. */
onSqliteAtLanding('a first password', (database) => {
  let service: Service;
  before(async () => {
    service = await startService(database, { env: { CV_TRUSTED_PROXIES: '127.0.0.1' } });
  });
  after(() => service.close());

  const setPassword = (token: string) =>
    service.call('POST', '/auth/password', { token, body: { new_password: PASSWORD } });
  const hasPassword = async ({ owner }: Tenant, id: string): Promise<boolean> =>
    (await ok(service.call('GET', `/v1/users/${id}`, { token: owner.token }))).has_password;
  /** As if the provider had signed this account in once. */
  const giveIdentity = ({ id: tenant_id }: Tenant, user_id: string) =>
    recorded(service.app.kernel, tenant_id, (tx) =>
      insertIdentity(tx, {
        tenant_id,
        identity_hash: sha256(`identity of ${user_id}`),
        issuer: 'https://idp.example',
        subject: user_id,
        user_id,
        created_at: service.clock.now(),
      }),
    );

  test('is set with a session that has just been opened, not with an older one', async () => {
    const tenant = await addTenant(service);
    const member = await addColleague(service, tenant.id, 'member');
    const session = await openSession(service, member.id);
    service.clock.advance(16 * MINUTE_MS);
    await refused(setPassword(session), 403, 'MFA_REQUIRED');
    assert.equal(await hasPassword(tenant, member.id), false);
    await ok(setPassword(await openSession(service, member.id)), 204);
    await ok(tryLogIn(service, { email: member.email, password: PASSWORD, tenant: tenant.name }));
  });

  test('with it the owner of a first start says the address to log in with, and nobody else does', async () => {
    const tenant = await addTenant(service);
    const { owner } = tenant;
    const member = await addColleague(service, tenant.id, 'member');
    const set = (token: string, email: string, more: object = {}) =>
      service.call('POST', '/auth/password', { token, body: { new_password: PASSWORD, email, ...more } });
    await invalid(set(await openSession(service, member.id), 'else@example.com'), '/body/email');
    await invalid(set(await openSession(service, owner.id), 'else@example.com'), '/body/email');
    await invalid(set(owner.token, 'no address'), '/body/email');
    await refused(set(owner.token, member.email), 409, 'ALREADY_EXISTS');
    assert.equal(await hasPassword(tenant, owner.id), false, 'what is refused changes nothing');
    await ok(set(owner.token, 'Ada@Example.com'), 204);
    await ok(tryLogIn(service, { email: 'ada@example.com', password: PASSWORD, tenant: tenant.name }));
    const old = { email: owner.email, password: PASSWORD, tenant: tenant.name };
    assert.equal((await tryLogIn(service, old)).status, 401);
    await invalid(set(owner.token, 'else@example.com', { current_password: PASSWORD }), '/body/email');
    assert.equal((await ok(service.call('GET', '/auth/me', { token: owner.token }))).user.email, 'ada@example.com');
  });

  test('is not set with a session that another session confirmed', async () => {
    const tenant = await addTenant(service);
    const member = await addColleague(service, tenant.id, 'member');
    const device = await startDevice(service);
    const body = { user_code: device.user_code };
    await ok(service.call('POST', '/auth/device/approve', { token: await openSession(service, member.id), body }));
    const { token } = await ok(poll(service, device));
    await refused(setPassword(token), 403, 'MFA_REQUIRED');
    assert.equal(await hasPassword(tenant, member.id), false);
  });

  test('is set with a token only by an owner who has nothing else', async () => {
    const tenant = await addTenant(service);
    for (const role of ['member', 'auditor', 'admin'] as const) {
      const { id, token } = await addColleague(service, tenant.id, role);
      await refused(setPassword(token), 403, 'MFA_REQUIRED');
      assert.equal(await hasPassword(tenant, id), false);
    }
    await ok(setPassword((await addColleague(service, tenant.id, 'owner')).token), 204);
  });

  test('takes the second factor of a user who has one, a fresh sign-in is not enough', async () => {
    const tenant = await addTenant(service);
    const owner = await addColleague(service, tenant.id, 'owner');
    const post = (path: string, token: string, body = {}) => service.call('POST', path, { token, body });
    const { secret } = await ok(service.call('POST', '/auth/mfa/totp', { token: owner.token }), 201);
    const code = () => new OTPAuth.TOTP({ secret }).generate({ timestamp: service.clock.now() });
    await ok(post('/auth/mfa/totp/confirm', owner.token, { otp: code() }));
    // The code that confirmed is spent.
    service.clock.advance(30 * SECOND_MS);
    const session = await openSession(service, owner.id);
    await refused(setPassword(owner.token), 403, 'MFA_REQUIRED');
    await refused(setPassword(session), 403, 'MFA_REQUIRED');
    assert.equal(await hasPassword(tenant, owner.id), false);
    const { token } = await ok(post('/auth/step-up', session, { otp: code() }));
    await ok(setPassword(token), 204);
  });

  test('is refused to whom a provider signs in, however fresh the session is', async () => {
    const tenant = await addTenant(service);
    const admin = await addColleague(service, tenant.id, 'admin');
    await giveIdentity(tenant, admin.id);
    for (const token of [admin.token, await openSession(service, admin.id)]) {
      const refusal = await refused(setPassword(token), 401, 'LOGIN_DENIED');
      assert.match(JSON.stringify(refusal), /identity provider signs you in/);
    }
    assert.equal(await hasPassword(tenant, admin.id), false);
  });

  test('is for an owner of a provider who is exempt from it, with a fresh session', async () => {
    const tenant = await addTenant(service);
    const owner = await addColleague(service, tenant.id, 'owner');
    await giveIdentity(tenant, owner.id);
    await refused(setPassword(owner.token), 403, 'MFA_REQUIRED');
    const mark = (break_glass: number) =>
      recorded(service.app.kernel, tenant.id, (tx) =>
        USERS.updateWhere(tx, (eb) => eb.and({ tenant_id: tenant.id, user_id: tenant.owner.id }), { break_glass }),
      );
    await mark(1);
    await refused(setPassword(await openSession(service, owner.id)), 401, 'LOGIN_DENIED');
    await mark(0);
    await ok(setPassword(await openSession(service, owner.id)), 204);
  });
});
