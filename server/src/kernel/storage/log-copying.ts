import { extname } from 'node:path';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { Worker } from 'node:worker_threads';

/** 12 MiB of WAL before it is copied: large enough that hot pages are copied once, small enough for a short turn and a fast recovery. */
const COPIED_PAGES_MIN = 3072;
/** More pages are copied by a thread: each costs the event loop some ten microseconds of processor time. */
export const COPIED_AT_ONCE_PAGES_MAX = 3584;
/** It is TypeScript in a checkout and JavaScript in an installed package, like this file. */
const WORKER_FILE = `./log-copying-worker${extname(import.meta.url)}`;

/**
 * Copies the WAL of SQLite into the database (a checkpoint) after a commit, as SQLite would by itself, except that a thread copies what one large
 * transaction left, such as an import. Whatever fails, everything is still in the WAL, and the next commit tries again.
 */
export class LogCopying {
  readonly #file: string;
  readonly #size: StatementSync;
  readonly #copy: StatementSync;
  #thread: Promise<void> | null = null;
  /** A thread that failed would fail after each commit. */
  #hasFailed = false;

  constructor(file: string, writer: DatabaseSync) {
    this.#file = file;
    writer.exec('pragma wal_autocheckpoint = 0');
    this.#size = writer.prepare('pragma wal_checkpoint(noop)');
    this.#copy = writer.prepare('pragma wal_checkpoint(passive)');
  }

  get isInThread(): boolean {
    return this.#thread !== null;
  }

  /** Called after each commit, outside of a transaction. */
  afterCommit(): void {
    if (this.#thread !== null) return;
    try {
      const { log, checkpointed } = this.#size.get() as { log: number; checkpointed: number };
      if (log < COPIED_PAGES_MIN) return;
      if (log - checkpointed > COPIED_AT_ONCE_PAGES_MAX && !this.#hasFailed) this.#startThread();
      else this.#hasFailed = !isComplete(this.#copy);
    } catch {
      this.#hasFailed = true;
    }
  }

  /** Resolves when no thread uses the database any more. */
  async idle(): Promise<void> {
    await this.#thread;
  }

  #startThread(): void {
    // It needs no environment variables, which may contain secrets.
    const worker = new Worker(new URL(WORKER_FILE, import.meta.url), { workerData: this.#file, env: {} });
    const { promise, resolve } = Promise.withResolvers<void>();
    worker.on('error', () => {
      this.#hasFailed = true;
    });
    worker.on('exit', () => {
      this.#thread = null;
      resolve();
    });
    this.#thread = promise;
  }
}

function isComplete(copy: StatementSync): boolean {
  return Number(copy.get()?.['busy']) === 0;
}
