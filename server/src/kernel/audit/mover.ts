import type { KeyObject } from 'node:crypto';
import { Worker } from 'node:worker_threads';
import type { Tables } from '../storage/tables.ts';
import type { ChainHead } from './chain.ts';

export interface MoverSettings {
  databaseFile: string;
  /** What a connection needs before its first statement. */
  setUp: string;
}

/** The chain of a tenant as it stands, and the key for its next head; without an authentic head nothing is linked. */
export interface Chain {
  tenantId: string;
  head: ChainHead | null;
  key: { version: number; key: KeyObject };
}

/** One transaction: entries, in order, and how far the journal is moved with them. */
export interface Move {
  segments: readonly { tenantId: string; latestId: string; texts: readonly string[] }[];
  chains: readonly Chain[];
  state: Tables['audit_journal'];
}

export interface Moved {
  failure: { message: string; code: string | undefined; errcode: number | undefined } | null;
}

/**
 * The main thread's side of mover-worker.ts. Nothing is lost with the thread: what it has not committed is still in the journal. It begins
 * with the first move, and anew after it has failed.
 */
export class Mover {
  readonly #settings: MoverSettings;
  #worker: Worker | null = null;

  constructor(settings: MoverSettings) {
    this.#settings = settings;
  }

  /** One at a time, and only while nothing else writes to the database. */
  async move(move: Move): Promise<void> {
    const worker = this.#running();
    // An idle thread does not keep the process alive; one at work does.
    worker.ref();
    try {
      const { failure } = await answerOf(worker, move);
      if (failure !== null) throw Object.assign(new Error(failure.message), failure);
    } finally {
      worker.unref();
    }
  }

  #running(): Worker {
    if (this.#worker !== null) return this.#worker;
    const worker = new Worker(new URL('./mover-worker.ts', import.meta.url), { workerData: this.#settings, env: {} });
    // Whoever waits for it is told; with nobody waiting, the next move begins another.
    const forget = () => {
      if (this.#worker === worker) this.#worker = null;
    };
    worker.on('error', forget);
    worker.once('exit', forget);
    this.#worker = worker;
    return worker;
  }

  async close(): Promise<void> {
    const worker = this.#worker;
    if (worker === null) return;
    const ended = new Promise((resolve) => worker.once('exit', resolve));
    // Whoever waits for its end must live to see it: else the process would be gone first, with the rest of its closing undone.
    worker.ref();
    worker.postMessage(null);
    await ended;
  }
}

function answerOf(worker: Worker, move: Move): Promise<Moved> {
  return new Promise((resolve, reject) => {
    const ended = (error: unknown) => {
      worker.off('message', answered);
      reject(error instanceof Error ? error : new Error('the thread that moves audit entries has ended'));
    };
    const answered = (moved: Moved) => {
      worker.off('error', ended);
      worker.off('exit', ended);
      resolve(moved);
    };
    worker.once('message', answered);
    worker.once('error', ended);
    worker.once('exit', ended);
    worker.postMessage(move);
  });
}
