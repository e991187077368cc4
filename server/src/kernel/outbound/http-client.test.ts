import assert from 'node:assert/strict';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net';
import { after, describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { LOCALHOST_CERTIFICATE, LOCALHOST_KEY, OTHER_CA, TEST_CA } from '../../../../test/support/test-keys.ts';
import { AddressGuard } from './address-guard.ts';
import {
  HttpClient,
  OutgoingFailure,
  type OutgoingProblem,
  type OutgoingRequest,
  parseOutgoingUrl,
} from './http-client.ts';

const open: { close(): void }[] = [];
after(() => {
  for (const server of open) server.close();
});

async function listening(server: Server | ReturnType<typeof createTcpServer>): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  open.push({
    close: () => {
      if ('closeAllConnections' in server) server.closeAllConnections();
      server.close();
    },
  });
  return (server.address() as AddressInfo).port;
}

const serving = (listener: RequestListener) => listening(createServer(listener));
const servingTls = (listener: RequestListener) =>
  listening(createTlsServer({ cert: LOCALHOST_CERTIFICATE, key: LOCALHOST_KEY }, listener) as unknown as Server);

const guard = new AddressGuard(['127.0.0.0/8', '::1', 'localhost'], async () => ['127.0.0.1']);
const client = new HttpClient(guard);
const GET = { owner: 'tenant_a', method: 'GET', bodyBytesMax: 1000 } as const;

async function fails(
  problem: OutgoingProblem,
  outgoing: Partial<OutgoingRequest> & { url: string },
  by: HttpClient = client,
): Promise<OutgoingFailure> {
  const failure = await by.send({ ...GET, ...outgoing }).then(
    () => assert.fail('the call was answered'),
    (error) => error,
  );
  assert.ok(failure instanceof OutgoingFailure, String(failure));
  assert.equal(failure.problem, problem, failure.message);
  return failure;
}

