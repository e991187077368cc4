import { connect } from 'node:net';

export interface RawAnswer {
  /** Everything that came back until the connection ended or fell silent. */
  text: string;
  /** Of the first answer; 0 if there was none. */
  status: number;
  /** Whether the service ended the connection. */
  isClosed: boolean;
  elapsedMs: number;
}

export interface RawOptions {
  /** How long nothing more may come back before that counts as the whole answer. The first byte may take longer. */
  waitMs?: number;
  /** Sends one byte at a time with this pause, as a slow or hostile client would. */
  byteIntervalMs?: number;
}

/** For a busy machine: a test that expects a response waits for it. */
const FIRST_BYTE_MS = 20_000;

/** Sends bytes as they are, for what no HTTP client would send. */
export function sendRaw(baseUrl: string, bytes: string | Buffer, options: RawOptions = {}): Promise<RawAnswer> {
  const { waitMs = 500, byteIntervalMs } = options;
  const data = typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes;
  const started = performance.now();
  return new Promise((resolve) => {
    const socket = connect(Number(new URL(baseUrl).port), '127.0.0.1');
    const chunks: Buffer[] = [];
    let trickle: NodeJS.Timeout | undefined;
    const finish = (isClosed: boolean) => {
      clearTimeout(deadline);
      clearInterval(trickle);
      socket.destroy();
      const text = Buffer.concat(chunks).toString('latin1');
      const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1] ?? 0);
      resolve({ text, status, isClosed, elapsedMs: performance.now() - started });
    };
    let deadline = setTimeout(() => finish(false), Math.max(waitMs, FIRST_BYTE_MS));
    socket.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      clearTimeout(deadline);
      deadline = setTimeout(() => finish(false), waitMs);
    });
    // An answer sent while we still write may end in a reset; what was read until then is the answer.
    socket.on('error', () => finish(true));
    socket.on('close', () => finish(true));
    socket.on('connect', () => {
      if (byteIntervalMs === undefined) {
        socket.write(data);
        return;
      }
      let sent = 0;
      trickle = setInterval(() => {
        if (sent < data.length && socket.writable) socket.write(data.subarray(sent, ++sent));
      }, byteIntervalMs);
    });
  });
}

/** The JSON bodies of the answers in a raw text, in order. */
export function jsonBodies(text: string): unknown[] {
  return text
    .split(/(?=HTTP\/1\.1 \d{3} )/)
    .map((answer) => answer.slice(answer.indexOf('\r\n\r\n') + 4))
    .filter((body) => body.startsWith('{'))
    .map((body) => JSON.parse(body) as unknown);
}
