import { connect as connectTo, createServer, type Socket } from 'node:net';
import { after } from 'node:test';

export type Direction = 'to server' | 'to client';

/** What happens to the bytes that go through: nothing, a delay for each piece, or that none arrives any more, in both directions or in one. */
export type Weather =
  | { kind: 'clear' }
  | { kind: 'slow'; delayMs: number }
  | { kind: 'silent' }
  | { kind: 'one-way loss'; lost: Direction };

interface Pair {
  client: Socket;
  server: Socket;
  /** A pair that went silent stays so, as one does whose other end has vanished. */
  isSilent: boolean;
  /** The direction in which bytes were lost. No later ones arrive there, since a connection delivers in order. */
  lost: Direction | null;
  /** What the client has sent and the server is to get late. */
  held: Buffer[] | null;
}

const PANIC = errorMessage({
  S: 'PANIC',
  V: 'PANIC',
  C: '53100',
  M: 'could not write to file: No space left on device',
});

/** An error of PostgreSQL on the wire. */
function errorMessage(fields: Record<string, string>): Buffer {
  const texts = Object.entries(fields).map(([field, text]) => `${field}${text}\0`);
  const body = Buffer.from(`${texts.join('')}\0`);
  const head = Buffer.from('E....');
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
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
    const server = connectTo(this.target, '127.0.0.1');
    const pair: Pair = { client, server, isSilent: false, lost: null, held: null };
    this.#pairs.add(pair);
    for (const [from, to, direction] of [
      [client, pair.server, 'to server'],
      [pair.server, client, 'to client'],
    ] as const) {
      const way = new Way(to);
      from.setNoDelay(true);
      from.on('data', (bytes: Buffer) => this.#pass(pair, way, direction, bytes));
      from.on('error', () => this.#remove(pair));
      from.on('close', () => this.#remove(pair));
    }
  }

  #pass(pair: Pair, way: Way, direction: Direction, bytes: Buffer): void {
    const { weather } = this;
    if (weather.kind === 'silent') pair.isSilent = true;
    if (weather.kind === 'one-way loss' && weather.lost === direction) pair.lost = direction;
    if (pair.isSilent || pair.lost === direction) return;
    if (pair.held !== null && direction === 'to server') pair.held.push(bytes);
    else way.send(bytes, weather.kind === 'slow' ? weather.delayMs : 0);
  }

  #remove(pair: Pair): void {
    // Its client has given up, and what it had sent is still on its way.
    if (pair.held !== null && !pair.server.destroyed) return;
    this.#pairs.delete(pair);
    // The other end is not told that this one has vanished.
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

  /** Ends it as a server does that finds no room for its log, and says so. What it was told before may be committed. */
  panic(): void {
    for (const { client, server } of this.#pairs) {
      client.end(PANIC);
      server.resetAndDestroy();
    }
  }

  /** From now on nothing arrives on the connections that are open; new ones work. */
  silence(): void {
    for (const pair of this.#pairs) pair.isSilent = true;
  }

  /** From now on the server gets nothing that is sent on the open connections; new ones work. Returns what delivers it after all. */
  hold(): () => void {
    const held = [...this.#pairs];
    for (const pair of held) pair.held = [];
    return () => {
      for (const pair of held) {
        for (const bytes of pair.held ?? []) pair.server.write(bytes);
        pair.held = null;
        if (pair.client.destroyed) pair.server.end();
      }
    };
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