describe('an answer', () => {
  test('has status, type and body; the request is what was given and nothing more', async () => {
    const seen: unknown[] = [];
    const port = await serving(async (request, response) => {
      let body = '';
      for await (const piece of request) body += piece;
      const { host, connection, 'accept-encoding': encoding, accept, 'x-own': own } = request.headers;
      seen.push([request.method, request.url, host, connection, encoding, accept, own, body]);
      response.writeHead(201, { 'content-type': 'Application/JSON; charset=utf-8' }).end('{"a":1}');
    });
    const answer = await client.send({
      owner: 'tenant_a',
      url: `http://localhost:${port}/path?q=a%2Fb`,
      method: 'POST',
      headers: { 'x-own': 'yes', Host: 'elsewhere.example' },
      body: 'é',
      bodyBytesMax: 7,
    });
    assert.deepEqual([answer.status, answer.contentType, answer.body.toString()], [201, 'application/json', '{"a":1}']);
    const expected = ['POST', '/path?q=a%2Fb', `localhost:${port}`, 'close', undefined, undefined, 'yes', 'é'];
    assert.deepEqual(seen, [expected]);
  });

  test('is an answer also if it says no', async () => {
    const port = await serving((_, response) => response.writeHead(503).end('no'));
    const answer = await client.send({ ...GET, url: `http://127.0.0.1:${port}/` });
    assert.deepEqual([answer.status, answer.contentType, answer.body.toString()], [503, '', 'no']);
  });

  test('that redirects is a failure, and nothing follows it', async () => {
    let calls = 0;
    const port = await serving((request, response) => {
      calls++;
      response.writeHead(Number(request.url?.slice(1)), { location: `http://127.0.0.1:${port}/200` }).end();
    });
    for (const status of [300, 301, 302, 303, 304, 307, 308]) {
      await fails('redirect', { url: `http://127.0.0.1:${port}/${status}` });
    }
    assert.equal(calls, 7);
  });

  test('that is too large is not read to its end, whether it says so or not', async () => {
    let sent = 0;
    const port = await serving((request, response) => {
      if (request.url === '/said') response.writeHead(200, { 'content-length': '1001' }).end('x'.repeat(1001));
      else {
        response.writeHead(200);
        const pour = () => {
          while (!response.destroyed && response.write('x'.repeat(1000))) sent += 1000;
        };
        response.on('drain', pour);
        pour();
      }
    });
    await fails('too-large', { url: `http://127.0.0.1:${port}/said` });
    await fails('too-large', { url: `http://127.0.0.1:${port}/unsaid` });
    assert.ok(sent < 50_000_000);
  });

  test('that is compressed is refused before a byte of it is unpacked', async () => {
    const bomb = gzipSync(Buffer.alloc(10_000_000));
    const port = await serving((request, response) =>
      response.writeHead(200, { 'content-encoding': request.url?.slice(1) ?? '' }).end(bomb),
    );
    for (const encoding of ['gzip', 'GZIP', 'br', 'deflate', 'identity,gzip']) {
      await fails('encoded', { url: `http://127.0.0.1:${port}/${encoding}`, bodyBytesMax: 1_000_000 });
    }
    await client.send({ ...GET, bodyBytesMax: 1_000_000, url: `http://127.0.0.1:${port}/identity` });
  });

  test('that never comes, or comes drop by drop, is waited for only so long', async () => {
    const port = await serving((request, response) => {
      if (request.url === '/headers') return;
      response.writeHead(200);
      const timer = setInterval(() => response.write('.'), 20);
      response.on('close', () => clearInterval(timer));
    });
    const started = performance.now();
    await fails('timeout', { url: `http://127.0.0.1:${port}/headers`, timeoutMs: 200 });
    await fails('timeout', { url: `http://127.0.0.1:${port}/body`, timeoutMs: 200 });
    const slow = new HttpClient(new AddressGuard([], () => new Promise(() => {})));
    await fails('timeout', { url: 'https://name.example/', timeoutMs: 200 }, slow);
    assert.ok(performance.now() - started < 5000);
  });

  test('that is cut off, is no HTTP, has endless headers or changes the protocol is a failure', async () => {
    const texts: Record<string, string> = {
      '/cut': 'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf',
      '/cut-chunk': 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhal',
      '/none': 'SSH-2.0-none\r\n',
      '/headers': `HTTP/1.1 200 OK\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`,
      '/upgrade': 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n',
      '/smuggled': 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\nok',
    };
    const port = await listening(
      createTcpServer((socket: Socket) => {
        socket.on('error', () => {});
        socket.once('data', (data) => socket.end(texts[data.toString().split(' ')[1] ?? ''] ?? ''));
      }),
    );
    for (const path of Object.keys(texts)) await fails('connection', { url: `http://127.0.0.1:${port}${path}` });
  });
});

