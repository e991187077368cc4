import { connect as connectTo, createServer, type Socket } from 'node:net';
import { after } from 'node:test';

/** What happens to the bytes that go through: nothing, a delay for each piece, or that none arrives any more. */
export type Weather = { kind: 'clear' } | { kind: 'slow'; delayMs: number } | { kind: 'silent' };

interface Pair {
  client: Socket;
  server: Socket;
  /** A pair that went silent stays so, as one does whose other end has vanished. */
  isSilent: boolean;
}

/** Bytes on their way to one end, in order. */
class Way {
  readonly #to: Socket;
  readonly #waiting: { due: number; bytes: Buffer }[] = [];

  constructor(to: Socket) {
    this.#to = to;
  }

  send(bytes: Buffer, delayMs: number): void {
    this.#waiting.push({ due: performance.now() + delayMs, bytes });
    if (this.#waiting.length === 1) this.#deliver();
  }

  #deliver(): void {
    for (let first = this.#waiting[0]; first !== undefined; first = this.#waiting[0]) {
      const restMs = first.due - performance.now();
      if (restMs > 0) {
        setTimeout(() => this.#deliver(), restMs);
        return;
      }
      this.#waiting.shift();
      this.#to.write(first.bytes);
    }
  }
}

const proxies = new Set<DatabaseProxy>();
after(() => Promise.all([...proxies].map((proxy) => proxy.close())));

/** Stands between the service and PostgreSQL, at an address that stays while what is behind it changes. */
export class DatabaseProxy {
  /** The port that new connections are led to. */
  target: number;
  weather: Weather = { kind: 'clear' };
  port = 0;
  readonly #pairs = new Set<Pair>();
  readonly #listener = createServer((client) => this.#connect(client));

  constructor(target: number) {
    this.target = target;
  }

  static async before(url: string): Promise<DatabaseProxy> {
    const proxy = new DatabaseProxy(Number(new URL(url).port));
    await new Promise<void>((resolve) => proxy.#listener.listen(0, '127.0.0.1', resolve));
    const address = proxy.#listener.address();
    proxy.port = typeof address === 'object' && address !== null ? address.port : 0;
    proxies.add(proxy);
    return proxy;
  }

  /** The same database, by way of this proxy. */
  through(url: string): string {
    const through = new URL(url);
    through.port = String(this.port);
    return through.href;
  }

  #connect(client: Socket): void {
    const pair: Pair = { client, server: connectTo(this.target, '127.0.0.1'), isSilent: false };
    this.#pairs.add(pair);
    for (const [from, to] of [
      [client, pair.server],
      [pair.server, client],
    ] as const) {
      const way = new Way(to);
      from.setNoDelay(true);
      from.on('data', (bytes: Buffer) => this.#pass(pair, way, bytes));
      from.on('error', () => this.#forget(pair));
      from.on('close', () => this.#forget(pair));
    }
  }

  #pass(pair: Pair, way: Way, bytes: Buffer): void {
    if (this.weather.kind === 'silent') pair.isSilent = true;
    if (!pair.isSilent) way.send(bytes, this.weather.kind === 'slow' ? this.weather.delayMs : 0);
  }

  #forget(pair: Pair): void {
    this.#pairs.delete(pair);
    // Whoever talks to an end that has vanished is not told that it has.
    if (!pair.isSilent) pair.client.destroy();
    pair.server.destroy();
  }

  /** Ends what is open in the orderly way. */
  cut(): void {
    for (const { client, server } of this.#pairs) {
      client.end();
      server.end();
    }
  }

  /** Ends it as a firewall or a crashed machine does. */
  reset(): void {
    for (const { client, server } of this.#pairs) {
      client.resetAndDestroy();
      server.resetAndDestroy();
    }
  }

  /** From now on nothing arrives on the connections that are open; new ones work. */
  silence(): void {
    for (const pair of this.#pairs) pair.isSilent = true;
  }

  async close(): Promise<void> {
    proxies.delete(this);
    const closed = new Promise((resolve) => this.#listener.close(resolve));
    for (const { client, server } of this.#pairs) {
      client.destroy();
      server.destroy();
    }
    await closed;
  }
}
