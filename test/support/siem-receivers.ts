import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { after } from 'node:test';
import { createServer as createTlsServer, type TLSSocket } from 'node:tls';
import { gunzipSync } from 'node:zlib';

const open = new Set<{ close(): Promise<void> }>();
after(() => Promise.all([...open].map((receiver) => receiver.close())));

export interface Received {
  path: string;
  headers: IncomingMessage['headers'];
  body: string;
}

/** What a receiver responds; null breaks the connection without a response. */
export type Response = { status: number; body?: unknown; headers?: Record<string, string> } | null;

/** A receiver over HTTP that keeps what it was sent and responds as it is told. */
export class Receiver {
  readonly requests: Received[] = [];
  /** Requests that have ended, answered or not. */
  ended = 0;
  respond: (request: Received) => Response | Promise<Response> = () => ({ status: 200, body: {} });
  readonly #server: Server;
  url = '';

  private constructor() {
    this.#server = createServer((request, response) => void this.#receive(request, response));
  }

  static async start(): Promise<Receiver> {
    const receiver = new Receiver();
    receiver.#server.listen(0, '127.0.0.1');
    await once(receiver.#server, 'listening');
    const address = receiver.#server.address();
    receiver.url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`;
    open.add(receiver);
    return receiver;
  }

  async #receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.once('close', () => this.ended++);
    const pieces: Buffer[] = [];
    for await (const piece of request as AsyncIterable<Buffer>) pieces.push(piece);
    const bytes = Buffer.concat(pieces);
    const body = (request.headers['content-encoding'] === 'gzip' ? gunzipSync(bytes) : bytes).toString('utf8');
    const received = { path: request.url ?? '', headers: request.headers, body };
    this.requests.push(received);
    const answer = await this.respond(received);
    if (answer === null) {
      request.socket.destroy();
      return;
    }
    response.writeHead(answer.status, { 'content-type': 'application/json', ...answer.headers });
    response.end(JSON.stringify(answer.body ?? {}));
  }

  async close(): Promise<void> {
    open.delete(this);
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

/**
 * Makes sure that something does not wait for a request to one of these, which hang. It is done anew if one of them has ended meanwhile: it could
 * have waited for that one. How long it takes decides nothing, because a machine may be slow.
 */
export async function withoutWaitingFor(hanging: readonly Receiver[], act: () => Promise<void>): Promise<void> {
  const ended = () => hanging.reduce((sum, receiver) => sum + receiver.ended, 0);
  for (let round = 0; round < ROUNDS_MAX; round++) {
    const before = ended();
    await act();
    if (ended() === before) return;
  }
  assert.fail('it waits for those that hang');
}
const ROUNDS_MAX = 5;

/** A syslog receiver over TLS that reads octet-counted frames strictly: what is no frame ends the connection. */
export class SyslogReceiver {
  readonly messages: string[] = [];
  problem: string | null = null;
  /** Ends each connection after this many frames, as a crash would, without having read the rest. */
  breaksAfter = Number.POSITIVE_INFINITY;
  port = 0;
  readonly #sockets = new Set<TLSSocket>();
  readonly #server;

  private constructor(identity: { key: string; cert: string }) {
    this.#server = createTlsServer(identity, (socket) => this.#serve(socket));
  }

  static async start(identity: { key: string; cert: string }): Promise<SyslogReceiver> {
    const receiver = new SyslogReceiver(identity);
    receiver.#server.listen(0, '127.0.0.1');
    await once(receiver.#server, 'listening');
    const address = receiver.#server.address();
    receiver.port = typeof address === 'object' && address !== null ? address.port : 0;
    open.add(receiver);
    return receiver;
  }

  #serve(socket: TLSSocket): void {
    this.#sockets.add(socket);
    let bytes: Buffer = Buffer.alloc(0);
    let frames = 0;
    socket.on('error', () => {});
    socket.on('close', () => this.#sockets.delete(socket));
    socket.on('data', (piece: Buffer) => {
      bytes = Buffer.concat([bytes, piece]);
      for (;;) {
        const match = /^([1-9]\d{0,4}) /.exec(bytes.subarray(0, 7).toString('latin1'));
        if (match === null) {
          if (bytes.length >= 7) this.problem = 'what was sent is no frame';
          return;
        }
        const start = match[0].length;
        const end = start + Number(match[1]);
        if (end > 8096) this.problem = `a frame of ${match[1]} bytes`;
        if (bytes.length < end) return;
        this.messages.push(bytes.subarray(start, end).toString('utf8'));
        bytes = bytes.subarray(end);
        if (++frames >= this.breaksAfter) {
          socket.destroy();
          return;
        }
      }
    });
  }

  async close(): Promise<void> {
    open.delete(this);
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
  }
}