describe('where a call goes', () => {
  test('only where the guard lets it', async () => {
    const closed = new HttpClient(new AddressGuard([]));
    let calls = 0;
    const port = await serving((_, response) => {
      calls++;
      response.end();
    });
    for (const host of ['127.0.0.1', 'localhost', '[::ffff:7f00:1]', '[::1]', '[64:ff9b::7f00:1]']) {
      await fails('blocked', { url: `http://${host}:${port}/` }, closed);
      await fails('blocked', { url: `https://${host}:${port}/` }, closed);
    }
    assert.equal(calls, 0);
    assert.equal((await client.send({ ...GET, url: `http://[::ffff:7f00:1]:${port}/` })).status, 200);
  });

  test('DNS rebinding: a name is resolved once, and its second result is never used', async () => {
    const answers = [['127.0.0.1'], ['203.0.113.7']];
    const rebinding = new AddressGuard(['name.example'], async () => answers.shift() ?? assert.fail('asked again'));
    const port = await serving((request, response) => response.end(request.headers.host));
    const answer = await new HttpClient(rebinding).send({ ...GET, url: `http://name.example:${port}/` });
    assert.equal(answer.body.toString(), `name.example:${port}`);
    assert.equal(answers.length, 1);
  });

  test('plain http only to private addresses that were opened', async () => {
    const anywhere = new HttpClient(new AddressGuard(['0.0.0.0/0'], async () => ['8.8.8.8']));
    await fails('insecure', { url: 'http://name.example/' }, anywhere);
    await fails('insecure', { url: 'http://8.8.8.8/' }, anywhere);
  });

  test('what stands in for a well-known endpoint only where the operator opened a private address', async () => {
    const anywhere = new HttpClient(new AddressGuard([], async () => ['8.8.8.8']));
    await fails('not-opened', { url: 'https://name.example/', onlyOpened: true }, anywhere);
    const port = await serving((_, response) => response.end());
    assert.equal((await client.send({ ...GET, url: `http://127.0.0.1:${port}/`, onlyOpened: true })).status, 200);
  });

  test('nowhere by a URL with a user, a fragment, another scheme or another spelling', async () => {
    const urls = [
      'https://user@name.example/',
      'https://user:password@name.example/',
      'https://@name.example/',
      'https://name.example/#part',
      'https://NAME.example/',
      'https://name.example:443/',
      'https://0x7f.1/',
      'https://2130706433/',
      'https://127.1/',
      'https://[::ffff:127.0.0.1]/',
      'https:name.example',
      'https:///name.example/',
      'https://name.example\\@other.example/',
      'https://name.exa\tmple/',
      ' https://name.example/',
      'https://ｎame.example/',
      'ftp://name.example/',
      'file:///etc/passwd',
      'name.example',
      '',
      `https://name.example/${'x'.repeat(8192)}`,
    ];
    for (const url of urls) {
      await fails('url', { url });
      assert.equal(parseOutgoingUrl(url), null, url);
    }
    assert.notEqual(parseOutgoingUrl('https://name.example'), null);
    assert.notEqual(parseOutgoingUrl('https://name.example:8443/a/b?c=d@e'), null);
  });

  test('not to a host that already has as many calls as one tenant may have there, which leaves room for others', async () => {
    const waiting: (() => void)[] = [];
    const port = await serving((_, response) => void waiting.push(() => response.end()));
    const other = await serving((_, response) => response.end());
    const calls = Array.from({ length: 32 }, () => client.send({ ...GET, url: `http://127.0.0.1:${port}/` }));
    await fails('busy', { url: `http://127.0.0.1:${port}/` });
    assert.equal((await client.send({ ...GET, url: `http://127.0.0.1:${other}/` })).status, 200);
    calls.push(client.send({ ...GET, owner: 'tenant_b', url: `http://127.0.0.1:${port}/` }));
    while (waiting.length < 33) await new Promise((resolve) => setTimeout(resolve, 10));
    for (const answer of waiting.splice(0)) answer();
    await Promise.all(calls);
    const later = client.send({ ...GET, url: `http://127.0.0.1:${port}/` });
    while (waiting.length === 0) await new Promise((resolve) => setTimeout(resolve, 10));
    waiting[0]?.();
    assert.equal((await later).status, 200);
  });
});

test('one tenant with many slow hosts leaves room for others', async () => {
  const waiting: (() => void)[] = [];
  const ports = await Promise.all(
    [1, 2, 3].map(() => serving((_, response) => void waiting.push(() => response.end()))),
  );
  const by = new HttpClient(guard);
  const calls = Array.from({ length: 64 }, (_, i) => by.send({ ...GET, url: `http://127.0.0.1:${ports[i % 2]}/` }));
  await fails('busy', { url: `http://127.0.0.1:${ports[2]}/` }, by);
  const other = by.send({ ...GET, owner: 'tenant_b', url: `http://127.0.0.1:${ports[2]}/` });
  while (waiting.length < 65) await new Promise((resolve) => setTimeout(resolve, 10));
  for (const answer of waiting) answer();
  assert.equal((await other).status, 200);
  await Promise.all(calls);
  assert.equal(waiting.length, 65);
});

