import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { after, describe, test } from 'node:test';
import type { Auth } from './auth.ts';
import { Coffer, type CofferOptions } from './coffer.ts';
import { nodeTransport } from './node/transport.ts';
import { fetchTransport } from './transport.ts';

const servers: Server[] = [];
after(() => {
  for (const server of servers) {
    server.closeAllConnections();
    server.close();
  }
});

interface Heard {
  method: string;
  url: string;
  headers: IncomingMessage['headers'];
  body: string;
}
type Behaviour = (response: ServerResponse, heard: Heard) => void;

/** A server that behaves in turn as told, and then as the last one. */
async function behaving(...behaviours: Behaviour[]): Promise<{ url: string; heard: Heard[] }> {
  const heard: Heard[] = [];
  const server = createServer(async (request, response) => {
    const { method = '', url = '', headers } = request;
    const one = { method, url, headers, body: await text(request) };
    const behave = behaviours[Math.min(heard.length, behaviours.length - 1)];
    heard.push(one);
    behave?.(response, one);
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, heard };
}

const answer =
  (status: number, body: unknown, headers: Record<string, string> = {}): Behaviour =>
  (response) =>
    void response.writeHead(status, headers).end(typeof body === 'string' ? body : JSON.stringify(body));
const refuse = (status: number, code: string, headers: Record<string, string> = {}) =>
  answer(
    status,
    { error: { code, message: `refused: ${code}`, request_id: 'req_1', details: { jti: 'x' } } },
    { 'x-request-id': 'req_1', ...headers },
  );
const cut: Behaviour = (response) => void response.destroy();
const cutHalfWay: Behaviour = (response) => {
  response.writeHead(200, { 'content-length': '1000' });
  response.write('{"vaults":', () => response.destroy());
};
const silent: Behaviour = () => {};
const page = answer(200, { vaults: [], total: 0, next_cursor: null });
const done = answer(200, { path: 'a', version: 2 });

const TOKEN: Auth = { token: 'cv_pat_x' };
const TRANSPORTS = { fetch: fetchTransport, node: nodeTransport };

for (const [name, transport] of Object.entries(TRANSPORTS)) {
  const coffer = (url: string, more: Partial<CofferOptions> = {}) =>
    new Coffer({ url, auth: TOKEN, transport: transport(), ...more });
  const listed = async (client: Coffer) => {
    for await (const _ of client.vaults.list());
  };

  describe(`calls by ${name}`, () => {
    test('reads are repeated after a cut, half an answer, 429 and 503, and no others', async () => {
      for (const passing of [
        cut,
        cutHalfWay,
        refuse(429, 'RATE_LIMIT_EXCEEDED', { 'retry-after': '0' }),
        refuse(503, 'UNAVAILABLE', { 'retry-after': '0' }),
        answer(502, '<html>Bad gateway</html>'),
      ]) {
        const { url, heard } = await behaving(passing, page);
        await listed(coffer(url));
        assert.equal(heard.length, 2);
      }
      for (const [status, code] of [
        [400, 'INVALID_REQUEST'],
        [401, 'INVALID_TOKEN'],
        [403, 'INSUFFICIENT_PRIVILEGE'],
        [404, 'VAULT_NOT_FOUND'],
        [409, 'IN_USE'],
        [422, 'VALIDATION_FAILED'],
        [500, 'INTERNAL_ERROR'],
      ] as const) {
        const { url, heard } = await behaving(refuse(status, code), page);
        await assert.rejects(listed(coffer(url)), {
          name: 'CofferError',
          code,
          status,
          requestId: 'req_1',
          message: `refused: ${code}`,
          details: { jti: 'x' },
        });
        assert.equal(heard.length, 1);
      }
    });

    test('attempts are bounded, and so is the time: a Retry-After beyond it is told at once', async () => {
      const busy = await behaving(refuse(503, 'UNAVAILABLE', { 'retry-after': '0' }));
      await assert.rejects(listed(coffer(busy.url)), { code: 'UNAVAILABLE', retryAfterSeconds: 0 });
      assert.equal(busy.heard.length, 3);
      const long = await behaving(refuse(429, 'RATE_LIMIT_EXCEEDED', { 'retry-after': '60' }));
      await assert.rejects(listed(coffer(long.url, { timeoutMs: 20_000 })), {
        code: 'RATE_LIMIT_EXCEEDED',
        retryAfterSeconds: 60,
      });
      assert.equal(long.heard.length, 1);
    });

    test('Retry-After is waited for', async () => {
      const { url, heard } = await behaving(refuse(429, 'RATE_LIMIT_EXCEEDED', { 'retry-after': '1' }), page);
      const startedAt = performance.now();
      await listed(coffer(url));
      assert.ok(performance.now() - startedAt >= 990);
      assert.equal(heard.length, 2);
    });

    test('a change without an Idempotency-Key is sent once; with one it is repeated under the same key', async () => {
      const plain = await behaving(cut, done);
      const input = { path: { vault: 'v', path: 'a' }, body: { value: 'x' } };
      const route = 'PUT /v1/vaults/{vault}/secrets/{path}';
      await assert.rejects(coffer(plain.url).call(route, input), { code: 'NO_ANSWER', status: 0 });
      assert.equal(plain.heard.length, 1);
      const keyed = await behaving(cut, refuse(409, 'IN_USE', { 'retry-after': '0' }), done);
      await coffer(keyed.url).call(route, input, { idempotencyKey: 'k1' });
      assert.deepEqual(
        keyed.heard.map(({ headers }) => headers['idempotency-key']),
        ['k1', 'k1', 'k1'],
      );
      assert.deepEqual(new Set(keyed.heard.map(({ body }) => body)), new Set(['{"value":"x"}']));
    });

    test('set, rotate, rollback and delete have a key of their own each time', async () => {
      const { url, heard } = await behaving(done);
      const { secrets } = coffer(url);
      await secrets.set('v', 'a', 'x');
      await secrets.set('v', 'a', 'x');
      await secrets.rotate('v', 'a');
      await secrets.rollback('v', 'a', 1);
      await secrets.delete('v', 'a');
      const keys = heard.map(({ headers }) => headers['idempotency-key']);
      assert.equal(new Set(keys).size, 5);
      for (const key of keys) assert.match(String(key), /^[0-9a-f-]{36}$/);
    });

    test('a silent service ends in TIMED_OUT, in time, and says what is not known', async () => {
      const { url, heard } = await behaving(silent);
      const startedAt = performance.now();
      await assert.rejects(listed(coffer(url, { timeoutMs: 300 })), { code: 'TIMED_OUT', message: /not known/ });
      assert.ok(performance.now() - startedAt < 20_000);
      assert.equal(heard.length, 1);
    });

    test('a caller who stops gets their own reason, at once, also while it waits to repeat', async () => {
      for (const behaviour of [silent, refuse(503, 'UNAVAILABLE', { 'retry-after': '20' })]) {
        const { url } = await behaving(behaviour);
        const stopping = new AbortController();
        const call = coffer(url).vaults.get('v', { signal: stopping.signal });
        setTimeout(() => stopping.abort(new Error('enough')), 100);
        await assert.rejects(call, /enough/);
      }
      const { url, heard } = await behaving(page);
      await assert.rejects(coffer(url).vaults.get('v', { signal: AbortSignal.abort(new Error('before')) }), /before/);
      assert.equal(heard.length, 0);
    });

    test('what is not Coffer is told, without its text', async () => {
      for (const other of [
        answer(404, '<html>hunter2</html>'),
        answer(200, 'hunter2'),
        answer(302, '', { location: 'https://evil.example' }),
      ]) {
        const { url, heard } = await behaving(other);
        await assert.rejects(
          coffer(url).vaults.get('v'),
          (error: { code?: string; message: string }) =>
            error.code === 'UNEXPECTED_ANSWER' && !error.message.includes('hunter2'),
        );
        assert.equal(heard.length, 1);
      }
    });

    test('a code of a newer service is UNKNOWN_CODE, with the code in its details', async () => {
      const { url } = await behaving(refuse(409, 'SOMETHING_NEW'));
      await assert.rejects(coffer(url).vaults.get('v'), {
        code: 'UNKNOWN_CODE',
        details: { jti: 'x', code: 'SOMETHING_NEW' },
      });
    });

    test('nobody there is NO_ANSWER with what the system says', async () => {
      const { url } = await behaving(page);
      servers.at(-1)?.close();
      const client = coffer(url, { attempts: 1 });
      await assert.rejects(client.vaults.get('v'), {
        code: 'NO_ANSWER',
        message: `${url} cannot be reached (ECONNREFUSED). Check the URL and the network.`,
      });
    });

    test('a path and a query are encoded, and an empty part is refused before anything is sent', async () => {
      const { url, heard } = await behaving(done);
      await coffer(`${url}/below`).secrets.get('v', 'db/pass+word@1', { version: 3 });
      assert.equal(heard[0]?.url, '/below/v1/vaults/v/secrets/db%2Fpass%2Bword%401?version=3');
      for (const path of ['', '.', '..']) await assert.rejects(coffer(url).secrets.get('v', path), TypeError);
      assert.equal(heard.length, 1);
    });

    test('a list that never ends, or turns in a circle, is told', async () => {
      const { url } = await behaving(answer(200, { vaults: [], next_cursor: 'again' }));
      await assert.rejects(listed(coffer(url)), { code: 'UNEXPECTED_ANSWER' });
      const around = await behaving(
        ...Array.from({ length: 20 }, (_, i) => answer(200, { vaults: [], next_cursor: 'abc'[i % 3] })),
      );
      await assert.rejects(listed(coffer(around.url)), { code: 'UNEXPECTED_ANSWER' });
      const endless = await behaving(answer(200, { vaults: [] }));
      await listed(coffer(endless.url));
      assert.equal(endless.heard.length, 1);
    });

    test('a client secret that cannot be in a header is refused, and not quoted', async () => {
      const { url, heard } = await behaving(page);
      const client = coffer(url, { auth: { clientId: 'id', clientSecret: 'hunter2\nline' } });
      await assert.rejects(
        listed(client),
        (error: { code?: string; message: string }) =>
          error.code === 'INVALID_ARGUMENT' && !error.message.includes('hunter2'),
      );
      assert.equal(heard.length, 0);
    });

    test('a token that cannot be in a header is refused before anything is sent', async () => {
      const { url, heard } = await behaving(page);
      for (const token of ['', '  ', 'a\r\nx-evil: 1', 'ä']) {
        await assert.rejects(listed(coffer(url, { auth: { token } })), { code: 'INVALID_ARGUMENT' });
      }
      assert.equal(heard.length, 0);
    });
  });
}

describe('logins', () => {
  const login = (token: string, seconds: number): Behaviour =>
    answer(200, { cv_jwt: token, expires_at: new Date(Date.now() + seconds * 1000).toISOString() });

  test('one login serves many calls; after a 401 one new login decides', async () => {
    const { url, heard } = await behaving(
      login('t1', 3600),
      page,
      page,
      refuse(401, 'INVALID_TOKEN'),
      login('t2', 3600),
      page,
    );
    let input = 0;
    const client = new Coffer({
      url,
      auth: { workload: { methodId: 7, credential: () => ({ k8s_token: `k8s ${++input}` }) } },
    });
    for (let i = 0; i < 3; i++) for await (const _ of client.vaults.list());
    assert.deepEqual(
      heard.map(({ url, headers, body }) => (url.includes('login') ? body : headers.authorization)),
      [
        '{"method_id":7,"k8s_token":"k8s 1"}',
        'Bearer t1',
        'Bearer t1',
        'Bearer t1',
        '{"method_id":7,"k8s_token":"k8s 2"}',
        'Bearer t2',
      ],
    );
  });

  test('a token that stays refused is not tried a third time, and a fixed token not twice', async () => {
    const { url, heard } = await behaving(
      login('t1', 3600),
      refuse(401, 'INVALID_TOKEN'),
      login('t2', 3600),
      refuse(401, 'INVALID_TOKEN'),
    );
    const auth = { workload: { methodId: 7, credential: () => ({ k8s_token: 'x' }) } };
    await assert.rejects(new Coffer({ url, auth }).vaults.get('v'), { code: 'INVALID_TOKEN' });
    assert.equal(heard.length, 4);
    const fixed = await behaving(refuse(401, 'INVALID_TOKEN'));
    await assert.rejects(new Coffer({ url: fixed.url, auth: TOKEN }).vaults.get('v'), { code: 'INVALID_TOKEN' });
    assert.equal(fixed.heard.length, 1);
  });

  test('the life of a token is measured by the clock of the service', async () => {
    // This machine is ten years ahead, so that by its own clock the token has expired long ago.
    const date = 'Tue, 15 Nov 2016 10:00:00 GMT';
    const session: Behaviour = answer(200, { cv_jwt: 't1', expires_at: '2016-11-15T11:00:00.000Z' }, { date });
    const { url, heard } = await behaving(session, page, page);
    const client = new Coffer({ url, auth: { workload: { methodId: 7, credential: () => ({ k8s_token: 'x' }) } } });
    for (let i = 0; i < 2; i++) for await (const _ of client.vaults.list());
    assert.equal(heard.length, 3);
  });
});
