import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { TLSSocket } from 'node:tls';
import { type TestCertificate, testAuthority } from '../../../test/support/test-authority.ts';
import { until } from '../../../test/support/until.ts';
import { Coffer } from '../coffer.ts';
import { nodeTransport, SOCKET_HEADER } from './transport.ts';

const folder = mkdtempSync(join(tmpdir(), 'coffer-socket-'));
after(() => rmSync(folder, { recursive: true }));

test('by the socket of an agent a program reads without a credential', async () => {
  const socketPath = join(folder, 'agent.sock');
  const heard: [url: string | undefined, headers: IncomingHttpHeaders][] = [];
  const server = createServer(({ url, headers }, response) => {
    heard.push([url, headers]);
    response.end(JSON.stringify({ vault: 'v', path: 'a/b', version: 1, value: 'x' }));
  });
  await new Promise<void>((resolve) => server.listen(socketPath, resolve));
  const coffer = new Coffer({
    url: 'http://localhost',
    auth: { anonymous: true },
    transport: nodeTransport({ socketPath }),
  });
  assert.equal((await coffer.secrets.get('v', 'a/b')).value, 'x');
  const [[url, headers] = ['', {}]] = heard;
  assert.equal(url, '/v1/vaults/v/secrets/a%2Fb');
  assert.deepEqual([headers[SOCKET_HEADER], headers.authorization], ['1', undefined]);
  server.closeAllConnections();
  server.close();
});

test('the certificate of each request is shown, and a request under way keeps its connection when another one follows', async () => {
  const authority = await testAuthority();
  const own = await authority.issue({ names: [{ type: 'ip', value: '127.0.0.1' }], extendedKeyUsage: null });
  const waiting: ServerResponse[] = [];
  const tls = {
    key: await own.keyPem(),
    cert: own.pem,
    ca: authority.pem,
    requestCert: true,
    rejectUnauthorized: false,
  };
  const server = createTlsServer(tls, ({ url, socket }, response) => {
    const { subject } = (socket as TLSSocket).getPeerCertificate();
    response.write(`${subject?.CN}`);
    if (url === '/slow') waiting.push(response);
    else response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  after(() => {
    server.closeAllConnections();
    server.close();
  });
  const identityOf = async (made: TestCertificate) => ({ cert: made.pem, key: await made.keyPem() });
  const [one, two] = await Promise.all(['one', 'two'].map(async (cn) => identityOf(await authority.issue({ cn }))));
  const transport = nodeTransport({ ca: authority.pem });
  const ask = async (path: string, identity?: { cert: string; key: string }) => {
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}${path}`;
    const signal = AbortSignal.timeout(60_000);
    const more = identity === undefined ? {} : { identity };
    return (await transport({ method: 'GET', url, headers: {}, signal, ...more })).text();
  };
  const slow = ask('/slow', one);
  await until('the slow request waits', () => waiting.length === 1);
  assert.equal(await ask('/', two), 'two');
  assert.equal(await ask('/'), 'undefined', 'a login shows none');
  assert.equal(await ask('/', two), 'two');
  waiting[0]?.end('!');
  assert.equal(await slow, 'one!');
});
