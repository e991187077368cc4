import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { SignOnBrowser } from '../../../../test/support/browser-sign-on.ts';
import { fromElsewhere, OUTSIDE_ENV } from '../../../../test/support/external-logins.ts';
import { OidcIssuer } from '../../../../test/support/oidc-issuer.ts';
import { enrolPasskey, trySignIn } from '../../../../test/support/passkeys.ts';
import {
  addPerson,
  addTenant,
  ok,
  openSession,
  refused,
  type Tenant,
  uniqueName,
} from '../../../../test/support/people.ts';
import { recorded } from '../../../../test/support/rows.ts';
import { onSqliteAtLanding, type Service, startService } from '../../../../test/support/service.ts';
import { begin, finish, poll, startDevice } from '../../../../test/support/sign-on.ts';
import { HOUR_MS } from '../../kernel/base/clock.ts';
import { sha256 } from '../../kernel/crypto/digest.ts';
import { TOKENS } from '../tokens/storage/index.ts';
import { INVITATION_TOKEN } from '../users/invitations/index.ts';
import { putInvitation } from '../users/invitations/invitation-store.ts';
import { updateUser } from '../users/storage/index.ts';
import { findProvider, insertIdentity, updateProvider } from './storage/identity-store.ts';

const TOKEN = INVITATION_TOKEN.create();
const idp = await OidcIssuer.start();
after(() => idp.close());

