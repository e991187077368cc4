import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { after, test } from 'node:test';
import { baseOf, sendToRegion } from './regions.ts';
import { fetchTransport } from './transport.ts';

const servers: Server[] = [];
after(() => {
  for (const server of servers) server.close();
});

interface Heard {
  request: IncomingMessage;
  body: string;
}

/** A server that answers with a redirect to `location`, or with 200. */
async function region(location?: () => string): Promise<{ url: string; heard: Heard[] }> {
  const heard: Heard[] = [];
  const server = createServer(async (request, response) => {
    heard.push({ request, body: await text(request) });
    if (location === undefined) response.end('here');
    else response.writeHead(307, { location: location() + request.url, 'x-svc-region-origin': 'eu' }).end();
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, heard };
}

/** Sends with a new proof for each origin, and notes for which. */
function send(regions: string[], target: string, body: string | null = null, made: string[] = []) {
  const authorize = async ({ method, url }: { method: string; url: string }) => {
    made.push(`${method} ${url}`);
    return { headers: { authorization: 'DPoP token', dpop: `proof ${made.length}` } };
  };
  const request = { headers: {}, signal: AbortSignal.timeout(60_000) };
  return sendToRegion(
    { transport: fetchTransport(), regions },
    target,
    authorize,
    body === null ? { ...request, method: 'GET' } : { ...request, method: 'POST', body },
  );
}

test('a redirect to a region in the list gets the request again, with a new proof', async () => {
  const us = await region();
  const eu = await region(() => us.url);
  const made: string[] = [];
  const answer = await send([eu.url, us.url], '/v1/vaults?x=1', '{"name":"a"}', made);
  assert.equal(await answer.text(), 'here');
  assert.deepEqual(made, [`POST ${eu.url}/v1/vaults?x=1`, `POST ${us.url}/v1/vaults?x=1`]);
  const [heard] = us.heard;
  assert.equal(heard?.body, '{"name":"a"}');
  assert.deepEqual(
    [
      heard?.request.headers.authorization,
      heard?.request.headers['dpop'],
      heard?.request.headers['x-svc-region-origin'],
    ],
    ['DPoP token', 'proof 2', 'eu'],
  );
});

test('nothing is sent to an origin that is not in the list, or to another path', async () => {
  const evil = await region();
  const us = await region();
  for (const location of [() => evil.url, () => `${us.url}/other`, () => `${us.url}.evil.example`, () => '']) {
    const eu = await region(location);
    await assert.rejects(send([eu.url, us.url], '/v1/vaults'), { name: 'CofferError', code: 'REGION_REDIRECT' });
  }
  assert.equal(evil.heard.length + us.heard.length, 0);
});

test('regions that refer to each other end in an error', async () => {
  let second = '';
  const eu = await region(() => second);
  const us = await region(() => eu.url);
  second = us.url;
  await assert.rejects(send([eu.url, us.url], '/v1/vaults'), /refer to each other/);
  assert.equal(eu.heard.length + us.heard.length, 2);
});

test('the address of a service is https, or on this machine, and nothing but an address', () => {
  assert.equal(baseOf('https://coffer.example.com/'), 'https://coffer.example.com');
  assert.equal(baseOf('https://example.com/coffer//'), 'https://example.com/coffer');
  for (const local of ['http://localhost:7400', 'http://127.0.0.1:7400', 'http://[::1]:7400']) {
    assert.equal(baseOf(local), local);
  }
  const wrong = [
    'http://eu.example.com',
    'http://127.0.0.1.evil.example',
    'http://10.0.0.1',
    'ftp://localhost',
    'file:///etc/passwd',
    'https://user:password@example.com',
    'https://example.com/?x=1',
    'https://example.com/#x',
    'coffer.example.com',
    '',
  ];
  for (const address of wrong) assert.throws(() => baseOf(address), { code: 'INVALID_ARGUMENT' }, address);
});
