import { connect, createServer, type Server, type Socket } from 'node:net';

const HEADER_BYTES = 5;
/** `Execute` and `Query` of the protocol of PostgreSQL: each runs a statement. */
const RUNS = new Set(['E'.charCodeAt(0), 'Q'.charCodeAt(0)]);

/** Stands between the service and PostgreSQL, and counts the statements that are run. */
export class StatementCounter {
  count = 0;
  readonly #target: number;
  readonly #sockets = new Set<Socket>();
  readonly #listener: Server;

  constructor(target: number) {
    this.#target = target;
    this.#listener = createServer((client) => this.#connect(client));
  }

  /** The same database, by way of a counter. */
  static async before(url: string): Promise<{ counter: StatementCounter; url: string }> {
    const through = new URL(url);
    const counter = new StatementCounter(Number(through.port));
    await new Promise<void>((resolve) => counter.#listener.listen(0, '127.0.0.1', resolve));
    const address = counter.#listener.address();
    through.port = String(typeof address === 'object' ? address?.port : address);
    return { counter, url: through.href };
  }

  #connect(client: Socket): void {
    const server = connect(this.#target, '127.0.0.1');
    const read = this.#reader();
    client.on('data', read);
    client.pipe(server).pipe(client);
    for (const socket of [client, server]) {
      this.#sockets.add(socket);
      socket.on('error', () => socket.destroy()).on('close', () => this.#sockets.delete(socket));
    }
  }

  /** The first message of a connection has no type. */
  #reader(): (bytes: Buffer) => void {
    let rest = Buffer.alloc(0);
    let isFirst = true;
    return (bytes) => {
      rest = Buffer.concat([rest, bytes]);
      for (;;) {
        const header = isFirst ? HEADER_BYTES - 1 : HEADER_BYTES;
        if (rest.length < header) return;
        const length = isFirst ? rest.readUInt32BE(0) : rest.readUInt32BE(1) + 1;
        if (rest.length < length) return;
        if (!isFirst && RUNS.has(rest[0] ?? 0)) this.count++;
        isFirst = false;
        rest = rest.subarray(length);
      }
    };
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#listener.close(resolve));
  }
}
