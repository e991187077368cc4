import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** A request of which a part is sent, and the rest whenever a test wants it. */
export interface HalfSent {
  socket: Socket;
  /** Everything that came back so far. */
  text(): string;
  /** Of the last answer; 0 if there was none yet. */
  status(): number;
  send(bytes: string | Buffer): void;
  /** Waits until there is an answer, or the connection has ended. */
  answered(): Promise<number>;
  /** Waits until the service has ended the connection, if it has not yet. */
  ended: Promise<void>;
  close(): void;
}

export interface HalfSentOptions {
  path: string;
  headers?: Record<string, string>;
  /** What the head says; the body is sent by `send`. */
  length: number | 'chunked';
  /** The client's own address, of those that are loopback. */
  from?: string;
}

/** Sends the head of a POST, and nothing of its body. */
export async function halfSend(baseUrl: string, options: HalfSentOptions): Promise<HalfSent> {
  const { path, headers = {}, length, from = '127.0.0.1' } = options;
  const socket = connect({ port: Number(new URL(baseUrl).port), host: '127.0.0.1', localAddress: from });
  let text = '';
  let isEnded = false;
  socket.setEncoding('latin1').on('data', (piece: string) => {
    text += piece;
  });
  // A connection that the service resets is one that has ended.
  socket.on('error', () => {});
  const ended = new Promise<void>((resolve) => {
    socket.once('close', () => {
      isEnded = true;
      resolve();
    });
  });
  await once(socket, 'connect');
  const lines = {
    Host: 'localhost',
    'Content-Type': 'application/json',
    ...(length === 'chunked' ? { 'Transfer-Encoding': 'chunked' } : { 'Content-Length': String(length) }),
    ...headers,
  };
  const head = Object.entries(lines).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`POST ${path} HTTP/1.1\r\n${head.join('')}\r\n`);
  const status = () => Number([...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].at(-1)?.[1] ?? 0);
  return {
    socket,
    text: () => text,
    status,
    ended,
    send: (bytes) => void socket.write(bytes),
    async answered() {
      while (status() === 0 && !isEnded) await new Promise((resolve) => setTimeout(resolve, 10));
      return status();
    },
    close: () => void socket.destroy(),
  };
}
