import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { SignOnBrowser } from '../../../../test/support/browser-sign-on.ts';
import { OUTSIDE_ENV } from '../../../../test/support/external-logins.ts';
import { OidcIssuer } from '../../../../test/support/oidc-issuer.ts';
import {
  addPerson,
  addTenant,
  logIn,
  ok,
  openSession,
  type Person,
  refused,
  type Tenant,
  tryLogIn,
  uniqueName,
} from '../../../../test/support/people.ts';
import { onSqliteAtLanding, type Service, startService } from '../../../../test/support/service.ts';
import { MINUTE_MS } from '../../kernel/base/clock.ts';

/** Somebody with a password links their account with an identity at a provider. */

const idp = await OidcIssuer.start();
after(() => idp.close());

onSqliteAtLanding('linking an account with a provider', (database) => {
  let service: Service;
  let browser: SignOnBrowser;
  let tenant: Tenant;
  let person: Person;
  before(async () => {
    service = await startService(database, { env: OUTSIDE_ENV });
    await idp.register(service.url);
    tenant = await addTenant(service);
    browser = new SignOnBrowser(service, idp);
    await browser.addProvider(tenant);
  });
  after(() => service.close());
  beforeEach(async () => {
    browser.newAccount();
    person = await addPerson(service, { tenant });
  });

  const linksOf = async (token: string) => (await ok(browser.send('GET', '/auth/links', token))).links;
  const tryToLink = (token: string, provider = 'idp') => browser.send('POST', '/auth/links', token, { provider });

  test('they sign in with either from then on, to the same account, until they unlink it', async () => {
    const token = await logIn(service, person);
    assert.deepEqual(await linksOf(token), [{ provider: 'idp', linked_at: null }]);
    const { provider, linked_at } = await browser.link(token);
    assert.deepEqual(await linksOf(token), [{ provider, linked_at }]);
    const session = await ok(browser.signIn(tenant));
    assert.equal(session.user_id, person.id);
    await logIn(service, person);
    const madeUp = { code: 'c', state: 's', redirect_uri: 'r', flow_key: 'k' };
    await refused(browser.confirmLink(token, madeUp, ''), 401, 'LOGIN_DENIED');

    await ok(browser.unlink(token));
    assert.equal((await browser.send('GET', '/auth/me', session.token)).status, 401, 'sessions that began there end');
    await ok(browser.send('GET', '/auth/me', token));
    await refused(browser.unlink(token), 404, 'NOT_FOUND');
    const stranger = await ok(browser.signIn(tenant));
    assert.notEqual(stranger.user_id, person.id);
    const { entries } = await ok(service.call('GET', '/v1/audit?action=auth:sso_link', { token: tenant.owner.token }));
    assert.ok(entries.some((entry: { actor: { id: string } }) => entry.actor.id === person.id));
  });

  test('an e-mail address links nothing: neither that of the account nor that of another', async () => {
    const other = await addPerson(service, { tenant });
    idp.account = { ...idp.account, email: other.email };
    await refused(browser.signIn(tenant), 401, 'LOGIN_DENIED');
    await browser.link(await logIn(service, person));
    assert.equal(
      (await ok(browser.signIn(tenant))).user_id,
      person.id,
      'who they are is decided by issuer and subject',
    );
  });

  test('an identity of another account is refused, and stays where it is', async () => {
    await browser.link(await logIn(service, person));
    const thief = await addPerson(service, { tenant });
    const token = await logIn(service, thief);
    const sent = await browser.beginLink(token);
    await refused(browser.confirmLink(token, await browser.comeBack(sent), sent.cookie), 409, 'IN_USE');
    assert.equal((await ok(browser.signIn(tenant))).user_id, person.id);
    assert.deepEqual(await linksOf(token), [{ provider: 'idp', linked_at: null }]);
    // A second identity of the same provider, and the same one again.
    const again = await logIn(service, person);
    const repeated = await browser.beginLink(again);
    await refused(browser.confirmLink(again, await browser.comeBack(repeated), repeated.cookie), 409, 'ALREADY_EXISTS');
    idp.account = { ...idp.account, sub: uniqueName('second') };
    const second = await browser.beginLink(again);
    await refused(browser.confirmLink(again, await browser.comeBack(second), second.cookie), 409, 'IN_USE');
  });

  test('what was begun is finished once, by the same person and browser, and for linking alone', async () => {
    const token = await logIn(service, person);
    const other = await addPerson(service, { tenant });
    const theirs = await logIn(service, other);
    const sent = await browser.beginLink(token);
    const body = await browser.comeBack(sent);
    await refused(browser.confirmLink(theirs, body, sent.cookie), 401, 'LOGIN_DENIED');
    await refused(browser.confirmLink(token, body, ''), 401, 'LOGIN_DENIED');
    await refused(browser.confirmLink(token, { ...body, state: 'another' }, sent.cookie), 401, 'LOGIN_DENIED');
    // Mix-up: a sign-in does not link, and a link does not sign in.
    await refused(browser.finishSignIn(body, sent.cookie), 401, 'LOGIN_DENIED');
    const signIn = await browser.beginSignIn(tenant);
    const ofSignIn = await browser.comeBack(signIn);
    await refused(browser.confirmLink(token, ofSignIn, signIn.cookie), 401, 'LOGIN_DENIED');
    // Somebody else's code under one's own state, which the nonce and PKCE tell apart.
    await refused(browser.confirmLink(token, { ...body, code: ofSignIn.code }, sent.cookie), 401, 'LOGIN_DENIED');
    const fresh = await browser.beginLink(token);
    const good = await browser.comeBack(fresh);
    const answers = await Promise.all([1, 2, 3].map(() => browser.confirmLink(token, good, fresh.cookie)));
    assert.deepEqual(answers.map(({ status }) => status).toSorted(), [200, 401, 401], 'replayed at once');
    await refused(browser.confirmLink(token, good, fresh.cookie), 401, 'LOGIN_DENIED');
    assert.deepEqual((await linksOf(theirs))[0].linked_at, null);
  });

  test('another tenant’s account and provider are out of reach', async () => {
    const foreign = await addTenant(service);
    await browser.addProvider(foreign, 'theirs');
    const theirs = await addPerson(service, { tenant: foreign });
    const [token, elsewhere] = [await logIn(service, person), await logIn(service, theirs)];
    await refused(tryToLink(token, 'theirs'), 401, 'LOGIN_DENIED');
    const sent = await browser.beginLink(token);
    await refused(browser.confirmLink(elsewhere, await browser.comeBack(sent), sent.cookie), 401, 'LOGIN_DENIED');
    assert.deepEqual(await linksOf(elsewhere), [{ provider: 'theirs', linked_at: null }]);
  });

  test('it takes a recent sign-in, a session, and to unlink another way in', async () => {
    const token = await logIn(service, person);
    await refused(tryToLink(person.token), 403, 'INSUFFICIENT_PRIVILEGE');
    const sent = await browser.beginLink(token);
    const body = await browser.comeBack(sent);
    await browser.link(await logIn(service, person));
    service.clock.advance(15 * MINUTE_MS);
    await refused(tryToLink(token), 403, 'MFA_REQUIRED');
    await refused(browser.confirmLink(token, body, sent.cookie), 401, 'LOGIN_DENIED');
    await refused(browser.unlink(token), 403, 'MFA_REQUIRED');
    idp.account = { ...idp.account, sub: uniqueName('new'), email: `${uniqueName('new')}@acme.example` };
    const provided = await ok(browser.signIn(tenant));
    await refused(browser.unlink(provided.token), 409, 'IN_USE');
  });

  test('an owner stays an owner, and a break-glass owner is linked with nobody', async () => {
    const { owner } = tenant;
    const token = await openSession(service, owner.id);
    await browser.link(token);
    const session = await ok(browser.signIn(tenant));
    const me = await ok(browser.send('GET', '/auth/me', session.token));
    assert.deepEqual([me.user.id, me.user.role], [owner.id, 'owner']);
    const body = { new_password: 'a password of the owner' };
    await ok(service.call('POST', '/auth/password', { token, body }), 204);
    await ok(browser.unlink(token));
    await ok(service.call('PATCH', `/v1/users/${owner.id}`, { token, body: { break_glass: true } }));
    await refused(tryToLink(token), 409, 'IN_USE');
    await ok(service.call('PATCH', `/v1/users/${owner.id}`, { token, body: { break_glass: false } }));
  });

  test('a required provider is not given up by its users', async () => {
    const strict = await addTenant(service);
    await browser.addProvider(strict);
    const member = await addPerson(service, { tenant: strict });
    const token = await logIn(service, member);
    await browser.link(token);
    const patch = { token: strict.owner.token, body: { required: true } };
    await ok(service.call('PATCH', '/auth/sso/providers/idp', patch));
    assert.equal((await tryLogIn(service, member)).status, 401);
    await refused(browser.unlink(token), 409, 'IN_USE');
  });
});
