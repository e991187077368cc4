import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { type Activity, IdleWait } from '../base/activity.ts';
import { SECOND_MS } from '../base/clock.ts';
import { Mutex } from '../base/mutex.ts';
import { fairShare } from '../fairness/fair-share.ts';

/** Background work that a feature does besides its jobs. */
export interface BackgroundWorker {
  readonly name: string;
  start(): void;
  stop(): Promise<void>;
  /** Looks now for what is due, and resolves once all of it has ended. Tests call it before they assert that nothing more happens. */
  tick(): Promise<void>;
}

/** Rows that wait to be worked on, such as deliveries. Any node may take one; the row itself stores who has it. */
export interface DueRows<R extends { tenant_id: string }> {
  /** For log lines: "webhook deliveries". */
  name: string;
  /** Rows that are due, that no node has leased, and that are not of these tenants, or in these groups, which have no slot left. */
  find(limit: number, except: readonly string[]): Promise<R[]>;
  /** What a row shares its slots with, such as its webhook and its tenant, so that one that hangs uses up no more than these. */
  groups?(row: R): readonly Group[];
  /** Whether its tenant is handled in this region. Rows of others stay as they are. */
  isServed(row: R): Promise<boolean>;
  /** Takes a row for this node and returns it as it is then; null if another node was faster. */
  take(row: R): Promise<R | null>;
  /** Must store how it ended. A row whose work throws stays leased until its lease ends, and is then due again. */
  work(row: R, signal: AbortSignal): Promise<void>;
}

export interface Group {
  name: string;
  /** How many of its rows are worked on at once. */
  slots: number;
  /** Whether it may hold no more than its share of the slots that are free: see `fairShare`. */
  isShare?: boolean;
}

const POLL_MS = SECOND_MS;
/** While nothing is due and nothing happens on this node, it looks less often: rows that another node made due wait for so long at most. */
const IDLE_POLL_MS = 8 * SECOND_MS;
/** How long a tenant counts as one of another region before that is looked up again. */
const ELSEWHERE_MS = 30 * SECOND_MS;
const ELSEWHERE_MAX = 4096;

/** Repeats the last name up to a power of two, so that there are few different statements to prepare. */
function padded(names: readonly string[]): readonly string[] {
  const last = names.at(-1);
  if (last === undefined) return names;
  const length = 2 ** Math.ceil(Math.log2(names.length));
  return [...names, ...Array.from({ length: length - names.length }, () => last)];
}

/** Works on due rows, several at once, so that one that hangs delays no other. */
export class DueWorker<R extends { tenant_id: string }> implements BackgroundWorker {
  readonly #rows: DueRows<R>;
  readonly #atOnce: number;
  readonly #log: Logger;
  readonly #activity: Activity;
  readonly #stopping = new AbortController();
  readonly #running = new Set<Promise<void>>();
  /** One look at a time, so that none misses what another has just found and not yet started. */
  readonly #looking = new Mutex();
  readonly #used = new Map<string, number>();
  /** Tenants with due rows that are handled in another region, and when that was found. */
  readonly #elsewhere = new Map<string, number>();
  /** Ends the wait for the next poll, while rows are left for which there was no slot. */
  #wake: (() => void) | null = null;
  /** Whether the last look found anything. */
  #wasDue = false;
  #loop: Promise<void> | undefined;

  constructor(rows: DueRows<R>, { atOnce, log, activity }: { atOnce: number; log: Logger; activity: Activity }) {
    this.#rows = rows;
    this.#atOnce = atOnce;
    this.#log = log;
    this.#activity = activity;
  }

  get name(): string {
    return this.#rows.name;
  }