describe('TLS', () => {
  test('the certificate must come from the authority given, and be that of the name in the URL', async () => {
    const names: (string | false | null)[] = [];
    const port = await servingTls((request, response) => {
      names.push((request.socket as unknown as { servername: string | false }).servername);
      response.end('safe');
    });
    const answer = await client.send({ ...GET, url: `https://localhost:${port}/`, caPem: TEST_CA });
    assert.deepEqual([answer.body.toString(), names], ['safe', ['localhost']]);

    const unknown = await fails('connection', { url: `https://localhost:${port}/` });
    assert.match(unknown.message, /UNABLE_TO_VERIFY_LEAF_SIGNATURE|UNABLE_TO_GET_ISSUER_CERT/);
    const pinned = await client.send({ ...GET, url: `https://localhost:${port}/`, caPem: LOCALHOST_CERTIFICATE });
    assert.equal(pinned.status, 200, "the server's own certificate as the one to trust");
    await fails('connection', { url: `https://localhost:${port}/`, caPem: OTHER_CA });
    await fails('connection', { url: `https://localhost:${port}/`, caPem: 'no certificate' });
    const wrong = await fails('connection', { url: `https://127.0.0.1:${port}/`, caPem: TEST_CA });
    assert.match(wrong.message, /ERR_TLS_CERT_ALTNAME_INVALID/);
    const name = new HttpClient(new AddressGuard(['name.example'], async () => ['127.0.0.1']));
    await fails('connection', { url: `https://name.example:${port}/`, caPem: TEST_CA }, name);
  });

  test('is not spoken to a server that speaks plain http, nor the other way round', async () => {
    const plain = await serving((_, response) => response.end());
    const secure = await servingTls((_, response) => response.end());
    await fails('connection', { url: `https://127.0.0.1:${plain}/`, caPem: TEST_CA });
    const answer = await client.send({ ...GET, url: `http://127.0.0.1:${secure}/` }).catch((error) => error);
    assert.ok(answer instanceof OutgoingFailure);
  });
});

test('a failure tells nothing of the URL, the headers, the body or the answer', async () => {
  const secret = 'Svc_verysecret';
  const port = await serving((_, response) => response.writeHead(302, { location: `/${secret}` }).end(secret));
  const outgoing = { headers: { authorization: `Bearer ${secret}` }, body: secret, method: 'POST' as const };
  const failures = [
    await fails('redirect', { ...outgoing, url: `http://127.0.0.1:${port}/?token=${secret}` }),
    await fails('connection', { ...outgoing, url: `http://127.0.0.1:1/${secret}` }),
    await fails('url', { ...outgoing, url: `http://${secret}@127.0.0.1/` }),
    await fails('connection', { ...outgoing, url: `http://127.0.0.1:${port}/`, headers: { 'x-y': `${secret}\n` } }),
    await fails('blocked', { ...outgoing, url: `https://10.0.0.1/${secret}` }),
  ];
  for (const failure of failures) {
    assert.ok(!JSON.stringify([failure, failure.message, failure.stack, failure.cause]).includes(secret));
    assert.equal(failure.cause, undefined);
  }
});

describe('a call that is cancelled', () => {
  test('ends at once, before the response and in the middle of it, and frees its slot', async () => {
    const closed: string[] = [];
    const port = await serving((request, response) => {
      response.once('close', () => void closed.push(request.url ?? ''));
      if (request.url === '/begun') response.writeHead(200).write('first');
    });
    const by = new HttpClient(guard);
    for (let round = 0; round < 40; round++) {
      const leaving = new AbortController();
      const waiting = fails('cancelled', { url: `http://127.0.0.1:${port}/silent`, signal: leaving.signal }, by);
      leaving.abort();
      await waiting;
    }
    await fails('cancelled', { url: `http://127.0.0.1:${port}/silent`, signal: AbortSignal.abort() }, by);
    const leaving = new AbortController();
    const { pieces } = await by.open({ ...GET, url: `http://127.0.0.1:${port}/begun`, signal: leaving.signal });
    assert.equal((await pieces.next()).value?.toString(), 'first');
    const next = pieces.next();
    leaving.abort();
    await assert.rejects(next, (error) => error instanceof OutgoingFailure && error.problem === 'cancelled');
    while (!closed.includes('/begun')) await new Promise((resolve) => setTimeout(resolve, 10));
  });

  test('also ends if the caller stops reading', async () => {
    let isClosed = false;
    const port = await serving((_, response) => {
      response.once('close', () => (isClosed = true));
      response.writeHead(200).write('first');
    });
    const { pieces } = await client.open({ ...GET, url: `http://127.0.0.1:${port}/` });
    await pieces.next();
    await pieces.return();
    while (!isClosed) await new Promise((resolve) => setTimeout(resolve, 10));
  });
});
