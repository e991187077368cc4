import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
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
