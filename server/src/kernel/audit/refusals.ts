import { HOUR_MS, MINUTE_MS } from '../clock.ts';
import { newId } from '../ids.ts';
import { addressGroup } from '../limits/address-group.ts';
import type { AuditEntry } from './entry.ts';

/** Entries that callers can cause without a valid credential, or faster than their limit allows. */
const PER_MINUTE_AND_ADDRESS_MAX = 20;
const PER_HOUR_MAX = 600;
/** Addresses told apart in a minute, and names and addresses told in a summary. */
const ADDRESSES_MAX = 1000;
const NAMED_MAX = 10;

interface Budget {
  minute: number;
  usedByAddress: Map<string, number>;
  hour: number;
  usedInHour: number;
  suppressed: number;
  accounts: Set<string>;
  addresses: Set<string>;
  last: AuditEntry;
}

/**
 * Keeps a flood of refused calls from filling the disk: beyond the budget they are counted, and the count is written as one entry when
 * the minute is over. Logins, known callers and strangers have a budget each, and every address a share of it, so that noise of
 * one kind does not hide another.
 */
export class Refusals {
  readonly #record: (entry: AuditEntry) => Promise<void>;
  readonly #budgets = new Map<string, Budget>();

  constructor(record: (entry: AuditEntry) => Promise<void>) {
    this.#record = record;
  }

  async record(entry: AuditEntry): Promise<void> {
    const budget = this.#budget(entry);
    if (budget.hour !== hourOf(entry)) {
      budget.hour = hourOf(entry);
      budget.usedInHour = 0;
    }
    if (budget.minute !== minuteOf(entry)) {
      // Before anything is awaited: of those who come together at the turn of the minute, one begins it.
      budget.minute = minuteOf(entry);
      budget.usedByAddress.clear();
      await this.#summarize(budget, entry);
    }
    budget.last = entry;
    const group = addressGroup(entry.ip);
    const address = budget.usedByAddress.size < ADDRESSES_MAX || budget.usedByAddress.has(group) ? group : 'others';
    const used = budget.usedByAddress.get(address) ?? 0;
    if (used >= PER_MINUTE_AND_ADDRESS_MAX || budget.usedInHour >= PER_HOUR_MAX) {
      budget.suppressed++;
      if (budget.accounts.size < NAMED_MAX && entry.actor_name !== '') budget.accounts.add(entry.actor_name);
      if (budget.addresses.size < NAMED_MAX) budget.addresses.add(entry.ip);
      return;
    }
    budget.usedByAddress.set(address, used + 1);
    budget.usedInHour++;
    await this.#record(entry);
  }

  #budget(entry: AuditEntry): Budget {
    const kind = entry.action === 'auth:login' ? 'login' : entry.actor_id === '' ? 'stranger' : 'known';
    const key = `${entry.tenant_id} ${kind}`;
    let budget = this.#budgets.get(key);
    if (budget === undefined) {
      const sets = { usedByAddress: new Map(), accounts: new Set<string>(), addresses: new Set<string>() };
      const [minute, hour] = [minuteOf(entry), hourOf(entry)];
      budget = { minute, hour, usedInHour: 0, suppressed: 0, last: entry, ...sets };
      this.#budgets.set(key, budget);
    }
    return budget;
  }

  /** The last of the suppressed calls stands for all of them; the details say for how many, of whom and from where. */
  async #summarize(budget: Budget, now: AuditEntry): Promise<void> {
    if (budget.suppressed === 0) return;
    const { suppressed, last } = budget;
    const told = { suppressed, accounts: [...budget.accounts], addresses: [...budget.addresses] };
    const reason = 'further refused calls, counted only';
    budget.suppressed = 0;
    budget.accounts.clear();
    budget.addresses.clear();
    try {
      await this.#record({ ...last, id: newId('audit', now.at), reason, details: JSON.stringify(told) });
    } catch (error) {
      budget.suppressed += suppressed;
      for (const account of told.accounts) budget.accounts.add(account);
      for (const address of told.addresses) budget.addresses.add(address);
      throw error;
    }
  }

  /** Writes the counts that no later refusal has written yet. */
  async flush(): Promise<void> {
    for (const budget of this.#budgets.values()) await this.#summarize(budget, budget.last);
  }
}

const minuteOf = (entry: AuditEntry) => Math.floor(entry.at / MINUTE_MS);
const hourOf = (entry: AuditEntry) => Math.floor(entry.at / HOUR_MS);
