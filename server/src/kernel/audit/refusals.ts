import { HOUR_MS, MINUTE_MS } from '../clock.ts';
import { newId } from '../ids.ts';
import type { AuditEntry } from './entry.ts';

/** Entries that callers can cause without a valid credential, or faster than their limit allows, for each tenant. */
const PER_MINUTE_MAX = 20;
const PER_HOUR_MAX = 600;

interface Budget {
  minute: number;
  usedInMinute: number;
  hour: number;
  usedInHour: number;
  suppressed: number;
  last: AuditEntry;
}

/**
 * Keeps a flood of refused calls from filling the disk: beyond the budget they are counted, and the count is written as one entry
 * when the minute is over.
 */
export class Refusals {
  readonly #record: (entry: AuditEntry) => Promise<void>;
  readonly #budgets = new Map<string, Budget>();

  constructor(record: (entry: AuditEntry) => Promise<void>) {
    this.#record = record;
  }

  async record(entry: AuditEntry): Promise<void> {
    const budget = this.#budget(entry);
    if (budget.minute !== minuteOf(entry)) {
      const summary = takeSummary(budget, entry);
      budget.minute = minuteOf(entry);
      budget.usedInMinute = 0;
      if (summary !== null) await this.#record(summary);
    }
    if (budget.hour !== hourOf(entry)) {
      budget.hour = hourOf(entry);
      budget.usedInHour = 0;
    }
    budget.last = entry;
    if (budget.usedInMinute >= PER_MINUTE_MAX || budget.usedInHour >= PER_HOUR_MAX) {
      budget.suppressed++;
      return;
    }
    budget.usedInMinute++;
    budget.usedInHour++;
    await this.#record(entry);
  }

  #budget(entry: AuditEntry): Budget {
    let budget = this.#budgets.get(entry.tenant_id);
    if (budget === undefined) {
      const [minute, hour] = [minuteOf(entry), hourOf(entry)];
      budget = { minute, usedInMinute: 0, hour, usedInHour: 0, suppressed: 0, last: entry };
      this.#budgets.set(entry.tenant_id, budget);
    }
    return budget;
  }

  /** Writes the counts that no later refusal has written yet. */
  async flush(): Promise<void> {
    for (const budget of this.#budgets.values()) {
      const summary = takeSummary(budget, budget.last);
      if (summary !== null) await this.#record(summary);
    }
  }
}

/** The last suppressed call stands for all of them; its details say for how many. */
function takeSummary(budget: Budget, now: AuditEntry): AuditEntry | null {
  if (budget.suppressed === 0) return null;
  const { suppressed, last } = budget;
  budget.suppressed = 0;
  const details = JSON.stringify({ suppressed });
  return { ...last, id: newId('audit', now.at), reason: 'further refused calls, counted only', details };
}

const minuteOf = (entry: AuditEntry) => Math.floor(entry.at / MINUTE_MS);
const hourOf = (entry: AuditEntry) => Math.floor(entry.at / HOUR_MS);
