import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { SignOnBrowser } from '../../../../test/support/browser-sign-on.ts';
import { OUTSIDE_ENV } from '../../../../test/support/external-logins.ts';
import { type MailServer, startMailServer, textPart } from '../../../../test/support/mail-server.ts';
import { OidcIssuer } from '../../../../test/support/oidc-issuer.ts';
import { enrolPasskey, signIn as signInWithPasskey } from '../../../../test/support/passkeys.ts';
import {
  addPerson,
  addTenant,
  approve,
  logIn,
  ok,
  openSession,
  refused,
  type Tenant,
} from '../../../../test/support/people.ts';
import { recorded } from '../../../../test/support/rows.ts';
import { onSqliteAtLanding, type Service, startService } from '../../../../test/support/service.ts';
import { begin, type Device, finish, poll, startDevice } from '../../../../test/support/sign-on.ts';
import { mailTo } from '../../../../test/support/signups.ts';
import { until } from '../../../../test/support/until.ts';
import { updateUser } from '../users/storage/index.ts';

/** What a provider may do to an account that is linked with it, and what remains when it is unlinked. */

const idp = await OidcIssuer.start();
after(() => idp.close());

onSqliteAtLanding('an account and its provider', (database) => {
  let mail: MailServer;
  let service: Service;
  let browser: SignOnBrowser;
  let tenant: Tenant;
  before(async () => {
    mail = await startMailServer();
    const env = { ...OUTSIDE_ENV, CV_SMTP_URL: mail.url, CV_MAIL_FROM: 'coffer@service.example' };
    service = await startService(database, { env });
    browser = new SignOnBrowser(service, idp);
    await idp.register(service.url);
  });
  after(() => service.close());
  beforeEach(async () => {
    tenant = await addTenant(service);
    browser.newAccount();
  });

  const as = (token: string, method: string, path: string, body?: object) =>
    service.call(method, path, { token, ...(body !== undefined && { body }) });
  const statusOf = async (token: string) => (await as(token, 'GET', '/auth/me')).status;
  const mark = (break_glass: boolean, token: string) =>
    as(token, 'PATCH', `/v1/users/${tenant.owner.id}`, { break_glass });
  /** A command line that somebody confirmed by signing in at the provider. */
  const confirmedDevice = async (): Promise<Device> => {
    const device = await startDevice(service, { provider: 'idp', tenant: tenant.name });
    const { cookie, authorizationUrl } = await begin(service, 'idp', device, tenant.name);
    const answer = await finish(service, await idp.signIn(authorizationUrl), cookie);
    assert.equal(answer.status, 200, answer.text);
    return device;
  };

  test('an admin whom the provider demotes at a sign-in leaves no invitations behind', async () => {
    await browser.addProvider(tenant, 'idp', { role_mapping: { Admins: 'admin' } });
    browser.newAccount(['Admins']);
    const { token } = await ok(browser.signIn(tenant));
    const invite = (role: string) =>
      as(token, 'POST', '/v1/users', { email: `${role}@${tenant.name}.example`, invite: true, role });
    const { invitation } = await ok(invite('member'), 201);
    const { approval_id } = await ok(invite('admin'), 202);
    await ok(approve(service, approval_id, tenant.owner.token));
    const { users } = await ok(as(token, 'GET', '/v1/users'));
    const admin = users.find(({ status, role }: Record<string, string>) => status === 'invited' && role === 'admin');
    const again = await ok(as(token, 'POST', `/v1/users/${admin.id}/invite`), 201);
    idp.account = { ...idp.account, groups: [] };
    const demoted = await ok(browser.signIn(tenant));
    assert.equal((await ok(as(demoted.token, 'GET', '/auth/me'))).user.role, 'member');
    for (const made of [invitation.token, again.token]) {
      const body = { token: made, password: 'a password of an accomplice' };
      await refused(browser.send('POST', '/auth/accept-invite', null, body), 401, 'LOGIN_DENIED');
    }
  });

  test('an owner who is linked cannot become a break-glass owner before they unlink', async () => {
    await browser.addProvider(tenant);
    const token = await openSession(service, tenant.owner.id);
    await browser.link(token);
    await ok(as(token, 'POST', '/auth/password', { new_password: 'a password of the owner' }), 204);
    await refused(mark(true, token), 409, 'IN_USE');
    await ok(as(token, 'PATCH', '/auth/sso/providers/idp', { enabled: false }));
    await refused(mark(true, token), 409, 'IN_USE');
    await ok(browser.unlink(token));
    await ok(mark(true, token));
  });

  test('no provider lets in a break-glass owner, and every session of theirs is reported', async () => {
    await browser.addProvider(tenant);
    const token = await openSession(service, tenant.owner.id);
    await browser.link(token);
    const waiting = await confirmedDevice();
    await recorded(service.app.kernel, tenant.id, (tx) =>
      updateUser(tx, tenant.id, tenant.owner.id, { break_glass: 1 }),
    );
    await refused(poll(service, waiting), 401, 'LOGIN_DENIED');
    await refused(browser.signIn(tenant), 401, 'LOGIN_DENIED');
    const device = await startDevice(service);
    const again = await openSession(service, tenant.owner.id);
    await ok(as(again, 'POST', '/auth/device/approve', { user_code: device.user_code }));
    assert.equal((await ok(poll(service, device))).status, 'approved');
    const { entries } = await ok(as(tenant.owner.token, 'GET', '/v1/audit?action=break_glass:sign_in'));
    assert.deepEqual(
      entries.map(({ details }: { details: { method: string } }) => details.method),
      ['device'],
    );
  });

  test('unlinking counts for every provider of the same issuer', async () => {
    await browser.addProvider(tenant, 'main');
    await browser.addProvider(tenant, 'side');
    const person = await addPerson(service, { tenant });
    const token = await logIn(service, person);
    await browser.link(token, 'main');
    const sessions = [await ok(browser.signIn(tenant, 'main')), await ok(browser.signIn(tenant, 'side'))];
    const require = (required: boolean) =>
      ok(as(tenant.owner.token, 'PATCH', '/auth/sso/providers/main', { required }));
    await require(true);
    for (const name of ['main', 'side']) await refused(browser.unlink(token, name), 409, 'IN_USE');
    for (const session of sessions) assert.equal(await statusOf(session.token), 200);
    await require(false);
    await ok(browser.unlink(token, 'side'));
    for (const session of sessions) assert.equal(await statusOf(session.token), 401);
    assert.equal(await statusOf(token), 200);
  });

  test('an identity that was unlinked gives no session, neither by a device code nor by a sign-in under way', async () => {
    await browser.addProvider(tenant);
    const person = await addPerson(service, { tenant });
    const token = await logIn(service, person);
    await browser.link(token);
    const device = await confirmedDevice();
    await ok(browser.unlink(token));
    await refused(poll(service, device), 401, 'LOGIN_DENIED');
    for (let round = 0; round < 3; round++) {
      browser.newAccount();
      await browser.link(token);
      const sent = await browser.beginSignIn(tenant);
      const body = await browser.comeBack(sent);
      const [session] = await Promise.all([browser.finishSignIn(body, sent.cookie), ok(browser.unlink(token))]);
      // Either it came first and has ended, or it was refused, or it is the first sign-in of a stranger.
      const isTheirs = session.status === 200 && session.body.user_id === person.id;
      if (isTheirs) assert.equal(await statusOf(session.body.token), 401);
      else assert.ok(session.status === 200 || session.status === 401, session.text);
    }
  });

  test('a sign-in that found the account gives no session if the identity is unlinked before it ends', async (t) => {
    await browser.addProvider(tenant);
    const person = await addPerson(service, { tenant });
    const token = await logIn(service, person);
    await browser.link(token);
    const device = await startDevice(service, { provider: 'idp', tenant: tenant.name });
    const { cookie, authorizationUrl } = await begin(service, 'idp', device, tenant.name);
    // What is sealed last, before the transaction, is who confirmed the command line: the account was found by then.
    const { keyring } = service.app.kernel;
    const seal = keyring.seal.bind(keyring);
    let unlinked = 0;
    t.mock.method(keyring, 'seal', async (...what: Parameters<typeof seal>) => {
      if (what[1].table === 'device_codes') {
        await ok(browser.unlink(token));
        unlinked++;
      }
      return seal(...what);
    });
    const answer = await finish(service, await idp.signIn(authorizationUrl), cookie);
    assert.equal(unlinked, 1);
    await refused(Promise.resolve(answer), 401, 'LOGIN_DENIED');
    assert.equal((await ok(poll(service, device))).status, 'pending');
    const { entries } = await ok(as(tenant.owner.token, 'GET', '/v1/audit?action=auth:sso_sign_in'));
    assert.equal(entries[0].reason, 'the identity was unlinked meanwhile');
  });

  test('the last passkey of somebody without a password stays until they have another way in', async () => {
    await browser.addProvider(tenant);
    const first = await openSession(service, tenant.owner.id);
    await browser.link(first);
    const { id, passkey } = await enrolPasskey(service, first);
    const token = await signInWithPasskey(service, passkey);
    const remove = () => as(token, 'DELETE', `/auth/mfa/passkeys/${id}`);
    await ok(browser.unlink(token));
    await refused(remove(), 409, 'IN_USE');
    await refused(as(token, 'DELETE', `/v1/users/${tenant.owner.id}/mfa`), 409, 'IN_USE');
    await browser.link(token);
    await ok(as(token, 'PATCH', '/auth/sso/providers/idp', { enabled: false }));
    await refused(remove(), 409, 'IN_USE');
    await ok(as(token, 'PATCH', '/auth/sso/providers/idp', { enabled: true }));
    await ok(remove());
    await ok(browser.signIn(tenant));
  });

  test('the person hears by mail that their account was linked and unlinked, where the tenant wants that', async () => {
    await browser.addProvider(tenant);
    const person = await addPerson(service, { tenant });
    const token = await logIn(service, person);
    await browser.link(token);
    await ok(browser.unlink(token));
    await ok(as(tenant.owner.token, 'PATCH', '/v1/tenant/settings', { mail_notices: ['security'] }));
    const arrived = async (mails: number) => {
      await until(`${mails} mails`, () => mailTo(mail, person.email).length >= mails);
      return textPart(mailTo(mail, person.email).at(-1)?.source ?? '').replaceAll(/\s+/g, ' ');
    };
    await browser.link(token);
    assert.match(await arrived(1), /Your account was linked with an identity at idp/);
    await ok(browser.unlink(token));
    assert.match(await arrived(2), /Your account was unlinked from idp/);
    assert.equal(mailTo(mail, person.email).length, 2, 'none from before it was turned on');
    assert.equal(mailTo(mail, tenant.owner.email).length, 0);
  });
});
