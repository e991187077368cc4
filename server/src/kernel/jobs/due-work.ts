import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { fairShare } from '../fairness/fair-share.ts';
import { SECOND_MS } from '../platform/clock.ts';

/** Rows that wait to be worked on, such as deliveries. Any node may take one; the row itself stores who has it. */
export interface DueRows<R> {
  /** For log lines: "webhook deliveries". */
  name: string;
  /** Rows that are due, that no node has taken, and that are in none of the groups that have no slot left. */
  find(limit: number, full: readonly string[]): Promise<R[]>;
  /** What a row shares its slots with, such as its webhook and its tenant, so that one that hangs uses up no more than these. */
  groups?(row: R): readonly Group[];
  /** Whether its tenant is handled in this region. Rows of others stay as they are. */
  isServed(row: R): Promise<boolean>;
  /** Takes a row for this node and returns it as it is then; null if another node was faster. */
  take(row: R): Promise<R | null>;
  /** Must store how it ended. A row whose work throws stays taken until its lease ends, and is then due again. */
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

/** Works on due rows, several at once, so that one that hangs delays no other. */
export class DueWorker<R> {
  readonly #rows: DueRows<R>;
  readonly #atOnce: number;
  readonly #log: Logger;
  readonly #stopping = new AbortController();
  readonly #running = new Set<Promise<void>>();
  readonly #used = new Map<string, number>();
  /** Ends the wait for the next poll, while rows are left for which there was no slot. */
  #wake: (() => void) | null = null;
  #loop: Promise<void> | undefined;

  constructor(rows: DueRows<R>, { atOnce, log }: { atOnce: number; log: Logger }) {
    this.#rows = rows;
    this.#atOnce = atOnce;
    this.#log = log;
  }

  start(): void {
    this.#loop = this.#poll();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#loop;
    await Promise.all(this.#running);
  }

  async #poll(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      const woken = Promise.withResolvers<void>();
      try {
        const isMoreLeft = await this.#startDue();
        if (isMoreLeft) this.#wake = woken.resolve;
      } catch (error) {
        this.#log.warn({ err: error }, `looking for due ${this.#rows.name} failed; retrying`);
      }
      await Promise.race([sleep(POLL_MS, undefined, { signal }).catch(() => {}), woken.promise]);
      this.#wake = null;
    }
  }

  /** Resolves to whether rows may be left for which there was no slot. */
  async #startDue(): Promise<boolean> {
    const full = new Set<string>();
    for (;;) {
      const free = this.#atOnce - this.#running.size;
      if (free <= 0) return true;
      const due = await this.#rows.find(free, [...full]);
      const fullBefore = full.size;
      for (const row of due) {
        if (this.#stopping.signal.aborted) return false;
        const groups = this.#rows.groups?.(row) ?? [];
        const noSlot = groups.find((group) => (this.#used.get(group.name) ?? 0) >= this.#slotsOf(group));
        if (noSlot !== undefined) full.add(noSlot.name);
        else await this.#takeAndStart(row, groups);
      }
      // Rows of a full group may have kept others out of this page.
      if (full.size === fullBefore) return full.size > 0 || due.length === free;
    }
  }

  #slotsOf({ slots, isShare = false }: Group): number {
    return isShare ? Math.min(slots, fairShare(this.#atOnce - this.#running.size)) : slots;
  }

  async #takeAndStart(row: R, groups: readonly Group[]): Promise<void> {
    if (!(await this.#rows.isServed(row))) return;
    const taken = await this.#rows.take(row);
    if (taken === null) return;
    for (const { name } of groups) this.#used.set(name, (this.#used.get(name) ?? 0) + 1);
    const run = this.#rows
      .work(taken, this.#stopping.signal)
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
