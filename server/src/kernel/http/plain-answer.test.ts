import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { JSON_CONTENT_TYPE } from './headers.ts';
import { writePlain } from './plain-answer.ts';

const COMMON = { 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff' };
const OWN = { 'X-Request-Id': 'req_1', 'X-RateLimit-Remaining': '9' };
const BODY = '{"name":"Käthe 🗝"}';

/** What Node itself would have written. */
function writeUsual(response: ServerResponse, status: number): void {
  const headers = { ...OWN, ...COMMON, 'Content-Type': JSON_CONTENT_TYPE, 'Content-Length': Buffer.byteLength(BODY) };
  response.writeHead(status, headers);
  response.end(BODY);
}

describe('a plain answer', () => {
  const server = createServer((request, response) => {
    const status = Number(request.url?.split('/')[2]);
    if (request.url?.startsWith('/usual')) writeUsual(response, status);
    else assert.ok(writePlain(response, status, OWN, COMMON, BODY));
  });
  before(() => once(server.listen(0, '127.0.0.1'), 'listening'));
  after(() => server.close());

  /** All that comes back until the connection ends, or until nothing has come for a moment. */
  async function exchange(text: string): Promise<string> {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    const pieces: Buffer[] = [];
    socket.on('data', (piece: Buffer) => pieces.push(piece));
    socket.write(text);
    socket.setTimeout(300, () => socket.end());
    await once(socket, 'close');
    return Buffer.concat(pieces).toString('utf8');
  }

  function partsOf(answer: string) {
    const [head = '', body] = answer.split('\r\n\r\n');
    const [startLine, ...lines] = head.split('\r\n');
    return { startLine, headers: lines.filter((line) => !line.startsWith('Date: ')).sort(), body };
  }

  for (const [what, request] of [
    ['kept alive', (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`],
    ['to be closed', (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`],
    ['of an old client', (path: string) => `GET ${path} HTTP/1.0\r\n\r\n`],
    ['of an old client that keeps it', (path: string) => `GET ${path} HTTP/1.0\r\nConnection: keep-alive\r\n\r\n`],
    ['asked for its head', (path: string) => `HEAD ${path} HTTP/1.1\r\nHost: x\r\n\r\n`],
  ] as const) {
    for (const status of [200, 201, 404, 503]) {
      test(`on a connection ${what}, ${status}, is what Node would have written`, async () => {
        const [plain, usual] = await Promise.all(
          ['plain', 'usual'].map((way) => exchange(request(`/${way}/${status}`)).then(partsOf)),
        );
        assert.ok(plain?.headers.length);
        assert.deepEqual(plain, usual);
      });
    }
  }

  test('has a date', async () => {
    assert.match(await exchange('GET /plain/200 HTTP/1.1\r\nHost: x\r\n\r\n'), /\r\nDate: \w{3}, \d\d \w{3} \d{4} /);
  });

  test('comes in order where several were asked for at once', async () => {
    const statuses = [200, 201, 202, 404];
    const all = await exchange(statuses.map((s) => `GET /plain/${s} HTTP/1.1\r\nHost: x\r\n\r\n`).join(''));
    assert.deepEqual(
      [...all.matchAll(/HTTP\/1\.1 (\d+)/g)].map((match) => Number(match[1])),
      statuses,
    );
    assert.equal(all.split(BODY).length - 1, statuses.length);
  });

  test('is refused what is not plain, and has written nothing then', () => {
    const untouched = null as unknown as ServerResponse;
    for (const headers of [
      { 'Content-Type': 'text/plain' },
      { Connection: 'close' },
      { 'Cache-Control': 'public' },
      { 'X-Request-Id': 'a\r\nSet-Cookie: b' },
      { 'X-Request-Id': 'a\nb' },
      { 'X-Request-Id': 'snow ☃' },
    ]) {
      assert.equal(writePlain(untouched, 200, headers, COMMON, BODY), false);
    }
  });
});
