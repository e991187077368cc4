import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { assembled, json, newIssuerKey, OutsideIssuer, signed } from '../../../../test/support/external-issuer.ts';
import { fromElsewhere, OUTSIDE_ENV } from '../../../../test/support/external-logins.ts';
import { OidcIssuer } from '../../../../test/support/oidc-issuer.ts';
import { addTenant, ok, openSession, refused, type Tenant, uniqueName } from '../../../../test/support/people.ts';
import { type Answer, onSqliteAtLanding, type Service, startService } from '../../../../test/support/service.ts';
import { begin, confirm, type Device, finish, poll, sendForm, startDevice } from '../../../../test/support/sign-on.ts';
import { addTotp } from '../../../../test/support/totp.ts';

/** Signing out at the provider: where a person does it, and what happens here when the provider says that they did. */

const EVENT = 'http://schemas.openid.net/event/backchannel-logout';
const idp = await OidcIssuer.start();
/** A provider that signs whatever a test wants. */
const forger = await OutsideIssuer.start();
const key = await newIssuerKey('k', 'RS256');
forger.keys = [key.jwk];
after(() => {
  idp.close();
  forger.close();
});

onSqliteAtLanding('sign-out at a provider', (database) => {
  let service: Service;
  let tenant: Tenant;
  let sub: string;
  before(async () => {
    service = await startService(database, { env: OUTSIDE_ENV });
    await idp.register(service.url);
    tenant = await tenantWithProviders();
  });
  after(() => service.close());
  beforeEach(() => {
    sub = uniqueName('subject');
    idp.account = { sub, email: `${sub}@acme.example`, email_verified: true, name: 'Ada', groups: [] };
    forger.instead.set('/.well-known/openid-configuration', (_, response) => json(response, discovery));
  });

  const discovery = {
    issuer: forger.url,
    jwks_uri: forger.jwksUrl,
    authorization_endpoint: `${forger.url}/authorize`,
    token_endpoint: `${forger.url}/token`,
    id_token_signing_alg_values_supported: ['RS256'],
  };
  const tenantWithProviders = async (): Promise<Tenant> => {
    const made = await addTenant(service);
    const common = { client_id: 'coffer', client_secret: 'coffer-client-secret', default_role: 'member' };
    for (const [name, issuer] of Object.entries({ idp: idp.url, forger: forger.url })) {
      const body = { name, issuer, ...common };
      await ok(service.call('POST', '/auth/sso/providers', { token: made.owner.token, body }), 201);
    }
    return made;
  };
  const seconds = () => Math.floor(Date.now() / 1000);
  const confirmed = async (sid: string | undefined, { name } = tenant): Promise<Device> => {
    const device = await startDevice(service);
    const { cookie, authorizationUrl } = await begin(service, 'forger', device, name);
    const { nonce, state = '', redirect_uri = '' } = Object.fromEntries(new URL(authorizationUrl).searchParams);
    const [iat, exp, email] = [seconds(), seconds() + 300, `${sub}@elsewhere.example`];
    const claims = { iss: forger.url, aud: 'coffer', sub, email, groups: [], nonce, iat, exp, ...(sid && { sid }) };
    const id_token = await signed(key, claims as never);
    const tokens = { access_token: 'x', token_type: 'Bearer', expires_in: 60, id_token };
    forger.instead.set('/token', (_, response) => json(response, tokens));
    const answer = await confirm(service, new URL(redirect_uri).pathname, { code: 'c', state }, cookie);
    assert.equal(answer.status, 200, answer.text);
    return device;
  };
  const sessionOf = async (device: Device): Promise<string> => (await ok(poll(service, device))).token;
  const atForger = async (sid?: string, of = tenant) => sessionOf(await confirmed(sid, of));
  const atIdp = async (): Promise<string> => {
    const device = await startDevice(service);
    const { cookie, authorizationUrl } = await begin(service, 'idp', device, tenant.name);
    assert.equal((await finish(service, await idp.signIn(authorizationUrl), cookie)).status, 200);
    return sessionOf(device);
  };
  const me = (token: string) => service.call('GET', '/auth/me', { token });
  const works = async (token: string) => ok(me(token));
  const hasEnded = async (token: string) => refused(me(token), 401, 'INVALID_TOKEN');

  const claimsOf = (more: object = {}) => ({
    iss: forger.url,
    aud: 'coffer',
    sub,
    iat: seconds(),
    exp: seconds() + 120,
    jti: uniqueName('jti'),
    events: { [EVENT]: {} },
    ...more,
  });
  const logoutToken = (more: object = {}, signer = key) =>
    signed(signer, JSON.parse(JSON.stringify(claimsOf(more))), { typ: 'logout+jwt' });
  const path = (provider = 'forger', name = tenant.name) =>
    `/auth/sso/${provider}/backchannel-logout?tenant=${encodeURIComponent(name)}`;
  const send = (logout_token: string, to = path()) => sendForm(service, to, { logout_token, more: 'is ignored' });
  const reasonOf = async (answer: Answer, { owner } = tenant): Promise<string> => {
    await refused(Promise.resolve(answer), 400, 'INVALID_REQUEST');
    assert.equal(answer.headers.get('cache-control'), 'no-store');
    const { entries } = await ok(service.call('GET', '/v1/audit?limit=20', { token: owner.token }));
    const id = answer.headers.get('x-request-id');
    return entries.find((entry: { request_id: string }) => entry.request_id === id)?.reason ?? '';
  };

  test('a real provider ends the sessions of a person that began there, and no others', async () => {
    const [one, two] = [await atIdp(), await atIdp()];
    const { user } = await works(one);
    const own = await openSession(service, user.id);
    const pat = await ok(service.call('POST', '/auth/tokens', { token: own, body: { name: 'mine' } }), 201);
    // The same subject of another issuer is somebody else.
    const elsewhere = await atForger();
    idp.account = { ...idp.account, sub: uniqueName('other'), email: `${uniqueName('other')}@acme.example` };
    const ofAnother = await atIdp();

    await idp.logOut(sub, `${service.url}${path('idp')}`);
    for (const token of [one, two]) await hasEnded(token);
    for (const token of [pat.token, elsewhere, ofAnother]) await works(token);
    const query = '/v1/audit?action=auth:sso_backchannel_logout&limit=1';
    const { entries } = await ok(service.call('GET', query, { token: tenant.owner.token }));
    const { decision, details } = entries[0];
    assert.deepEqual([decision, details.provider, details.sessions_ended], ['allow', 'idp', 2]);
    assert.deepEqual(details.users, [user.id]);
  });

  test('with the id of a session, that one ends; without it, all of the person', async () => {
    const [one, two, unknown] = [await atForger('s-1'), await atForger('s-2'), await atForger()];
    const { sessions_ended } = await ok(send(await logoutToken({ sid: 's-1', sub: undefined })));
    assert.equal(sessions_ended, 1);
    await hasEnded(one);
    await works(two);
    await works(unknown);
    // A session whose id is not known ends with every logout of its person.
    await ok(send(await logoutToken({ sid: 's-3' })));
    await hasEnded(unknown);
    await works(two);
    await ok(send(await logoutToken({ sid: 's-2', sub: uniqueName('another') })));
    await works(two);
    await ok(send(await logoutToken()));
    await hasEnded(two);
    assert.equal((await ok(send(await logoutToken()))).sessions_ended, 0);
    await works(await atForger('s-4'));
  });

  test('a sign-in that was confirmed before the logout gives no session after it', async () => {
    const device = await confirmed('s-1');
    await ok(send(await logoutToken()));
    await refused(poll(service, device), 401, 'LOGIN_DENIED');
    await works(await atForger());
  });

  test('a session that went on under a new id, by a second factor, ends as well', async () => {
    const token = await atForger('s-1');
    const { user } = await ok(service.call('GET', '/auth/me', { token }));
    const { recoveryCodes } = await addTotp(service, user.id);
    const body = { otp: recoveryCodes[0] };
    const later = await ok(service.call('POST', '/auth/step-up', { token, body, headers: fromElsewhere() }));
    await works(later.token);
    await ok(send(await logoutToken({ sid: 's-1', sub: undefined })));
    await hasEnded(later.token);
  });

  test('a token counts once, also if it comes several times at once', async () => {
    const token = await logoutToken();
    const answers = await Promise.all([1, 2, 3].map(() => send(token)));
    assert.deepEqual(answers.map(({ status }) => status).toSorted(), [200, 400, 400]);
    const session = await atForger();
    assert.match(await reasonOf(await send(token)), /used before/);
    await works(session);
  });

  test('tokens that are refused, and end nothing', async () => {
    const session = await atForger('s-1');
    const none = assembled({ alg: 'none', typ: 'logout+jwt' }, claimsOf());
    const long = { iat: seconds() - 1200, exp: seconds() + 600 };
    const cases: [string, string | Promise<string>, RegExp][] = [
      ['no token', '', /not a signed JWT/],
      ['alg none', none, /not a signed JWT|algorithm/],
      ['alg none, signed', `${none}AAAA`, /algorithm/],
      ['another key', logoutToken({}, await newIssuerKey('k', 'RS256')), /signature is wrong/],
      ['another audience', logoutToken({ aud: 'another' }), /another audience/],
      ['several audiences', logoutToken({ aud: ['coffer', 'another'] }), /several audiences/],
      ['another issuer', logoutToken({ iss: idp.url }), /another issuer/],
      ['expired', logoutToken({ iat: seconds() - 300, exp: seconds() - 200 }), /expired/],
      ['no expiry', logoutToken({ exp: undefined }), /exp/],
      ['no time of issue', logoutToken({ iat: undefined }), /iat/],
      ['issued long ago', logoutToken(long), /too long ago/],
      ['a nonce', logoutToken({ nonce: 'n' }), /nonce/],
      ['no events', logoutToken({ events: undefined }), /events/],
      ['another event', logoutToken({ events: { 'http://example.com/event': {} } }), /events/],
      ['an event that is no object', logoutToken({ events: { [EVENT]: true } }), /events/],
      ['no id', logoutToken({ jti: undefined }), /jti/],
      ['neither subject nor session', logoutToken({ sub: undefined }), /neither/],
      ['a subject that is no text', logoutToken({ sub: 7 }), /subject/],
      ['a session that is no text', logoutToken({ sid: { $ne: 1 } }), /sid/],
      ['another type', signed(key, claimsOf() as never, { typ: 'at+jwt' }), /another kind/],
    ];
    for (const [name, token, reason] of cases) {
      assert.match(await reasonOf(await send(await token)), reason, name);
    }
    await refused(sendForm(service, path(), { other: 'x' }), 400, 'INVALID_REQUEST');
    await works(session);
  });

  test('a provider ends nothing of another provider or tenant', async () => {
    const session = await atForger('s-1');
    assert.match(await reasonOf(await send(await logoutToken(), path('idp'))), /another issuer/);
    assert.match(await reasonOf(await send(await logoutToken(), path('nothing'))), /no such/);
    await refused(send(await logoutToken(), path('forger', 'no-such-tenant')), 400, 'INVALID_REQUEST');
    const other = await tenantWithProviders();
    assert.equal((await ok(send(await logoutToken(), path('forger', other.name)))).sessions_ended, 0);
    await works(session);
    const theirs = await atForger('s-1', other);
    await ok(send(await logoutToken({ sid: 's-1', sub: undefined })));
    await hasEnded(session);
    await works(theirs);
  });

  test('a session learns where to sign out at its provider, and others have nowhere', async () => {
    const where = (token: string) => ok(service.call('GET', '/auth/sso/sign-out', { token }));
    const session = await atIdp();
    const { provider, url } = await where(session);
    const { origin, pathname, searchParams } = new URL(url);
    assert.deepEqual([provider, origin, pathname], ['idp', idp.url, '/session/end']);
    assert.deepEqual(Object.fromEntries(searchParams), {
      client_id: 'coffer',
      post_logout_redirect_uri: `${service.url}/`,
    });
    await works(session);
    const atOther = await atForger();
    assert.deepEqual(await where(atOther), { provider: 'forger', url: null });
    const lies = { ...discovery, end_session_endpoint: 'javascript:alert(1)' };
    forger.instead.set('/.well-known/openid-configuration', (_, response) => json(response, lies));
    assert.deepEqual(await where(atOther), { provider: 'forger', url: null });
    forger.instead.set('/.well-known/openid-configuration', (_, response) => response.writeHead(500).end());
    assert.deepEqual(await where(atOther), { provider: 'forger', url: null });
    const notHere = { ...discovery, authorization_endpoint: 'javascript:alert(1)' };
    forger.instead.set('/.well-known/openid-configuration', (_, response) => json(response, notHere));
    const { user_code } = await startDevice(service);
    await refused(sendForm(service, '/auth/sso/forger', { user_code, tenant: tenant.name }), 401, 'LOGIN_DENIED');
    const own = await openSession(service, tenant.owner.id);
    assert.deepEqual(await where(own), { provider: null, url: null });
    const read = await ok(service.call('GET', '/auth/sso/providers/idp', { token: tenant.owner.token }));
    assert.equal(read.backchannel_logout_uri, `${service.url}${path('idp')}`);
    assert.equal(read.post_logout_redirect_uri, `${service.url}/`);
  });
});
