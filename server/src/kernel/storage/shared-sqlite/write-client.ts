import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { SECOND_MS } from '../../base/clock.ts';
import { unavailable } from '../../base/errors.ts';
import type { Work } from '../database.ts';
import type { Execute, Executed } from '../dialect.ts';
import { Channel } from './channel.ts';
import { errorOf, type FromWriter, type ToWriter } from './messages.ts';

/** How long to wait for a writing process that is being started again. */
const CONNECT_MS_MAX = 30 * SECOND_MS;
const CONNECT_EVERY_MS = 50;

/** The transaction may or may not have been committed. */
export class CommitUnknown extends Error {}

/** A transaction in the writing process. */
export interface WriterTransaction {
  readonly execute: Execute;
  call(name: string, argument: unknown): Promise<unknown>;
  /** Resolves when it is durable. */
  commit(): Promise<void>;
  rollback(): void;
}

/** The connection to the process that writes. Without it this process can serve nothing, so it has to end when the connection does. */
export class WriteClient {
  readonly #socket: Socket;
  readonly #channel: Channel<ToWriter, FromWriter>;
  readonly #requests = new Map<number, PromiseWithResolvers<unknown>>();
  readonly #transactions = new Map<number, PromiseWithResolvers<void>>();
  #lastNumber = 0;
  #isClosing = false;
  #isLost = false;
  onLost: () => void = () => {};
  /** Called when the writing process is about to end. */
  onEnding: () => void = () => {};

  static async connect(path: string): Promise<WriteClient> {
    const deadline = performance.now() + CONNECT_MS_MAX;
    for (;;) {
      try {
        const socket = connect(path);
        await once(socket, 'connect');
        return new WriteClient(socket);
      } catch (error) {
        if (performance.now() > deadline) throw error;
        await sleep(CONNECT_EVERY_MS);
      }
    }
  }

  private constructor(socket: Socket) {
    this.#socket = socket;
    this.#channel = new Channel(socket, (message: FromWriter) => this.#receive(message));
    // The socket is closed after an error, which is all that matters.
    socket.on('error', () => {});
    socket.once('close', () => this.#lost());
  }

  call(name: string, argument: unknown = null): Promise<unknown> {
    return this.#request((request) => ({ type: 'call', request, name, argument }));
  }

  begin(tenantId: string | null, work: Work): WriterTransaction {
    const tx = ++this.#lastNumber;
    const ended = Promise.withResolvers<void>();
    ended.promise.catch(() => {});
    this.#transactions.set(tx, ended);
    this.#send({ type: 'begin', tx, tenantId, work });
    let isCommitting = false;
    return {
      execute: (sql, parameters) =>
        this.#request((request) => ({ type: 'execute', tx, request, sql, parameters })) as Promise<Executed>,
      call: (name, argument) => this.#request((request) => ({ type: 'call-inside', tx, request, name, argument })),
      commit: () => {
        isCommitting = true;
        this.#send({ type: 'commit', tx });
        return ended.promise;
      },
      rollback: () => {
        if (!isCommitting) this.#send({ type: 'rollback', tx });
      },
    };
  }

  #request(messageOf: (request: number) => ToWriter): Promise<unknown> {
    if (this.#isLost) return Promise.reject(noWriter());
    const request = ++this.#lastNumber;
    const answer = Promise.withResolvers<unknown>();
    this.#requests.set(request, answer);
    this.#send(messageOf(request));
    return answer.promise;
  }

  #send(message: ToWriter): void {
    if (!this.#isLost) this.#channel.send(message);
  }

  #receive(message: FromWriter): void {
    if (message.type === 'ending') this.onEnding();
    else if (message.type === 'ended') this.#ended(message);
    else this.#answered(message);
  }

  #ended({ tx, failure }: Extract<FromWriter, { type: 'ended' }>): void {
    const ended = this.#transactions.get(tx);
    this.#transactions.delete(tx);
    if (failure === null) ended?.resolve();
    else ended?.reject(errorOf(failure));
  }

  #answered(message: Extract<FromWriter, { type: 'result' | 'failure' }>): void {
    const request = this.#requests.get(message.request);
    this.#requests.delete(message.request);
    if (message.type === 'result') request?.resolve(message.result);
    else request?.reject(errorOf(message.failure));
  }

  #lost(): void {
    this.#isLost = true;
    for (const { reject } of this.#requests.values()) reject(noWriter());
    for (const { reject } of this.#transactions.values()) reject(new CommitUnknown('the writing process is gone'));
    this.#requests.clear();
    this.#transactions.clear();
    if (!this.#isClosing) this.onLost();
  }

  async close(): Promise<void> {
    if (this.#isLost) return;
    this.#isClosing = true;
    const closed = once(this.#socket, 'close');
    this.#socket.end();
    await closed;
  }
}

function noWriter(): Error {
  return unavailable('The database is unavailable now: try again shortly.', new Error('the writing process is gone'));
}
