import assert from 'node:assert/strict';
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { text } from 'node:stream/consumers';
import { after, before, test } from 'node:test';
import { DECLARATIONS } from '../../server/src/tools/declarations.ts';
import { SAME_ORIGIN } from '../support/console-requests.ts';
import { addPerson, type Person } from '../support/people.ts';
import { onBothDatabases, type Service, startService } from '../support/service.ts';

/**
 * Somebody points a name of theirs at the address of the service (DNS rebinding). For the browser of a person who opens it, pages of that name and the
 * service have the same origin, inside a network that the attacker cannot reach.
 */

onBothDatabases('a page under a name that somebody pointed at the service', (database) => {
  let service: Service;
  let person: Person;
  before(async () => {
    service = await startService(database, { env: { CV_CONSOLE: 'on', CV_HOSTS: 'coffer.internal, *.svc' } });
    person = await addPerson(service, { role: 'admin' });
  });
  after(() => service.close());

  const send = async (
    host: string,
    path: string,
    { method = 'GET', headers = {}, body }: { method?: string; headers?: Record<string, string>; body?: object } = {},
    url = service.url,
  ) => {
    const isTls = url.startsWith('https:');
    const options = {
      method,
      headers: { 'content-type': 'application/json', ...headers, host },
      rejectUnauthorized: false,
    };
    const sent = (isTls ? httpsRequest : httpRequest)(new URL(`${url}${path}`), options);
    sent.end(body === undefined ? undefined : JSON.stringify(body));
    const [response] = await Promise.race([
      new Promise<[Parameters<Parameters<typeof sent.once>[1]>[0]]>((resolve) =>
        sent.once('response', (r) => resolve([r])),
      ),
      new Promise<never>((_, reject) => sent.once('error', reject)),
    ]);
    const answer = await text(response);
    const code = /"code":"([A-Z_]+)"/.exec(answer)?.[1] ?? null;
    return {
      status: response.statusCode as number,
      code,
      cookies: response.headers['set-cookie'] as string[] | undefined,
    };
  };

  test('reaches neither the console nor the API, with or without a credential', async () => {
    const login = { method: 'POST', headers: SAME_ORIGIN, body: { email: person.email, password: person.password } };
    const own = { headers: { authorization: `Bearer ${service.adminToken}` } };
    const port = new URL(service.url).port;
    for (const host of [
      'evil.test',
      `evil.test:${port}`,
      `127.0.0.1.evil.test:${port}`,
      'localhost.evil.test',
      'svc',
      'x',
    ]) {
      for (const [path, options] of [
        ['/', {}],
        ['/docs', {}],
        ['/openapi.json', {}],
        ['/nowhere', {}],
        ['/console/api/auth/login', login],
        ['/auth/login', login],
        ['/auth/me', own],
        ['/v1/vaults', own],
        ['/metrics', own],
      ] as const) {
        const { status, code, cookies } = await send(host, path, options);
        assert.deepEqual([status, code, cookies], [421, 'UNKNOWN_HOST', undefined], `${host} ${path}`);
      }
    }
    assert.ok(service.logs.some((line) => line.includes('"host":"evil.test"') && line.includes('CV_HOSTS')));
  });

  test('does not fill the log with names', async () => {
    for (let i = 0; i < 40; i++) await send(`name-${i}.evil.test`, '/auth/me');
    const logged = service.logs.filter((line) => line.includes('named a host that is not this service'));
    assert.ok(logged.length > 0 && logged.length <= 16, String(logged.length));
  });

  test('is told from the names that operators use: addresses, the machine, what they configured', async () => {
    const { port } = new URL(service.url);
    for (const host of [
      `127.0.0.1:${port}`,
      `localhost:${port}`,
      '[::1]',
      '10.20.30.40:7400',
      'coffer.internal',
      'a.b.svc:80',
    ]) {
      assert.equal((await send(host, '/')).status, 200, host);
      assert.equal((await send(host, '/auth/me')).status, 401, host);
    }
  });

  test('learns no more than that the process lives: only probes are served under any name', async () => {
    for (const path of ['/health', '/health/ready', '/v1/health']) {
      assert.equal((await send('evil.test', path)).status, 200, path);
    }
    const served = DECLARATIONS.filter(({ anyHost }) => anyHost === true).map(({ path }) => path);
    assert.deepEqual(served.toSorted(), ['/health', '/health/ready']);
  });

  test('cannot have it over TLS, where the certificate names the service, so that programs may use any name there', async () => {
    assert.equal((await send('coffer.other-network', '/auth/me', {}, service.tlsUrl)).status, 401);
  });
});
