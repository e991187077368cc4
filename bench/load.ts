import { connect, type Socket } from 'node:net';
import { type ConnectionOptions, connect as connectSecurely } from 'node:tls';

export interface Load {
  port: number;
  /** The request as it goes over the wire, keep-alive; or what makes the next one. */
  request: Buffer | (() => Buffer);
  /** Over TLS, with this certificate. */
  tls?: ConnectionOptions;
  connections: number;
  seconds: number;
}

export interface Measured {
  requests: number;
  perSecond: number;
  p50Ms: number;
  p99Ms: number;
  /** Answers that were not 2xx. */
  refused: number;
}

const HEADER_END = Buffer.from('\r\n\r\n');
const LENGTH = Buffer.from('ontent-');

/**
 * Each connection sends the request again as soon as its answer is whole. Bare sockets, because a client that costs as much as the server
 * would measure itself.
 */
export async function measure(load: Load): Promise<Measured> {
  const latencies: number[] = [];
  let refused = 0;
  const until = performance.now() + load.seconds * 1000;
  const started = performance.now();
  await Promise.all(
    Array.from({ length: load.connections }, () =>
      drive(load, until, (ms, status) => {
        latencies.push(ms);
        if (status < 200 || status > 299) refused++;
      }),
    ),
  );
  const elapsed = (performance.now() - started) / 1000;
  const sorted = Float64Array.from(latencies).sort();
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  return { requests: sorted.length, perSecond: sorted.length / elapsed, p50Ms: at(0.5), p99Ms: at(0.99), refused };
}

function drive(load: Load, until: number, done: (ms: number, status: number) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const { tls } = load;
    const socket: Socket =
      tls === undefined
        ? connect(load.port, '127.0.0.1')
        : connectSecurely({ ...tls, port: load.port, host: '127.0.0.1' });
    socket.setNoDelay(true);
    let sentAt = 0;
    let pending: Buffer | null = null;
    const send = () => {
      if (performance.now() >= until) {
        socket.end();
        resolve();
        return;
      }
      sentAt = performance.now();
      socket.write(typeof load.request === 'function' ? load.request() : load.request);
    };
    socket.once(tls === undefined ? 'connect' : 'secureConnect', send);
    socket.once('error', reject);
    socket.on('data', (chunk: Buffer) => {
      const data = pending === null ? chunk : Buffer.concat([pending, chunk]);
      const end = wholeAnswer(data);
      if (end === null) {
        pending = data;
        return;
      }
      pending = null;
      done(performance.now() - sentAt, Number(data.toString('latin1', 9, 12)));
      send();
    });
  });
}

/** The length of the first answer if it is all there. One request is under way at a time, so nothing follows it. */
function wholeAnswer(data: Buffer): number | null {
  const header = data.indexOf(HEADER_END);
  if (header === -1) return null;
  for (let at = data.indexOf(LENGTH); at !== -1 && at < header; at = data.indexOf(LENGTH, at + 1)) {
    const line = data.toString('latin1', at, data.indexOf('\r\n', at));
    const match = /^ontent-[Ll]ength: (\d+)$/.exec(line);
    if (match !== null) {
      const end = header + HEADER_END.length + Number(match[1]);
      return data.length >= end ? end : null;
    }
  }
  throw new Error('an answer without Content-Length cannot be measured');
}

export function getRequest(path: string, token: string | null): Buffer {
  const authorization = token === null ? '' : `Authorization: Bearer ${token}\r\n`;
  return Buffer.from(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n${authorization}User-Agent: coffer-bench\r\n\r\n`);
}

export function requestWith(path: string, headers: Record<string, string>): Buffer {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n${lines.join('')}User-Agent: coffer-bench\r\n\r\n`);
}

export function writeRequest(method: 'PUT' | 'POST', path: string, token: string, body: unknown): Buffer {
  const text = JSON.stringify(body);
  return Buffer.from(
    `${method} ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${token}\r\nUser-Agent: coffer-bench\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
  );
}
