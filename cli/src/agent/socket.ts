import { chmodSync, existsSync, lstatSync, rmSync, statSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { dirname } from 'node:path';
import { type CacheOptions, type Coffer, CofferError, ReadCache, type Route } from '../../../client/src/index.ts';
import { SOCKET_HEADER } from '../../../client/src/node/index.ts';
import { CommandError } from '../failure.ts';

/**
 * Serves programs of the same user through a socket. They need no credential and never see that of the machine. Only requests that read or encrypt
 * are passed on. While the service cannot be reached, cached responses are served, as long as the cache allows; after a refusal none is.
 */
export async function serveSocket(path: string, coffer: Coffer, cacheOptions: CacheOptions): Promise<Server> {
  const cache = new ReadCache<string>(cacheOptions, (text) => text.length);
  refuseSharedFolder(path);
  await removeStaleSocket(path);
  const server = createServer((request, response) => void respond(coffer, cache, request, response));
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once('error', reject);
  // Nobody else may connect, not even for the moment before its mode is set.
  const formerMask = process.umask(0o177);
  server.listen(path, resolve);
  try {
    await promise;
  } finally {
    process.umask(formerMask);
  }
  chmodSync(path, 0o600);
  return server;
}

interface PassedRoute {
  route: Route;
  form: RegExp;
}

/** A secret path may have slashes, raw or encoded. */
const PASSED_ROUTES: readonly PassedRoute[] = [
  {
    route: 'GET /v1/vaults/{vault}/secrets/{path}',
    form: /^GET \/v1\/vaults\/(?<vault>[^/?]+)\/secrets\/(?<path>[^?]+)$/,
  },
  { route: 'GET /v1/vaults/{vault}/secrets', form: /^GET \/v1\/vaults\/(?<vault>[^/?]+)\/secrets$/ },
  { route: 'GET /v1/vaults/{vault}/aggregate', form: /^GET \/v1\/vaults\/(?<vault>[^/?]+)\/aggregate$/ },
  { route: 'GET /environments', form: /^GET \/environments$/ },
  {
    route: 'GET /environments/{environment_id}/compose',
    form: /^GET \/environments\/(?<environment_id>[^/?]+)\/compose$/,
  },
  { route: 'POST /eaas/keys/{name}/encrypt', form: /^POST \/eaas\/keys\/(?<name>[^/?]+)\/encrypt$/ },
  { route: 'POST /eaas/keys/{name}/decrypt', form: /^POST \/eaas\/keys\/(?<name>[^/?]+)\/decrypt$/ },
];
const BODY_BYTES_MAX = 2 * 1024 * 1024;

async function respond(
  coffer: Coffer,
  cache: ReadCache<string>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  try {
    if (request.headers[SOCKET_HEADER] !== '1')
      return refuse(response, 403, { code: 'INSUFFICIENT_PRIVILEGE', message: `Send the header ${SOCKET_HEADER}: 1.` });
    const url = new URL(request.url ?? '/', 'http://agent');
    const requested = `${request.method} ${url.pathname}`;
    const passed = PASSED_ROUTES.find(({ form }) => form.test(requested));
    if (passed === undefined)
      return refuse(response, 403, {
        code: 'INSUFFICIENT_PRIVILEGE',
        message: 'The agent passes on reading and encryption only.',
      });
    const groups = passed.form.exec(requested)?.groups ?? {};
    const path = Object.fromEntries(Object.entries(groups).map(([name, value]) => [name, decodeURIComponent(value)]));
    const query = Object.fromEntries(
      [...new Set(url.searchParams.keys())].map((name) => [name, url.searchParams.getAll(name)]),
    );
    const body = request.method === 'POST' ? JSON.parse(await readBody(request)) : undefined;
    const input = { path, query, ...(body !== undefined && { body }) };
    const read = async () => JSON.stringify(await coffer.call(passed.route, input as never, { isRead: true }));
    const text = request.method === 'GET' ? await cache.get(String(request.url), read) : await read();
    response.writeHead(200, { 'content-type': 'application/json', 'cache-control': 'no-store' }).end(text);
  } catch (error) {
    if (error instanceof CofferError) {
      const { status, code, message, details } = error;
      return refuse(response, status === 0 ? 503 : status, {
        code: status === 0 ? 'UNAVAILABLE' : code,
        message,
        details,
      });
    }
    refuse(response, 400, { code: 'INVALID_REQUEST', message: 'The request cannot be read.' });
  }
}

function refuse(
  response: ServerResponse,
  status: number,
  { code, message, details = {} }: { code: string; message: string; details?: object },
): void {
  const error = { code, message, request_id: '', details };
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ error }));
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let total = 0;
  for await (const chunk of request) {
    total += (chunk as Buffer).length;
    if (total > BODY_BYTES_MAX) throw new Error('too large');
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** In a folder where other users may write, one of them could replace the socket. */
function refuseSharedFolder(path: string): void {
  const folder = dirname(path);
  const { mode, uid } = statSync(folder);
  const isOwn = uid === process.getuid?.() || uid === 0;
  if ((mode & 0o022) !== 0 || !isOwn)
    throw new CommandError(
      `Others may write into ${folder}. Put the socket into a folder of your own: mkdir -m 700 DIR`,
    );
}

/** Removes the socket of an agent that was killed. One that another agent serves, or another kind of file, is refused. */
async function removeStaleSocket(path: string): Promise<void> {
  if (!existsSync(path)) return;
  if (!lstatSync(path).isSocket()) throw new CommandError(`${path} exists and is not a socket.`);
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect(path, () => resolve(true));
  socket.once('error', () => resolve(false));
  const isAlive = await promise;
  socket.destroy();
  if (isAlive) throw new CommandError(`Another agent already serves ${path}.`);
  rmSync(path);
}
