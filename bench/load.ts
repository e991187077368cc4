import { connect, type Socket } from 'node:net';
import { type ConnectionOptions, connect as connectSecurely } from 'node:tls';
import { AnswerReader } from './answer.ts';
import { quantile } from './statistics.ts';

export interface Load {
  /** With several, connections are spread over them. */
  port: number | number[];
  /** The request as it goes over the wire, keep-alive; or what makes the next one for the connection of this number. */
  request: Buffer | ((connection: number) => Buffer);
  /** Over TLS, with the certificate of the connection of this number. */
  tls?: (connection: number) => ConnectionOptions;
  connections: number;
  seconds: number;
  /** How long each connection rests after an answer. */
  pauseMs?: number;
}

export interface Measured {
  requests: number;
  perSecond: number;
  p50Ms: number;
  p99Ms: number;
  /** Answers that were not 2xx, by status. */
  refused: Record<number, number>;
  /** How much of one processor this client used: near 1 it is the client that is measured. */
  clientShare: number;
}

export type Observe = (ms: number, status: number) => void;

async function measure(load: Load): Promise<Measured> {
  const latencies: number[] = [];
  const refused: Record<number, number> = {};
  const { seconds, clientShare } = await run(load, (ms, status) => {
    latencies.push(ms);
    if (status < 200 || status > 299) refused[status] = (refused[status] ?? 0) + 1;
  });
  const sorted = Float64Array.from(latencies).sort();
  const [requests, p50Ms, p99Ms] = [sorted.length, quantile(sorted, 0.5), quantile(sorted, 0.99)];
  return { requests, perSecond: requests / seconds, p50Ms, p99Ms, refused, clientShare };
}

/** Fails if anything was turned away: that would be quick, and nothing. */
export async function measureAnswered(what: string, load: Load): Promise<Measured> {
  const measured = await measure(load);
  const refused = Object.entries(measured.refused).map(([status, count]) => `${count} × ${status}`);
  if (refused.length > 0) throw new Error(`${what}: refused ${refused.join(', ')}`);
  return measured;
}

/**
 * Each connection sends the request again as soon as its answer is whole. Bare sockets and one buffer for all of them, because a client that
 * costs as much as the server would measure itself. The clock starts when all are connected.
 */
export async function run(load: Load, observe: Observe): Promise<{ seconds: number; clientShare: number }> {
  const ports = [load.port].flat();
  const open = Array.from({ length: load.connections }, (_, number) =>
    connected({ number, port: Number(ports[number % ports.length]), tls: load.tls?.(number) }),
  );
  const connections = await Promise.all(open);
  const started = performance.now();
  const used = process.cpuUsage();
  const until = started + load.seconds * 1000;
  await Promise.all(connections.map((connection) => drive(connection, load, until, observe)));
  const seconds = (performance.now() - started) / 1000;
  const { user, system } = process.cpuUsage(used);
  return { seconds, clientShare: (user + system) / 1e6 / seconds };
}

/** Sends one request and waits for its answer. */
export async function probe(port: number, request: Buffer): Promise<{ status: number; bytes: number }> {
  const connection = await connected({ number: 0, port, tls: undefined });
  const reader = new AnswerReader();
  return new Promise((resolve, reject) => {
    connection.socket.once('error', reject);
    connection.receive = (chunk) => {
      if (!reader.push(chunk)) return;
      connection.socket.end();
      resolve({ status: reader.status, bytes: reader.bodyBytes });
    };
    connection.socket.write(request);
  });
}

interface Connection {
  number: number;
  socket: Socket;
  receive: (chunk: Buffer) => void;
}

interface Wanted {
  number: number;
  port: number;
  tls: ConnectionOptions | undefined;
}

const READ_BUFFER = Buffer.alloc(256 * 1024);

function connected({ number, port, tls }: Wanted): Promise<Connection> {
  const connection: Omit<Connection, 'socket'> = { number, receive: () => {} };
  const receive = (chunk: Buffer) => connection.receive(chunk);
  const at = { port, host: '127.0.0.1' };
  const onread = {
    buffer: READ_BUFFER,
    callback: (length: number) => {
      receive(READ_BUFFER.subarray(0, length));
      return true;
    },
  };
  const socket = tls === undefined ? connect({ ...at, onread }) : connectSecurely({ ...tls, ...at });
  if (tls !== undefined) socket.on('data', receive);
  socket.setNoDelay(true);
  return new Promise((resolve, reject) => {
    socket.once('error', reject);
    socket.once(tls === undefined ? 'connect' : 'secureConnect', () => resolve(Object.assign(connection, { socket })));
  });
}

function drive(connection: Connection, load: Load, until: number, observe: Observe): Promise<void> {
  const { number, socket } = connection;
  const { request, pauseMs } = load;
  const reader = new AnswerReader();
  let sentAt = 0;
  return new Promise((resolve, reject) => {
    const fail = (error: unknown) => {
      reject(error);
      socket.destroy();
    };
    const send = (now: number) => {
      if (now >= until) {
        resolve();
        socket.end();
        return;
      }
      sentAt = now;
      socket.write(typeof request === 'function' ? request(number) : request);
    };
    connection.receive = (chunk) => {
      try {
        if (!reader.push(chunk)) return;
        const now = performance.now();
        observe(now - sentAt, reader.status);
        if (pauseMs === undefined) send(now);
        else setTimeout(() => send(performance.now()), pauseMs);
      } catch (error) {
        fail(error);
      }
    };
    socket.once('error', fail);
    socket.once('close', () => reject(new Error('the service closed a connection')));
    send(performance.now());
  });
}

export function getRequest(path: string, token: string | null): Buffer {
  return requestWith(path, token === null ? {} : { Authorization: `Bearer ${token}` });
}

export function requestWith(path: string, headers: Record<string, string>): Buffer {
  return wire('GET', path, headers, '');
}

export function writeRequest(method: 'PUT' | 'POST', path: string, token: string, body: unknown): Buffer {
  return wire(method, path, { Authorization: `Bearer ${token}` }, JSON.stringify(body));
}

/** From somebody whose address a proxy tells. */
export function getRequestFrom(address: string, path: string, token: string): Buffer {
  return requestWith(path, { Authorization: `Bearer ${token}`, 'X-Forwarded-For': address });
}

/** The same without a token. */
export function postFrom(address: string, path: string, body: unknown): Buffer {
  return wire('POST', path, { 'X-Forwarded-For': address }, JSON.stringify(body));
}

function wire(method: string, path: string, headers: Record<string, string>, body: string): Buffer {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const about = body === '' ? '' : `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n`;
  const head = `${method} ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n${lines.join('')}User-Agent: coffer-bench\r\n${about}`;
  return Buffer.from(`${head}\r\n${body}`);
}
