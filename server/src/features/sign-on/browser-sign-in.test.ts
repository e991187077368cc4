import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { SignOnBrowser } from '../../../../test/support/browser-sign-on.ts';
import { SAME_ORIGIN, withSession } from '../../../../test/support/console-requests.ts';
import { fromElsewhere, OUTSIDE_ENV } from '../../../../test/support/external-logins.ts';
import { OidcIssuer } from '../../../../test/support/oidc-issuer.ts';
import { addPerson, addTenant, addToken, ok, refused, type Tenant } from '../../../../test/support/people.ts';
import { onSqliteAtLanding, type Service, startService } from '../../../../test/support/service.ts';
import { begin, poll, sendForm, startDevice } from '../../../../test/support/sign-on.ts';

/** A browser that signs in with a provider for itself, as the console does. */

const idp = await OidcIssuer.start();
after(() => idp.close());

onSqliteAtLanding('sign-on of a browser', (database) => {
  let service: Service;
  let browser: SignOnBrowser;
  let tenant: Tenant;
  before(async () => {
    service = await startService(database, { env: { ...OUTSIDE_ENV, CV_CONSOLE: 'on' } });
    await idp.register(service.url);
    tenant = await addTenant(service);
    browser = new SignOnBrowser(service, idp);
    await browser.addProvider(tenant);
  });
  after(() => service.close());
  beforeEach(() => void browser.newAccount());

  const send = (path: string, body: object) => browser.send('POST', path, null, body);

  test('it gets a session of the person, once', async () => {
    const begun = await browser.beginSignIn(tenant);
    const body = await browser.comeBack(begun);
    const { token, user_id } = await ok(browser.finishSignIn(body, begun.cookie));
    const me = await ok(service.call('GET', '/auth/me', { token }));
    assert.deepEqual([me.user.id, me.user.email, me.tenant.name], [user_id, idp.account['email'], tenant.name]);
    await refused(browser.finishSignIn(body, begun.cookie), 401, 'LOGIN_DENIED');
  });

  test('in the console the session is a cookie beside the one of the sign-in, which is deleted; a former session ends', async () => {
    const begun = await browser.beginSignIn(tenant);
    const body = await browser.comeBack(begun);
    const finish = (path: string, form: object, cookie: string) =>
      fetch(`${service.url}/console/api${path}`, {
        method: 'POST',
        headers: {
          ...fromElsewhere(),
          ...SAME_ORIGIN,
          cookie,
          'content-type': 'application/json',
        },
        body: JSON.stringify(form),
      });
    const answer = await finish('/auth/sso/session', body, begun.cookie);
    assert.equal(answer.status, 200, await answer.text());
    const set = answer.headers.getSetCookie();
    assert.equal(set.length, 2, String(set.length));
    assert.ok(set.some((each) => /^__Host-coffer-sso=; .*Max-Age=0$/.test(each)));
    const session = set.find((each) => each.startsWith('__Host-coffer-session='))?.split(';')[0] as string;
    const whoAmI = (cookie: string) => fetch(`${service.url}/console/api/auth/me`, { headers: withSession(cookie) });
    assert.equal((await whoAmI(session)).status, 200);

    const person = await addPerson(service, { tenant });
    const { email, password } = person;
    const wrong = { email, password: `${password}?`, tenant: tenant.name };
    assert.equal((await finish('/auth/login', wrong, session)).status, 401);
    assert.equal((await whoAmI(session)).status, 200, 'a sign-in that is refused ends nothing');
    const login = await finish('/auth/login', { email, password, tenant: tenant.name }, session);
    const next = login.headers.getSetCookie()[0]?.split(';')[0] as string;
    assert.equal((await whoAmI(next)).status, 200);
    assert.equal((await whoAmI(session)).status, 401, 'the former session has ended');
    const { entries } = await ok(service.call('GET', '/v1/audit?action=auth:logout', { token: tenant.owner.token }));
    assert.equal(entries[0].actor.name, idp.account['email']);
  });

  test('a refused callback, and a form of another site, are pages for a browser', async () => {
    const accept = { accept: 'text/html,application/xhtml+xml', ...fromElsewhere() };
    const at = `${service.url}/auth/sso/callback/t/idp`;
    const refusals = [
      await fetch(`${at}?code=a&state=b`, { headers: accept }),
      await fetch(`${at}?error=access_denied&state=b`, { headers: accept }),
      await fetch(at, {
        method: 'POST',
        headers: { ...accept, 'content-type': 'application/x-www-form-urlencoded', 'sec-fetch-site': 'cross-site' },
        body: 'code=a&state=b',
      }),
    ];
    for (const answer of refusals) {
      const { status, headers } = answer;
      assert.ok(status === 401 || status === 403, String(status));
      assert.match(headers.get('content-type') ?? '', /^text\/html/);
      assert.match(await answer.text(), /<h1>This did not work<\/h1>/);
      assert.match(headers.get('content-security-policy') ?? '', /default-src 'none'/);
    }
  });

  test('the session cannot give the account a password, nor can a token that is made with it', async () => {
    const { token } = await ok(browser.signIn(tenant));
    const body = { new_password: 'a password of a thief' };
    for (const credential of [token, (await addToken(service, token)).token]) {
      await refused(service.call('POST', '/auth/password', { token: credential, body }), 401, 'LOGIN_DENIED');
    }
  });

  test('nobody else can use what the provider sent: not without the cookie, nor with another one', async () => {
    const [own, other] = [await browser.beginSignIn(tenant), await browser.beginSignIn(tenant)];
    const body = await browser.comeBack(own);
    await refused(browser.finishSignIn(body, ''), 401, 'LOGIN_DENIED');
    await refused(browser.finishSignIn(body, other.cookie), 401, 'LOGIN_DENIED');
    // fetch writes this character as the single byte 0xA0, which makes it a cookie that other programs on the host may set.
    await refused(browser.finishSignIn(body, `\u00a0${own.cookie}`), 401, 'LOGIN_DENIED');
    await refused(browser.finishSignIn(body, `a=b; \u00a0${own.cookie}`), 401, 'LOGIN_DENIED');
    await ok(browser.finishSignIn(body, `${own.cookie}; \u00a0${other.cookie}`));
  });

  test('no page of another site begins one, and replaces the one that this browser has begun', async () => {
    const path = `${service.url}/auth/sso/idp/browser`;
    const post = (headers: Record<string, string>, body?: string) =>
      fetch(path, { method: 'POST', headers: { ...fromElsewhere(), ...headers }, ...(body !== undefined && { body }) });
    const foreign: Record<string, string>[] = [
      { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' },
      { 'sec-fetch-site': 'same-site' },
      { origin: 'https://evil.example' },
      { origin: 'null' },
    ];
    const types: Record<string, string>[] = [
      {},
      { 'content-type': 'text/plain' },
      { 'content-type': 'application/x-www-form-urlencoded' },
      { 'content-type': '\u00a0application/json' },
    ];
    for (const from of foreign) {
      for (const type of types) {
        for (const body of [undefined, JSON.stringify({ tenant: tenant.name })]) {
          const answer = await post({ ...from, ...type }, body);
          assert.equal(answer.status, 403, JSON.stringify([from, type, body]));
          assert.equal(answer.headers.get('set-cookie'), null);
        }
      }
    }
    const json = { 'content-type': 'application/json' };
    const body = JSON.stringify({ tenant: tenant.name });
    // What is not a page, the console itself, and JSON, which a browser does not send to another site.
    for (const headers of [json, { ...json, 'sec-fetch-site': 'same-origin' }, { ...json, origin: service.url }]) {
      assert.equal((await post(headers, body)).status, 200, JSON.stringify(headers));
    }
    assert.equal(
      (await fetch(`${service.url}/auth/passkeys/options`, { method: 'POST', headers: foreign[0] ?? {} })).status,
      403,
    );
  });

  test('a provider that is added again under the same name does not finish what the former one began', async () => {
    const other = await addTenant(service);
    await browser.addProvider(other);
    const evil = await OidcIssuer.start();
    await evil.register(service.url);
    const begun = await browser.beginSignIn(other);
    const body = await browser.comeBack(begun);
    const as = { token: other.owner.token };
    const again = async (issuer: string) => {
      await ok(service.call('DELETE', '/auth/sso/providers/idp', as));
      await browser.addProvider(other, 'idp', { issuer });
      await refused(browser.finishSignIn(body, begun.cookie), 401, 'LOGIN_DENIED');
      const { entries } = await ok(service.call('GET', '/v1/audit?decision=deny&limit=1', as));
      return entries[0].reason;
    };
    assert.match(await again(evil.url), /changed meanwhile/);
    await evil.close();
    await ok(service.call('DELETE', '/auth/sso/providers/idp', as));
    await browser.addProvider(other);
    // The same issuer may have been added with other rules.
    const next = await browser.beginSignIn(other);
    const answer = await browser.comeBack(next);
    service.clock.advance(1);
    await ok(service.call('DELETE', '/auth/sso/providers/idp', as));
    await browser.addProvider(other, 'idp', { default_role: 'auditor' });
    await refused(browser.finishSignIn(answer, next.cookie), 401, 'LOGIN_DENIED');
    await ok(browser.signIn(other));
  });

  test('a sign-in for a command line cannot be turned into one of a browser, nor the other way round', async () => {
    const device = await startDevice(service, { provider: 'idp', tenant: tenant.name });
    const forDevice = await begin(service, 'idp', device, tenant.name);
    const callback = new URL(await idp.signIn(forDevice.authorizationUrl));
    const sent = Object.fromEntries(callback.searchParams) as { code: string; state: string };
    const redirect_uri = `${callback.origin}${callback.pathname}`;
    await refused(
      browser.finishSignIn({ code: sent.code, state: sent.state, redirect_uri, flow_key: 'k' }, forDevice.cookie),
      401,
      'LOGIN_DENIED',
    );
    const own = await browser.beginSignIn(tenant);
    const { redirect_uri: _, flow_key: __, ...answer } = await browser.comeBack(own);
    const confirmed = { ...answer, user_code: device.user_code };
    await refused(browser.send('POST', callback.pathname, null, confirmed, own.cookie), 401, 'LOGIN_DENIED');
  });

  test('a page into whose browser another program put the cookie of its own sign-in signs nobody in', async () => {
    const theirs = await browser.beginSignIn(tenant);
    const planted = await browser.comeBack(theirs);
    const own = await browser.beginSignIn(tenant);
    for (const flow_key of [own.flow_key, 'none', theirs.flow_key.slice(1), theirs.flow_key.toLowerCase()]) {
      await refused(browser.finishSignIn({ ...planted, flow_key }, theirs.cookie), 401, 'LOGIN_DENIED');
    }
    const { flow_key: _, ...without } = planted;
    const answer = browser.send('POST', '/auth/sso/session', null, without, theirs.cookie);
    await refused(answer, 422, 'VALIDATION_FAILED');
    await ok(browser.finishSignIn(planted, theirs.cookie));
  });

  test('a person who is led to the end of the sign-in for the command line of somebody else does not sign it in', async () => {
    const theirs = await startDevice(service, { provider: 'idp', tenant: tenant.name });
    const own = await startDevice(service, { provider: 'idp', tenant: tenant.name });
    const planted = await begin(service, 'idp', theirs, tenant.name);
    const { pathname, search, searchParams } = new URL(await idp.signIn(planted.authorizationUrl));
    const shown = await browser.send('GET', `${pathname}${search}`, null, undefined, planted.cookie);
    assert.equal(shown.status, 200);
    assert.ok(!shown.text.includes(theirs.user_code), 'the page does not say what to type');
    const sent = Object.fromEntries(searchParams);
    for (const user_code of [own.user_code, theirs.user_code.replace('-', ''), 'BBBB-BBBB']) {
      const typed = sendForm(service, pathname, { ...sent, user_code }, { cookie: planted.cookie });
      await refused(typed, 401, 'LOGIN_DENIED');
    }
    await refused(sendForm(service, pathname, sent, { cookie: planted.cookie }), 422, 'VALIDATION_FAILED');
    assert.equal((await ok(poll(service, theirs))).status, 'pending');
    const typed = { ...sent, user_code: theirs.user_code.toLowerCase() };
    assert.equal((await sendForm(service, pathname, typed, { cookie: planted.cookie })).status, 200);
  });

  test('two at once give one session', async () => {
    const begun = await browser.beginSignIn(tenant);
    const body = await browser.comeBack(begun);
    const answers = await Promise.all([1, 2, 3].map(() => browser.finishSignIn(body, begun.cookie)));
    assert.deepEqual(answers.map(({ status }) => status).toSorted(), [200, 401, 401]);
  });

  test('a page of another site cannot send the forms for the person, and nothing has changed', async () => {
    const device = await startDevice(service, { provider: 'idp', tenant: tenant.name });
    const fields = { user_code: device.user_code, tenant: tenant.name };
    const type = 'application/x-www-form-urlencoded';
    const { host } = new URL(service.url);
    const foreign: Record<string, string>[] = [
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site', origin: service.url },
      { 'sec-fetch-site': 'none' },
      { origin: 'https://evil.example' },
      { origin: `app://${host}` },
      { origin: 'null' },
      {},
    ];
    const post = (path: string, form: Record<string, string>, headers: Record<string, string>) =>
      service.call('POST', path, {
        token: null,
        body: new URLSearchParams(form).toString(),
        headers: { ...fromElsewhere(), 'content-type': type, ...headers },
      });
    const begun = await begin(service, 'idp', device, tenant.name);
    const callback = new URL(await idp.signIn(begun.authorizationUrl));
    const sent = { ...Object.fromEntries(callback.searchParams), user_code: device.user_code };
    for (const headers of foreign) {
      const first = await post('/auth/sso/idp', fields, headers);
      await refused(Promise.resolve(first), 403, 'INSUFFICIENT_PRIVILEGE');
      assert.equal(first.headers.get('set-cookie'), null);
      const last = post(callback.pathname, sent, { cookie: begun.cookie, ...headers });
      await refused(last, 403, 'INSUFFICIENT_PRIVILEGE');
    }
    assert.equal((await ok(poll(service, device))).status, 'pending');
    const own = { cookie: begun.cookie, origin: service.url };
    assert.equal((await post(callback.pathname, sent, own)).status, 200, 'a browser without Sec-Fetch-Site');
    assert.equal((await ok(poll(service, device))).status, 'approved');
  });

  test('a program that is no browser sends JSON instead of a form', async () => {
    const { user_code } = await startDevice(service, { provider: 'idp', tenant: tenant.name });
    assert.equal((await send('/auth/sso/idp', { user_code, tenant: tenant.name })).status, 200);
  });

  test('an unknown provider and an unknown tenant are refused alike', async () => {
    await refused(send('/auth/sso/nothing/browser', { tenant: tenant.name }), 401, 'LOGIN_DENIED');
    await refused(send('/auth/sso/idp/browser', { tenant: 'no-such-tenant' }), 401, 'LOGIN_DENIED');
  });
});
