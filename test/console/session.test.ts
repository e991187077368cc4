import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ownerOf, SAME_ORIGIN, sessionOf, withSession } from '../support/console-requests.ts';
import { addPerson, addTenant, addToken, holdClock, logIn, ok, type Person } from '../support/people.ts';
import { sendRaw } from '../support/raw-http.ts';
import { onSqliteAtLanding, type Service, startService } from '../support/service.ts';

/** The session of the console over HTTP: who may use the cookie, where, and from which page. */

const JSON_BODY = { 'content-type': 'application/json' };

onSqliteAtLanding('the session of the console', (database) => {
  let service: Service;
  let person: Person;
  before(async () => {
    service = await startService(database, { env: { CV_CONSOLE: 'on' } });
    person = await addPerson(service, { role: 'admin' });
  });
  after(() => service.close());

  const send = (path: string, init: RequestInit = {}) => fetch(`${service.url}${path}`, init);
  const signIn = async () => {
    const response = await send('/console/api/auth/login', {
      method: 'POST',
      headers: { ...SAME_ORIGIN, ...JSON_BODY },
      body: JSON.stringify({ email: person.email, password: person.password }),
    });
    assert.equal(response.status, 200);
    const [cookie = ''] = response.headers.getSetCookie();
    return { response, cookie, pair: cookie.split(';')[0] ?? '' };
  };
  const me = (headers: Record<string, string>, path = '/console/api/auth/me') => send(path, { headers });

  test('a sign-in sets a cookie that no script reads, and its answer has no token', async () => {
    const { response, cookie } = await signIn();
    assert.match(cookie, /^__Host-coffer-session=[\w.-]+; Path=\/; HttpOnly; Secure; SameSite=Strict; Max-Age=\d+$/);
    const seconds = Number(/Max-Age=(\d+)/.exec(cookie)?.[1]);
    assert.ok(seconds > 43_000 && seconds <= 43_200, String(seconds));
    const body = (await response.json()) as Record<string, unknown>;
    assert.equal(body['token'], undefined);
    assert.equal(body['user_id'], person.id);
  });

  test('the cookie is a session below /console/api, and nowhere else', async () => {
    const { pair } = await signIn();
    const inside = await me(withSession(pair));
    assert.equal(inside.status, 200);
    assert.equal(((await inside.json()) as { user: { id: string } }).user.id, person.id);
    for (const path of ['/auth/me', '/v1/auth/me', '/console/auth/me', '/console/apiauth/me']) {
      assert.notEqual((await me(withSession(pair), path)).status, 200, path);
    }
  });

  test('every sign-in begins another session', async () => {
    const [first, second] = [await signIn(), await signIn()];
    assert.notEqual(first.pair, second.pair);
  });

  test('a session that somebody else chose is no session', async () => {
    for (const value of ['chosen', '', 'a.b.c', 'x'.repeat(5000)]) {
      const answer = await me({ ...SAME_ORIGIN, cookie: `__Host-coffer-session=${value}` });
      assert.equal(answer.status, value.length > 4096 ? answer.status : 401, value.slice(0, 10));
      assert.notEqual(answer.status, 200);
    }
    const { pair } = await signIn();
    const twice = await me({ ...SAME_ORIGIN, cookie: `${pair}; __Host-coffer-session=chosen` });
    assert.equal(twice.status, 401);
  });

  test('a cookie with a byte before its name is another cookie, which any page of the host may set', async () => {
    const { pair } = await signIn();
    const ask = (cookie: Buffer) => {
      const head = `GET /console/api/auth/me HTTP/1.1\r\nHost: ${new URL(service.url).host}\r\nSec-Fetch-Site: same-origin\r\nX-Coffer-User: ${ownerOf(pair)}\r\n`;
      const bytes = [Buffer.from(`${head}Connection: close\r\nCookie: `), cookie, Buffer.from('\r\n\r\n')];
      return sendRaw(service.url, Buffer.concat(bytes), { waitMs: 30_000 });
    };
    assert.equal((await ask(Buffer.from(`\t${pair}`))).status, 200);
    for (const before of [[0xa0], [0x85], [0xc2, 0xa0], [0xef, 0xbb, 0xbf], [0xe2, 0x80, 0x80], [0x20, 0xa0]]) {
      const planted = Buffer.concat([Buffer.from(before), Buffer.from(pair)]);
      assert.equal((await ask(planted)).status, 401, String(before));
      const chosen = Buffer.concat([
        Buffer.from(`${pair}; `),
        Buffer.from(before),
        Buffer.from('__Host-coffer-session=x'),
      ]);
      assert.equal((await ask(chosen)).status, 200, String(before));
    }
  });

  test('requests from other pages are refused, also from another port of the same host', async () => {
    const { pair } = await signIn();
    const host = new URL(service.url).host;
    const refusedHeaders: Record<string, string>[] = [
      { 'sec-fetch-site': 'same-site' },
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'none' },
      { 'sec-fetch-site': 'cross-site', origin: service.url },
      {},
      { origin: 'null' },
      { origin: 'https://evil.example' },
      { origin: 'http://127.0.0.1:1' },
      { origin: `http://${host}.evil.example` },
      { origin: `http://evil.example/${host}` },
    ];
    for (const headers of refusedHeaders) {
      for (const method of ['GET', 'POST']) {
        const path = method === 'GET' ? '/console/api/auth/me' : '/console/api/auth/logout';
        const answer = await send(path, { method, headers: { ...headers, ...sessionOf(pair) } });
        assert.equal(answer.status, 403, JSON.stringify([method, headers]));
      }
    }
    assert.equal((await me({ origin: service.url, ...sessionOf(pair) })).status, 200);
    assert.equal((await me(withSession(pair))).status, 200);
  });

  test('a form or a text is no request of the console', async () => {
    const { pair } = await signIn();
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data']) {
      const answer = await send('/console/api/v1/groups', {
        method: 'POST',
        headers: { ...withSession(pair), 'content-type': type },
        body: JSON.stringify({ name: 'made-by-a-form' }),
      });
      assert.ok(answer.status >= 400 && answer.status < 500, `${type}: ${answer.status}`);
    }
    const { groups } = await ok(service.call('GET', '/v1/groups'));
    assert.ok(!groups.some(({ name }: { name: string }) => name === 'made-by-a-form'));
  });

  test('a cookie and a token together are two credentials', async () => {
    const { pair } = await signIn();
    const answer = await me({ ...withSession(pair), authorization: `Bearer ${service.adminToken}` });
    assert.equal(answer.status, 401);
    const alone = await me({ ...SAME_ORIGIN, authorization: `Bearer ${service.adminToken}` });
    assert.equal(alone.status, 401);
  });

  test('signing out ends the session, and deletes the cookie and what was cached', async () => {
    const { pair } = await signIn();
    const left = await send('/console/api/auth/logout', { method: 'POST', headers: withSession(pair) });
    assert.equal(left.status, 204);
    assert.match(left.headers.getSetCookie()[0] ?? '', /^__Host-coffer-session=; .*Max-Age=0$/);
    assert.equal(left.headers.get('clear-site-data'), '"cache"');
    assert.equal((await me(withSession(pair))).status, 401);
  });

  test('a sign-in over a session ends that session, whatever it has used up, and a refused one does not', async () => {
    const tenant = await addTenant(service);
    const { email, password } = await addPerson(service, { tenant });
    const logIn = async (cookie: string, typed = password) => {
      const response = await send('/console/api/auth/login', {
        method: 'POST',
        headers: { ...SAME_ORIGIN, ...JSON_BODY, cookie },
        body: JSON.stringify({ email, password: typed, tenant: tenant.name }),
      });
      return { status: response.status, pair: response.headers.getSetCookie()[0]?.split(';')[0] ?? '' };
    };
    const former = await logIn('');
    const cookie = former.pair;
    await ok(service.call('PATCH', `/v1/tenants/${tenant.id}`, { body: { rate_limits: { write: 1 } } }));
    await holdClock(
      service,
      (async () => {
        const write = () => send('/console/api/v1/vaults/nope', { method: 'DELETE', headers: withSession(cookie) });
        for (let i = 0; i < 2; i++) await write();
        assert.equal((await write()).status, 429);
        assert.equal((await logIn(cookie, 'not the password')).status, 401);
        assert.equal((await me(withSession(cookie))).status, 200);
        const next = await logIn(cookie);
        assert.equal(next.status, 200);
        assert.equal((await me(withSession(cookie))).status, 401, 'the former session has ended');
        assert.equal((await me(withSession(next.pair))).status, 200);
      })(),
    );
  });

  test('a wrong password sets no cookie', async () => {
    const answer = await send('/console/api/auth/login', {
      method: 'POST',
      headers: { ...SAME_ORIGIN, ...JSON_BODY },
      body: JSON.stringify({ email: person.email, password: 'not the password' }),
    });
    assert.equal(answer.status, 401);
    assert.deepEqual(answer.headers.getSetCookie(), []);
  });

  test('outside the console a sign-in still answers its token, and sets no cookie', async () => {
    const answer = await send('/auth/login', {
      method: 'POST',
      headers: JSON_BODY,
      body: JSON.stringify({ email: person.email, password: person.password }),
    });
    assert.deepEqual(answer.headers.getSetCookie(), []);
    assert.equal(typeof ((await answer.json()) as { token: unknown }).token, 'string');
  });

  test('a new personal access token is shown, and does not become the session', async () => {
    const { pair } = await signIn();
    const answer = await send('/console/api/auth/tokens', {
      method: 'POST',
      headers: { ...withSession(pair), ...JSON_BODY },
      body: JSON.stringify({ name: 'laptop', ttl_days: 1 }),
    });
    assert.equal(answer.status, 201);
    assert.deepEqual(answer.headers.getSetCookie(), []);
    assert.match(((await answer.json()) as { token: string }).token, /^cv_pat_/);
  });

  test('capabilities are decided for the caller, within the ceiling of the credential', async () => {
    const checks = [
      { action: 'secrets:read', resource: 'vault/payments/db' },
      { action: 'secrets:read', resource: 'vault/other/db' },
      { action: 'nothing:known', resource: 'nowhere' },
    ];
    const ask = async (token: string) =>
      (await ok(service.call('POST', '/auth/capabilities', { token, body: { checks } }))).allowed;
    assert.deepEqual(await ask(service.adminToken), [true, true, true]);
    const member = await addPerson(service, { role: 'member' });
    assert.deepEqual(await ask(await logIn(service, member)), [false, false, false]);
    const scoped = await addToken(service, service.adminToken, { scope: { vaults: ['payments'] } });
    assert.deepEqual((await ask(scoped.token)).slice(0, 2), [true, false]);
  });

  test('the page allows only its own scripts, no frame, and no cache', async () => {
    const answer = await send('/');
    assert.equal(answer.status, 200);
    const policy = answer.headers.get('content-security-policy') ?? '';
    for (const part of [
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      "font-src 'self'",
      "frame-ancestors 'none'",
      "form-action 'none'",
      "require-trusted-types-for 'script'",
      "trusted-types 'none'",
    ]) {
      assert.ok(policy.split('; ').includes(part), part);
    }
    assert.equal(answer.headers.get('cache-control'), 'no-store');
    const html = await answer.text();
    assert.doesNotMatch(html, /<style|style=|<script>|\son[a-z]+=/);
    for (const [, address = ''] of html.matchAll(/(?:src|href)="(\/console\/[^"]+)"/g)) {
      const file = await send(address, { headers: { 'accept-encoding': 'br' } });
      assert.equal(file.status, 200, address);
      assert.match(file.headers.get('cache-control') ?? '', /immutable/);
    }
    for (const name of ['../build.ts', '..%2Fbuild.ts', 'manifest.json', 'main-AAAAAAAA.js']) {
      assert.notEqual((await send(`/console/script/${name}`)).status, 200, name);
    }
  });
});

onSqliteAtLanding('a service without a console', (database) => {
  test('has neither the page nor sessions in cookies', async () => {
    const service = await startService(database, { env: { CV_CONSOLE: 'off' } });
    assert.equal((await fetch(`${service.url}/`)).status, 404);
    const headers = { ...SAME_ORIGIN, ...JSON_BODY };
    const body = JSON.stringify({ email: 'a@example.com', password: 'x' });
    assert.equal((await fetch(`${service.url}/console/api/auth/login`, { method: 'POST', headers, body })).status, 404);
    await service.close();
  });
});
