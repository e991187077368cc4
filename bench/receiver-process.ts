import { createServer, type IncomingMessage } from 'node:http';
import { createServer as createTcpServer } from 'node:net';
import { createGunzip } from 'node:zlib';

/** A receiver that takes everything, as each kind of SIEM would say so, and does nothing with it. With `syslog` it listens for syslog over TCP. */
const isSyslog = process.argv[2] === 'syslog';

async function lines(request: IncomingMessage): Promise<number> {
  const body = request.headers['content-encoding'] === 'gzip' ? request.pipe(createGunzip()) : request;
  let count = 0;
  for await (const piece of body as AsyncIterable<Buffer>) {
    for (let at = piece.indexOf(10); at !== -1; at = piece.indexOf(10, at + 1)) count++;
  }
  return count;
}

const http = createServer(async (request, response) => {
  const received = await lines(request);
  // Each document of a bulk request has a line about it, and is answered by itself.
  const isBulk = request.url?.endsWith('/_bulk') === true;
  const items = isBulk ? Array.from({ length: received / 2 }, () => ({ create: { status: 201 } })) : [];
  response.writeHead(request.headers['dd-api-key'] === undefined ? 200 : 202, { 'content-type': 'application/json' });
  response.end(JSON.stringify(isBulk ? { errors: false, items } : {}));
});
const server = isSyslog ? createTcpServer((socket) => socket.resume().on('error', () => {})) : http;
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  process.stdout.write(`ready on ${typeof address === 'object' ? address?.port : ''}\n`);
});
