import type { Logger } from 'pino';
import type { MacKey } from '../crypto/keyring.ts';
import type { Metrics } from '../observability/metrics.ts';
import { SECOND_MS } from '../platform/clock.ts';
import { unavailable } from '../platform/errors.ts';
import type { RegionGate } from '../request/region-gate.ts';
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
const LINK_INTERVAL_MS = 100;

/**
 * The audit log. A change records its entry in its own transaction; entries of reads and refusals share commits. In both cases the response waits
 * until the entry is durable, and fails if it cannot be stored.
 */
export class AuditLog {
  readonly #store: AuditStore;
  readonly #heads: Heads;
  readonly #log: Logger;
  readonly #regionGate: RegionGate;
  readonly #commits: GroupCommit<AuditEntry>;
  readonly #writing = new Mutex();
  readonly #recovery = new SharedRun(() => this.#recover());
  readonly #metrics: Metrics;
  #isFailing = false;
  #linking: Promise<unknown> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;

  constructor(parts: { store: AuditStore; heads: Heads; log: Logger; regionGate: RegionGate; metrics: Metrics }) {
    const { store, heads, log, regionGate, metrics } = parts;
    this.#store = store;
    this.#heads = heads;
    this.#log = log;
    this.#regionGate = regionGate;
    this.#commits = new GroupCommit((entries) => this.#write(() => store.append(entries)), {
      batchMax: BATCH_MAX,
      waitingMax: WAITING_MAX,
    });
    this.#metrics = metrics;
    metrics.gaugeOf(
      'cv_audit_entries_waiting',
      'Audit entries of reads and refusals that wait to be written; their requests wait too.',
      'sum',
      () => this.#commits.waiting,
    );
    metrics.collect(
      'cv_audit_link_lag_seconds',
      'Age of the oldest audit entry that is not linked into its chain yet; 0 if all are.',
      async () => (await store.linkLagMs()) / SECOND_MS,
    );
  }

  /** Writes run one at a time, because the store does not support concurrent writes. */
  async #write(act: () => Promise<void>): Promise<void> {
    try {
      await this.#writing.run(async () => {
        const started = performance.now();
        await act();
        this.#metrics.auditWriteSeconds.observe((performance.now() - started) / SECOND_MS);
      });
      this.#isFailing = false;
    } catch (error) {
      this.#isFailing = true;
      throw unavailable('The audit log cannot be written now, so the request is refused: try again shortly.', error);
    }
  }

  /** Rejects if the last write failed and a retry fails too: a request that cannot be recorded is not answered. */
  async ready(): Promise<void> {
    if (this.#isFailing) await this.#recovery.run();
  }

  #recover(): Promise<void> {
    return this.#write(() => this.#store.probeWrite());
  }

  /** Resolves when the entry is durable. */
  record(entry: AuditEntry): Promise<void> {
    return this.#commits.add(entry);
  }

  /** Loads the key that `recordIn` needs. Call it before the transaction begins. */
  headKey(tenantId: string): Promise<MacKey> {
    return this.#heads.key(tenantId);
  }

  /**
   * A tenant's log gets its head when it is created and never another one. If the head is missing or was changed, entries are stored but not
   * linked, and the verification reports that the log was tampered with.
   */
  async beginChain(tx: Tx, tenantId: string, headKey: MacKey): Promise<void> {
    await tx.insertInto('audit_heads').values(genesis(tenantId, headKey)).execute();
  }

  /** All entries belong to one tenant. They list the tenant's authenticated rows that the transaction has changed so far. */
  async recordIn(tx: Tx, entries: AuditEntry[], headKey: MacKey): Promise<void> {
    if (this.#regionGate.isOn) {
      await this.#regionGate.requireHereInJob(tx, tenantOf(entries));
      await this.#regionGate.publishRevoked(tx, tx.changes.takeRevoked());
    }
    return this.#store.appendIn(tx, withRows(entries, tx.changes.take(tenantOf(entries))), headKey);
  }

  /** Call this before reading the log: once it resolves, every entry that is durable now can be read. */
  async settle(): Promise<void> {
    try {
      await this.#store.settle();
    } catch (error) {
      throw unavailable('The latest entries cannot be added to the audit log now: try again shortly.', error);
    }
  }

  /** Links everything recorded so far, by this node or another. */
  link(): Promise<void> {
    const run = this.#linking.then(async () => {
      await this.settle();
      // Under load new entries keep arriving. All entries recorded before this call are linked once a round leaves none over.
      while (await this.#store.link());
    });
    this.#linking = run.catch(() => {});
    return run;
  }

  /** Keeps linking in short intervals. */
  startLinking(): void {
    const next = () => {
      this.#timer = setTimeout(async () => {
        try {
          await this.link();
        } catch (error) {
          this.#log.warn({ err: error }, 'linking the audit log failed; retrying');
        }
        if (this.#timer !== undefined) next();
      }, LINK_INTERVAL_MS);
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
      this.#log.warn({ err: error }, 'the latest entries of the audit log could not be linked; the next start does it');
    }
  }
}
