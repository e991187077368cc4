import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { after, test } from 'node:test';
import { RegionRedirectError, regionFetch } from './region-fetch.ts';

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

function authorize(made: string[]) {
  return ({ method, url }: { method: string; url: string }) => {
    made.push(`${method} ${url}`);
    return { authorization: 'DPoP token', dpop: `proof ${made.length}` };
  };
}

test('a redirect to a region in the list gets the request again, with a new proof', async () => {
  const us = await region();
  const eu = await region(() => us.url);
  const made: string[] = [];
  const send = regionFetch({ regions: [eu.url, us.url], authorize: authorize(made) });
  const answer = await send('/v1/vaults?x=1', { method: 'POST', body: '{"name":"a"}' });
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
    const send = regionFetch({ regions: [eu.url, us.url], authorize: authorize([]) });
    await assert.rejects(send('/v1/vaults'), RegionRedirectError);
  }
  assert.equal(evil.heard.length + us.heard.length, 0);
});

test('regions that refer to each other end in an error', async () => {
  let second = '';
  const eu = await region(() => second);
  const us = await region(() => eu.url);
  second = us.url;
  const send = regionFetch({ regions: [eu.url, us.url], authorize: authorize([]) });
  await assert.rejects(send('/v1/vaults'), /refer to each other/);
  assert.equal(eu.heard.length + us.heard.length, 2);
});

test('what could lead elsewhere is refused before anything is sent', async () => {
  const options = { authorize: authorize([]) };
  assert.throws(() => regionFetch({ ...options, regions: [] }), TypeError);
  assert.throws(() => regionFetch({ ...options, regions: ['http://eu.example.com'] }), TypeError);
  const send = regionFetch({ ...options, regions: ['https://eu.example.com'] });
  for (const path of ['//evil.example/x', 'v1/vaults', '@evil.example/']) await assert.rejects(send(path), TypeError);
});