onSqliteAtLanding('people whom a provider signs in', (database) => {
  let service: Service;
  let browser: SignOnBrowser;

  before(async () => {
    service = await startService(database, { env: OUTSIDE_ENV });
    await idp.register(service.url);
    browser = new SignOnBrowser(service, idp);
  });
  after(() => service.close());

  const send = (token: string | null, method: string, path: string, body?: object) =>
    service.call(method, path, { token, ...(body !== undefined && { body }), headers: fromElsewhere() });
  const withProvider = async (more: object = {}) => {
    const tenant = await addTenant(service);
    await browser.addProvider(tenant, 'idp', more);
    return tenant;
  };
  const signedOn = async (tenant: Tenant, groups: string[] = []) => {
    browser.newAccount(groups);
    const { token, user_id } = await ok(browser.signIn(tenant));
    return { token: String(token), id: String(user_id), email: String(idp.account['email']) };
  };

  describe('a command line that they sign in', () => {
    const deviceSession = async (tenant: Tenant) => {
      browser.newAccount();
      const device = await startDevice(service, { provider: 'idp', tenant: tenant.name });
      const { authorizationUrl, cookie } = await begin(service, 'idp', device, tenant.name);
      const done = await finish(service, await idp.signIn(authorizationUrl), cookie);
      assert.equal(done.status, 200, done.text);
      return String((await ok(poll(service, device))).token);
    };

    test('has no fresh sign-in: the sender of the code adds no way in and takes none away', async () => {
      const token = await deviceSession(await withProvider());
      await refused(send(token, 'POST', '/auth/mfa/passkeys/options'), 403, 'MFA_REQUIRED');
      await refused(send(token, 'POST', '/auth/mfa/totp'), 403, 'MFA_REQUIRED');
      await refused(send(token, 'POST', '/auth/links', { provider: 'idp' }), 403, 'MFA_REQUIRED');
      await refused(send(token, 'DELETE', '/auth/links/idp'), 403, 'MFA_REQUIRED');
      const next = await startDevice(service);
      const approval = send(token, 'POST', '/auth/device/approve', { user_code: next.user_code });
      await refused(approval, 403, 'INSUFFICIENT_PRIVILEGE');
      const { sessions } = await ok(send(token, 'GET', '/auth/sessions'));
      assert.deepEqual(
        sessions.map(({ method }: { method: string }) => method),
        ['device'],
      );
    });

    test('unlike their browser', async () => {
      const { token } = await signedOn(await withProvider());
      const { passkey } = await enrolPasskey(service, token);
      assert.equal((await trySignIn(service, passkey)).status, 200);
    });
  });

  describe('an invitation', () => {
    const invite = (by: string, id: string) => send(by, 'POST', `/v1/users/${id}/invite`);
    const accept = (token: string) =>
      send(null, 'POST', '/auth/accept-invite', { token, password: 'chosen by somebody else' });
    const look = (token: string) => send(null, 'POST', '/auth/read-invite', { token });

    test('is not made for them, nor for anyone who has a second factor', async () => {
      const tenant = await withProvider();
      const admin = await addPerson(service, { tenant, role: 'admin' });
      const person = await signedOn(tenant);
      const { message } = await refused(invite(admin.token, person.id), 409, 'IN_USE');
      assert.match(message, /identity provider signs this user in/);
      const { passkey } = await enrolPasskey(service, person.token);
      const refusal = await refused(invite(admin.token, person.id), 409, 'IN_USE');
      assert.match(refusal.message, /second factor.*DELETE \/v1\/users\/\{user_id\}\/mfa/);
      const { status } = await ok(send(admin.token, 'GET', `/v1/users/${person.id}`));
      assert.equal(status, 'active');
      await ok(send(person.token, 'GET', '/auth/me'));
      assert.equal((await trySignIn(service, passkey)).status, 200);
    });

    test('ends when its account gets an identity or a factor', async () => {
      const tenant = await withProvider();
      const { token } = tenant.owner;
      const invited = () =>
        ok(send(token, 'POST', '/v1/users', { email: `${uniqueName('i')}@x.example`, invite: true }), 201);
      const linked = await invited();
      await recorded(service.app.kernel, tenant.id, (tx) =>
        insertIdentity(tx, {
          tenant_id: tenant.id,
          identity_hash: sha256(linked.id),
          issuer: idp.url,
          subject: linked.id,
          user_id: linked.id,
          created_at: service.clock.now(),
        }),
      );
      const { message } = await refused(accept(linked.invitation.token), 401, 'LOGIN_DENIED');
      assert.match(message, /has an identity at a provider/);
      assert.equal((await refused(look(linked.invitation.token), 401, 'LOGIN_DENIED')).message, message);
      const again = await refused(invite(token, linked.id), 409, 'IN_USE');
      assert.match(again.message, /set their status to active/);

      const created = await ok(send(token, 'POST', '/v1/users', { email: `${uniqueName('i')}@x.example` }), 201);
      await enrolPasskey(service, await openSession(service, created.id));
      // As an invitation from before accounts with a factor were refused one.
      await recorded(service.app.kernel, tenant.id, async (tx) => {
        const of = { tenant_id: tenant.id, user_id: created.id };
        await updateUser(tx, tenant.id, created.id, { status: 'invited' });
        const times = { created_at: service.clock.now(), expires_at: service.clock.now() + HOUR_MS };
        await putInvitation(tx, { ...of, token_hash: sha256(TOKEN), invited_by: tenant.owner.id, ...times });
      });
      const refusal = await refused(accept(TOKEN), 401, 'LOGIN_DENIED');
      assert.match(refusal.message, /has a second factor/);
      assert.equal((await refused(look(TOKEN), 401, 'LOGIN_DENIED')).message, refusal.message);
      const user = await ok(send(token, 'GET', `/v1/users/${created.id}`));
      assert.deepEqual([user.status, user.has_password], ['invited', false]);
    });
  });

  describe('admins among them', () => {
    const forgetSessions = (tenant_id: string, user_id: string) =>
      recorded(service.app.kernel, tenant_id, (tx) => TOKENS.deleteWhere(tx, (eb) => eb.and({ tenant_id, user_id })));

    test('count as the second person long after their last session, as long as the provider is enabled', async () => {
      const tenant = await withProvider({ role_mapping: { admins: 'admin' } });
      const { token } = tenant.owner;
      const create = () => send(token, 'POST', '/v1/users', { email: `${uniqueName('a')}@x.example`, role: 'auditor' });
      const admin = await signedOn(tenant, ['admins']);
      await ok(create(), 202);
      await forgetSessions(tenant.id, admin.id);
      await ok(create(), 202);
      // Who cannot sign in any more cannot approve either.
      await recorded(service.app.kernel, tenant.id, async (tx) => {
        const provider = await findProvider(tx, { tenant_id: tenant.id, name: 'idp' });
        if (provider !== undefined) await updateProvider(tx, { ...provider, enabled: 0 });
      });
      await ok(create(), 201);
    });
  });
});