  start(): void {
    this.#loop = this.#poll();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#loop;
    await Promise.all(this.#running);
  }

  async tick(): Promise<void> {
    while (await this.#startDue()) {
      // Nothing may run any more: it has ended meanwhile, or another node leased all that was found. A race of nothing never ends.
      if (this.#running.size > 0) await Promise.race(this.#running);
    }
    await Promise.all(this.#running);
  }

  async #poll(): Promise<void> {
    const { signal } = this.#stopping;
    const wait = new IdleWait(POLL_MS, IDLE_POLL_MS);
    let before = this.#activity.count;
    while (!signal.aborted) {
      const woken = Promise.withResolvers<void>();
      const { count } = this.#activity;
      this.#wasDue = false;
      try {
        const isMoreLeft = await this.#startDue();
        if (isMoreLeft) this.#wake = woken.resolve;
      } catch (error) {
        this.#log.warn({ err: error }, `looking for due ${this.#rows.name} failed; retrying`);
      }
      await Promise.race([sleep(POLL_MS, undefined, { signal }).catch(() => {}), woken.promise]);
      this.#wake = null;
      const restMs = wait.next(!this.#wasDue && this.#running.size === 0 && count === before) - POLL_MS;
      before = count;
      if (restMs > 0) await this.#activity.since(count, restMs, signal);
    }
  }

  /** Resolves to whether rows may be left for which there was no slot. */
  #startDue(): Promise<boolean> {
    return this.#looking.run(() => this.#look());
  }

  async #look(): Promise<boolean> {
    const full = new Set<string>();
    this.#deleteElsewhere();
    for (;;) {
      const free = this.#atOnce - this.#running.size;
      if (free <= 0) return true;
      const due = await this.#rows.find(free, padded([...full, ...this.#elsewhere.keys()]));
      if (due.length > 0) this.#wasDue = true;
      const exceptBefore = full.size + this.#elsewhere.size;
      for (const row of due) {
        if (this.#stopping.signal.aborted) return false;
        const groups = this.#rows.groups?.(row) ?? [];
        const noSlot = groups.find((group) => (this.#used.get(group.name) ?? 0) >= this.#slotsOf(group));
        if (noSlot !== undefined) full.add(noSlot.name);
        else if (await this.#isServed(row)) await this.#takeAndStart(row, groups);
      }
      // Rows of a full group, or of a tenant of another region, may have filled this page instead of others.
      if (full.size + this.#elsewhere.size === exceptBefore) return full.size > 0 || due.length === free;
    }
  }

  async #isServed(row: R): Promise<boolean> {
    if (this.#elsewhere.has(row.tenant_id)) return false;
    const isServed = await this.#rows.isServed(row);
    if (!isServed && this.#elsewhere.size < ELSEWHERE_MAX) this.#elsewhere.set(row.tenant_id, performance.now());
    return isServed;
  }

  /** A tenant may have come to this region since. */
  #deleteElsewhere(): void {
    const before = performance.now() - ELSEWHERE_MS;
    for (const [tenantId, at] of this.#elsewhere) if (at < before) this.#elsewhere.delete(tenantId);
  }

  #slotsOf({ slots, isShare = false }: Group): number {
    return isShare ? Math.min(slots, fairShare(this.#atOnce - this.#running.size)) : slots;
  }

  async #takeAndStart(row: R, groups: readonly Group[]): Promise<void> {
    const leased = await this.#rows.take(row);
    if (leased === null) return;
    for (const { name } of groups) this.#used.set(name, (this.#used.get(name) ?? 0) + 1);
    const run = this.#rows
      .work(leased, this.#stopping.signal)
      .catch((error) => {
        this.#log.error({ err: error }, `work on due ${this.#rows.name} failed; it is tried again when its lease ends`);
      })
      .finally(() => {
        this.#running.delete(run);
        for (const { name } of groups) this.#free(name);
        this.#wake?.();
      });
    this.#running.add(run);
  }

  #free(group: string): void {
    const left = (this.#used.get(group) ?? 1) - 1;
    if (left === 0) this.#used.delete(group);
    else this.#used.set(group, left);
  }
}
