import type { Logger } from 'pino';
import type { MacKey } from '../crypto/keyring.ts';
import { unavailable } from '../errors.ts';
import type { Tx } from '../storage/database.ts';
import { Mutex } from '../storage/mutex.ts';
import { SharedRun } from '../storage/shared-run.ts';
import type { AuditStore } from './audit-store.ts';
import type { AuditEntry } from './entry.ts';
import { GroupCommit } from './group-commit.ts';
import { genesis, type Heads } from './heads.ts';
import { withRows } from './row-records.ts';
import { tenantOf } from './segment.ts';

const BATCH_MAX = 1000;
const WAITING_MAX = 50_000;
const SEAL_INTERVAL_MS = 100;

/**
 * The audit log. A change records its entry in its own transaction; reads and refusals share commits. Either way the answer
 * waits until the entry is durable, and fails if it cannot be.
 */
export class AuditLog {
  readonly #store: AuditStore;
  readonly #heads: Heads;
  readonly #log: Logger;
  readonly #commits: GroupCommit<AuditEntry>;
  readonly #writing = new Mutex();
  readonly #recovery = new SharedRun(() => this.#recover());
  #isFailing = false;
  #linking: Promise<unknown> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;

  constructor(store: AuditStore, heads: Heads, log: Logger) {
    this.#store = store;
    this.#heads = heads;
    this.#log = log;
    this.#commits = new GroupCommit((entries) => this.#write(() => store.append(entries)), {
      batchMax: BATCH_MAX,
      waitingMax: WAITING_MAX,
    });
  }

  /** One at a time: the store takes no second write beside the first. */
  async #write(act: () => Promise<void>): Promise<void> {
    try {
      await this.#writing.run(act);
      this.#isFailing = false;
    } catch (error) {
      this.#isFailing = true;
      throw unavailable('The audit log cannot be written now, so the request is refused.', error);
    }
  }

  /** Resolves unless the last write failed, and would fail again: what cannot be recorded is not answered. */
  async ready(): Promise<void> {
    if (this.#isFailing) await this.#recovery.run();
  }

  #recover(): Promise<void> {
    return this.#write(() => this.#store.tryAgain());
  }

  /** Resolves when the entry is durable. */
  record(entry: AuditEntry): Promise<void> {
    return this.#commits.add(entry);
  }

  /** What `recordIn` needs, fetched before the transaction begins. */
  headKey(tenantId: string): Promise<MacKey> {
    return this.#heads.key(tenantId);
  }

  /**
   * A tenant's log begins with a head and never gets another: without one, or with one that was changed, entries are kept but not linked,
   * and the check says that the log was tampered with.
   */
  async beginChain(tx: Tx, tenantId: string, headKey: MacKey): Promise<void> {
    await tx.insertInto('audit_heads').values(genesis(tenantId, headKey)).execute();
  }

  /** The entries are of one tenant. They tell which authenticated rows of it the transaction has changed so far. */
  recordIn(tx: Tx, entries: AuditEntry[], headKey: MacKey): Promise<void> {
    return this.#store.appendIn(tx, withRows(entries, tx.changes.take(tenantOf(entries))), headKey);
  }

  /** Whoever reads the log waits for this first: then every entry that is durable now can be read. */
  async settle(): Promise<void> {
    try {
      await this.#store.settle();
    } catch (error) {
      throw unavailable('The audit log cannot be brought up to date now.', error);
    }
  }

  /** Links everything recorded so far, by this node or another. */
  link(): Promise<void> {
    const run = this.#linking.then(async () => {
      await this.settle();
      // Under load there is always something new: what was recorded so far is linked once a round leaves nothing over.
      while (await this.#store.link());
    });
    this.#linking = run.catch(() => {});
    return run;
  }

  /** Links again and again, shortly after each commit. */
  startLinking(): void {
    const next = () => {
      this.#timer = setTimeout(async () => {
        try {
          await this.link();
        } catch (error) {
          this.#log.warn({ err: error }, 'linking the audit log failed; it is tried again');
        }
        if (this.#timer !== undefined) next();
      }, SEAL_INTERVAL_MS);
    };
    next();
  }

  async close(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    await this.#commits.drained();
    try {
      await this.link();
      await this.#store.close();
    } catch (error) {
      this.#log.warn({ err: error }, 'the end of the audit log is left to the next start');
    }
  }
}
