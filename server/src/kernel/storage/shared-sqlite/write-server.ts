import { rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import type { Logger } from 'pino';
import { type Database, Overtaken, type Tx } from '../database.ts';
import { Channel } from './channel.ts';
import { Inbox } from './inbox.ts';
import { type FromWriter, failureOf, type ToWriter } from './messages.ts';

/** What other processes can call here, by name. */
export interface WriterCalls {
  readonly calls: Readonly<Record<string, (argument: never) => Promise<unknown>>>;
  readonly callsInside: Readonly<Record<string, (tx: Tx, argument: never) => Promise<unknown>>>;
}

/** Runs the transactions of the other processes that serve requests from the same SQLite file. */
export class WriteServer {
  readonly #database: Database;
  readonly #calls: WriterCalls;
  readonly #log: Logger;
  readonly #server: Server;
  readonly #newInbox: () => Inbox;
  readonly #clients = new Set<WriteClientConnection>();
  #onEmpty: (() => void) | null = null;

  /** Tests make inboxes that wait for a shorter time. */
  constructor(parts: { database: Database; calls: WriterCalls; log: Logger; newInbox?: () => Inbox }) {
    this.#database = parts.database;
    this.#calls = parts.calls;
    this.#log = parts.log;
    this.#newInbox = parts.newInbox ?? (() => new Inbox());
    this.#server = createServer((socket) => this.#accept(socket));
  }

  /** `path` is in a folder that only this user can open. A process that was killed may have left its socket there. */
  async listen(path: string): Promise<void> {
    if (process.platform !== 'win32') rmSync(path, { force: true });
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#server.once('error', reject).listen(path, resolve);
    await promise;
  }

  #accept(socket: Socket): void {
    const client = new WriteClientConnection(socket, {
      database: this.#database,
      calls: this.#calls,
      newInbox: this.#newInbox,
    });
    this.#clients.add(client);
    socket.on('error', (error) => this.#log.warn({ err: error }, 'the connection of another worker broke'));
    socket.once('close', () => {
      client.lost();
      this.#clients.delete(client);
      if (this.#clients.size === 0) this.#onEmpty?.();
    });
  }

  /** Tells the other processes that they have to end, because nobody would record their requests. */
  announceEnd(): void {
    for (const client of this.#clients) client.announceEnd();
  }

  /** Resolves once the others have disconnected, which they do as the last step of their own end. */
  async close(): Promise<void> {
    this.#server.close();
    if (this.#clients.size === 0) return;
    await new Promise<void>((resolve) => {
      this.#onEmpty = resolve;
    });
  }
}

/** The connection of one other process. */
class WriteClientConnection {
  readonly #database: Database;
  readonly #calls: WriterCalls;
  readonly #channel: Channel<FromWriter, ToWriter>;
  readonly #newInbox: () => Inbox;
  readonly #transactions = new Map<number, Inbox>();

  constructor(socket: Socket, parts: { database: Database; calls: WriterCalls; newInbox: () => Inbox }) {
    this.#database = parts.database;
    this.#calls = parts.calls;
    this.#newInbox = parts.newInbox;
    this.#channel = new Channel(socket, (message: ToWriter) => this.#receive(message));
  }

  announceEnd(): void {
    this.#channel.send({ type: 'ending' });
  }

  lost(): void {
    for (const inbox of this.#transactions.values()) inbox.close();
  }

  #receive(message: ToWriter): void {
    if (message.type === 'begin') void this.#transaction(message);
    else if (message.type === 'call') void this.#call(message);
    else {
      const inbox = this.#transactions.get(message.tx);
      if (inbox !== undefined) inbox.put(message);
      else if ('request' in message) this.#fail(message.request, new Overtaken('the transaction has ended'));
    }
  }

  async #call({ request, name, argument }: Extract<ToWriter, { type: 'call' }>): Promise<void> {
    await this.#answer(request, async () => {
      if (name === 'ping') return this.#database.ping();
      if (name === 'sync') return this.#database.sync();
      if (name === 'scrubAfterCommit') return this.#database.scrubAfterCommit();
      return called(this.#calls.calls, name)(argument as never);
    });
  }

  async #transaction({ tx: id, tenantId, work }: Extract<ToWriter, { type: 'begin' }>): Promise<void> {
    const inbox = this.#newInbox();
    this.#transactions.set(id, inbox);
    const database = tenantId === null ? this.#database : this.#database.forTenant(tenantId, work);
    let isBegun = false;
    try {
      await database.transaction(async (tx) => {
        if (isBegun) throw new OnlyRepeatableThere();
        isBegun = true;
        await this.#runInside(tx, inbox);
      });
      this.#channel.send({ type: 'ended', tx: id, failure: null });
    } catch (error) {
      const failure = failureOf(error instanceof OnlyRepeatableThere ? new Overtaken('interrupted') : error);
      this.#channel.send({ type: 'ended', tx: id, failure });
    } finally {
      this.#transactions.delete(id);
    }
  }

  async #runInside(tx: Tx, inbox: Inbox): Promise<void> {
    for (;;) {
      const message = await inbox.next();
      if (message.type === 'commit') return;
      if (message.type === 'rollback') throw new RolledBack();
      await this.#answer(message.request, () =>
        message.type === 'execute'
          ? tx.execute(message.sql, message.parameters)
          : called(this.#calls.callsInside, message.name)(tx, message.argument as never),
      );
    }
  }

  async #answer(request: number, act: () => Promise<unknown>): Promise<void> {
    try {
      this.#channel.send({ type: 'result', request, result: await act() });
    } catch (error) {
      this.#fail(request, error);
    }
  }

  #fail(request: number, error: unknown): void {
    this.#channel.send({ type: 'failure', request, failure: failureOf(error) });
  }
}

/** The process that began the transaction does not want it. */
class RolledBack extends Error {}

/** A transaction that has to run again. Its statements come from the other process, which has to send them again. */
class OnlyRepeatableThere extends Error {}

function called<F>(calls: Readonly<Record<string, F>>, name: string): F {
  const call = calls[name];
  if (call === undefined) throw new Error(`the writing process has no function ${name}`);
  return call;
}
