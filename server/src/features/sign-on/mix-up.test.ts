import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { type BegunHere, type SentBack, SignOnBrowser } from '../../../../test/support/browser-sign-on.ts';
import { json, OutsideIssuer } from '../../../../test/support/external-issuer.ts';
import { OUTSIDE_ENV } from '../../../../test/support/external-logins.ts';
import { OidcIssuer } from '../../../../test/support/oidc-issuer.ts';
import { addTenant, ok, openSession, refused, type Tenant } from '../../../../test/support/people.ts';
import { onSqliteAtLanding, type Service, startService } from '../../../../test/support/service.ts';
import { begin, confirm, finish, poll, startDevice } from '../../../../test/support/sign-on.ts';

/**
 * Mix-up (RFC 9700, 4.4): a provider sends a person who begins a sign-in with it on to another provider, in the hope that the code of that one is
 * sent to itself.
 */

const honest = await OidcIssuer.start();
const evil = await OutsideIssuer.start();
after(() => {
  honest.close();
  evil.close();
});

onSqliteAtLanding('a provider that leads people on to another one', (database) => {
  let service: Service;
  let browser: SignOnBrowser;
  let tenant: Tenant;
  let foreign: Tenant;
  /** Codes that came to the token endpoint of the provider that lies. */
  let stolen: string[];
  before(async () => {
    service = await startService(database, { env: OUTSIDE_ENV });
    browser = new SignOnBrowser(service, honest);
    await honest.register(service.url);
    [tenant, foreign] = [await addTenant(service), await addTenant(service)];
    await browser.addProvider(tenant);
    const lying = { issuer: evil.url, client_id: 'x', client_secret: 'y' };
    await browser.addProvider(tenant, 'evil', lying);
    await browser.addProvider(foreign, 'idp', lying);
    browser.newAccount();
    await browser.link(await openSession(service, tenant.owner.id));
  });
  after(() => service.close());
  beforeEach(() => {
    stolen = [];
    const discovery = {
      issuer: evil.url,
      jwks_uri: evil.jwksUrl,
      authorization_endpoint: `${evil.url}/authorize`,
      token_endpoint: `${evil.url}/token`,
    };
    evil.instead.set('/.well-known/openid-configuration', (_, response) => json(response, discovery));
    evil.instead.set('/token', (_, response) => {
      stolen.push('a code');
      response.writeHead(400).end();
    });
  });

  /** Where the honest provider sends the browser of the victim, who was led there with what the attacker began. */
  const ledOn = async (victim: string, more: Record<string, string> = {}) => {
    const mine = await browser.beginSignIn(tenant);
    const onward = new URL(mine.url);
    const { searchParams } = new URL(victim);
    onward.searchParams.set('state', searchParams.get('state') ?? '');
    for (const [name, value] of Object.entries(more)) onward.searchParams.set(name, value);
    const callback = new URL(await honest.signIn(onward.href));
    // As a provider that does not name itself (RFC 9207).
    callback.searchParams.delete('iss');
    return { mine, callback };
  };
  const answerAt = ({ origin, pathname, searchParams }: URL) => ({
    code: searchParams.get('code') ?? '',
    state: searchParams.get('state') ?? '',
    redirect_uri: `${origin}${pathname}`,
  });
  const shown = ({ pathname, search }: URL, { cookie }: { cookie: string }) =>
    browser.send('GET', `${pathname}${search}`, null, undefined, cookie);

  test('every provider has a redirect address of its own, which is what the sign-in sends', async () => {
    const uris = [];
    for (const [{ owner }, name] of [
      [tenant, 'idp'],
      [tenant, 'evil'],
      [foreign, 'idp'],
    ] as const) {
      uris.push((await ok(service.call('GET', `/auth/sso/providers/${name}`, { token: owner.token }))).redirect_uri);
    }
    assert.equal(new Set(uris).size, 3);
    assert.equal(uris[0], `${service.url}/auth/sso/callback/${tenant.id}/idp`);
    const { url } = await browser.beginSignIn(tenant);
    assert.equal(new URL(url).searchParams.get('redirect_uri'), uris[0]);
  });

  test('gets no code of it, neither by a sign-in of a browser nor by a link', async () => {
    const session = await openSession(service, tenant.owner.id);
    const ways: [() => Promise<BegunHere>, (body: SentBack, cookie: string) => Promise<unknown>][] = [
      [
        () => browser.beginSignIn(tenant, 'evil'),
        (body, cookie) => refused(browser.finishSignIn(body, cookie), 401, 'LOGIN_DENIED'),
      ],
      [
        () => browser.beginSignIn(foreign),
        (body, cookie) => refused(browser.finishSignIn(body, cookie), 401, 'LOGIN_DENIED'),
      ],
      [
        () => browser.beginLink(session, 'evil'),
        (body, cookie) => refused(browser.confirmLink(session, body, cookie), 401, 'LOGIN_DENIED'),
      ],
    ];
    for (const [beginWith, isRefused] of ways) {
      const victim = await beginWith();
      const { callback } = await ledOn(victim.url);
      await refused(shown(callback, victim), 401, 'LOGIN_DENIED');
      await isRefused({ ...answerAt(callback), flow_key: victim.flow_key }, victim.cookie);
      assert.deepEqual(stolen, []);
    }
  });

  test('of another tenant gets none by the page for command lines', async () => {
    const device = await startDevice(service, { provider: 'idp', tenant: foreign.name });
    const victim = await begin(service, 'idp', device, foreign.name);
    const { callback } = await ledOn(victim.authorizationUrl);
    await refused(finish(service, callback.href, victim.cookie), 401, 'LOGIN_DENIED');
    const { code, state } = answerAt(callback);
    await refused(confirm(service, callback.pathname, { code, state }, victim.cookie), 401, 'LOGIN_DENIED');
    const { entries } = await ok(service.call('GET', '/v1/audit?limit=5', { token: foreign.owner.token }));
    assert.match(entries[0].reason, /redirect address of another provider/);
    assert.deepEqual(stolen, []);
    assert.equal((await ok(poll(service, device))).status, 'pending');
  });

  test('gets a code for its own redirect address, which nobody can use at another one', async () => {
    const victim = await browser.beginSignIn(tenant, 'evil');
    const redirect_uri = new URL(victim.url).searchParams.get('redirect_uri') ?? '';
    const { mine, callback } = await ledOn(victim.url, { redirect_uri });
    assert.equal((await shown(callback, victim)).status, 200);
    const answer = { ...answerAt(callback), flow_key: victim.flow_key };
    await refused(browser.finishSignIn(answer, victim.cookie), 401, 'LOGIN_DENIED');
    assert.equal(stolen.length, 1);
    const own = new URL(mine.url).searchParams;
    const [state, at] = [own.get('state') ?? '', own.get('redirect_uri') ?? ''];
    const body = { code: answer.code, state, redirect_uri: at, iss: honest.url, flow_key: mine.flow_key };
    await refused(browser.finishSignIn(body, mine.cookie), 401, 'LOGIN_DENIED');
  });

  test('the answer of a provider that names itself is refused without its name', async () => {
    const sent = await browser.beginSignIn(tenant);
    const { iss, ...body } = await browser.comeBack(sent);
    assert.equal(iss, honest.url);
    await refused(browser.finishSignIn(body, sent.cookie), 401, 'LOGIN_DENIED');
    const again = await browser.beginSignIn(tenant);
    await ok(browser.finishSignIn(await browser.comeBack(again), again.cookie));
  });

  test('the redirect address of a provider is not the shared one, which is gone', async () => {
    const sent = await browser.beginSignIn(tenant);
    const callback = new URL(await honest.signIn(sent.url));
    const { code, state } = answerAt(callback);
    for (const path of ['/auth/sso/callback', `/auth/sso/callback/${tenant.id}`]) {
      const answer = await browser.send('POST', path, null, { code, state }, sent.cookie);
      assert.ok(answer.status === 404 || answer.status === 422, `${path} ${answer.status}`);
    }
  });
});
