import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { RegionGate } from '../../auth/region-gate.ts';
import { type Activity, IdleWait } from '../../base/activity.ts';
import { SECOND_MS } from '../../base/clock.ts';
import { unavailable } from '../../base/errors.ts';
import { Mutex } from '../../base/mutex.ts';
import { SharedRun } from '../../base/shared-run.ts';
import type { MacKey } from '../../keys/keyring.ts';
import type { Metrics } from '../../observability/metrics.ts';
import type { Tx } from '../../storage/database.ts';
import { genesis, type Heads } from '../chain/heads.ts';
import { tenantOf } from '../chain/segment.ts';
import type { AuditEntry } from '../entry/entry.ts';
import { withRows } from '../entry/row-records.ts';
import type { AuditStore } from './audit-store.ts';
import { GroupCommit } from './group-commit.ts';

const BATCH_MAX = 1000;
const WAITING_MAX = 50_000;
const LINK_INTERVAL_MS = 100;
/** While nothing waits and nothing happens on this node. Each node links what it records itself. */
const IDLE_LINK_INTERVAL_MS = 5 * SECOND_MS;

/**
 * The audit log. A change records its entry in its own transaction; entries of reads and refusals share commits. In both cases the response waits
 * until the entry is durable, and fails if it cannot be stored.
 */
export class AuditLog {
  readonly store: AuditStore;
  readonly #heads: Heads;
  readonly #log: Logger;
  readonly #regionGate: RegionGate;
  readonly #commits: GroupCommit<AuditEntry>;
  readonly #writing = new Mutex();
  readonly #recovery = new SharedRun(() => this.#recover());
  readonly #metrics: Metrics;
  #isFailing = false;
  #linking: Promise<unknown> = Promise.resolve();
  readonly #activity: Activity;
  readonly #stopping = new AbortController();
  #loop: Promise<void> = Promise.resolve();

  constructor(parts: {
    store: AuditStore;
    heads: Heads;
    log: Logger;
    regionGate: RegionGate;
    metrics: Metrics;
    activity: Activity;
  }) {
    const { store, heads, log, regionGate, metrics, activity } = parts;
    this.#activity = activity;
    this.store = store;
    this.#heads = heads;
    this.#log = log;
    this.#regionGate = regionGate;
    this.#commits = new GroupCommit((entries) => this.write(() => store.append(entries)), {
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
  async write(act: () => Promise<void>): Promise<void> {
    try {
      await this.#writing.run(async () => {
        const started = performance.now();
        await act();
        this.#metrics.auditWriteSeconds.observe((performance.now() - started) / SECOND_MS);
      });
      this.#isFailing = false;
      this.#activity.happened();
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
    return this.write(() => this.store.probeWrite());
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
      await this.#regionGate.requireBeforeCommit(tx, tenantOf(entries));
      await this.#regionGate.publishRevoked(tx, tx.changes.takeRevoked());
    }
    tx.onEnd.push(() => this.#activity.happened());
    return this.store.appendIn(tx, withRows(entries, tx.changes.take(tenantOf(entries))), headKey);
  }

  /** Call this before reading the log: once it resolves, every entry that is durable now can be read. */
  async settle(): Promise<void> {
    try {
      await this.store.settle();
    } catch (error) {
      throw unavailable('The latest entries cannot be added to the audit log now: try again shortly.', error);
    }
  }

  /** Links everything recorded so far, by this node or another. */
  link(): Promise<void> {
    return this.#inTurn(async () => {
      // Under load new entries keep arriving. All entries recorded before this call are linked once a round leaves none over.
      while (await this.store.link());
    });
  }

  /** Links everything of one tenant, and returns the nodes whose segments must wait. */
  linkAll(tenantId: string): Promise<ReadonlySet<string>> {
    return this.#inTurn(() => this.store.linkAll(tenantId));
  }

  #inTurn<T>(link: () => Promise<T>): Promise<T> {
    const run = this.#linking.then(async () => {
      await this.settle();
      return link();
    });
    this.#linking = run.catch(() => {});
    return run;
  }

  /** Keeps linking in short intervals, which grow while there is nothing to link. */
  startLinking(): void {
    this.#loop = this.#keepLinking();
  }

  async #keepLinking(): Promise<void> {
    const { signal } = this.#stopping;
    const wait = new IdleWait(LINK_INTERVAL_MS, IDLE_LINK_INTERVAL_MS);
    while (!signal.aborted) {
      const { count } = this.#activity;
      let isIdle = false;
      try {
        await this.link();
        isIdle = this.store.isIdle;
      } catch (error) {
        this.#log.warn({ err: error }, 'linking the audit log failed; retrying');
      }
      // Entries that arrive together are linked together.
      await sleep(LINK_INTERVAL_MS, undefined, { signal }).catch(() => {});
      const restMs = wait.next(isIdle && count === this.#activity.count) - LINK_INTERVAL_MS;
      if (restMs > 0) await this.#activity.since(count, restMs, signal);
    }
  }

  async close(): Promise<void> {
    this.#stopping.abort();
    await this.#loop;
    await this.#commits.drained();
    try {
      await this.link();
      await this.store.close();
    } catch (error) {
      this.#log.warn({ err: error }, 'the latest entries of the audit log could not be linked; the next start does it');
    }
  }
}
