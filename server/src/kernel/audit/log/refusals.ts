import { addressGroup } from '../../base/address-group.ts';
import { HOUR_MS, MINUTE_MS } from '../../base/clock.ts';
import { newId } from '../../base/ids.ts';
import type { AuditEntry } from '../entry/entry.ts';

interface Bounds {
  /** For one address, or for one principal from any address. */
  readonly perMinute: number;
  readonly perHour: number;
  /** Distinct refusals per hour, by account, action, status and reason. The first of each is always recorded. */
  readonly distinctMax: number;
}

/** Limits for entries that callers can cause without a valid credential, or by exceeding their rate limit. */
const OF_CALLERS: Bounds = { perMinute: 20, perHour: 600, distinctMax: 2000 };
/** Limits for entries that one principal can cause by requesting what they may not do, or what does not exist. */
const OF_PRINCIPAL: Bounds = { perMinute: 100, perHour: 1000, distinctMax: 100 };
/** Principals with their own budget, over all tenants. Further principals share one budget per tenant. */
const PRINCIPALS_MAX = 2000;
/** Addresses counted separately in a minute. A summary lists at most `NAMED_MAX` accounts and addresses. */
const ADDRESSES_MAX = 1000;
const NAMED_MAX = 10;
const LOGIN = 'auth:login';

interface Budget {
  readonly bounds: Bounds;
  minute: number;
  usedByAddress: Map<string, number>;
  hour: number;
  usedInHour: number;
  /** The distinct refusals of this hour. */
  distinct: Set<string>;
  suppressed: number;
  accounts: Set<string>;
  addresses: Set<string>;
  last: AuditEntry;
}

/**
 * Prevents a flood of refused calls from filling the disk: beyond the budget they are counted, and the count is recorded as one entry when the
 * minute is over. Logins, known callers and strangers have separate budgets, and every address has a share, so that noise of one kind does not hide
 * another. A principal has a budget too, whatever the reason for refusal. The first refusal of each kind in an hour is always recorded if it
 * concerns an existing connection, method or person.
 */
export class Refusals {
  readonly #record: (entry: AuditEntry) => Promise<void>;
  readonly #budgets = new Map<string, Budget>();

  constructor(record: (entry: AuditEntry) => Promise<void>) {
    this.#record = record;
  }

  /** `isPrincipal`: the caller was authenticated, then refused. */
  async record(entry: AuditEntry, isPrincipal = false): Promise<void> {
    const budget = this.#budget(entry, isPrincipal);
    if (budget.hour !== hourOf(entry)) {
      budget.hour = hourOf(entry);
      budget.usedInHour = 0;
      budget.distinct.clear();
    }
    if (budget.minute !== minuteOf(entry)) {
      // Set before anything is awaited, so that only one of several concurrent calls starts the new minute.
      budget.minute = minuteOf(entry);
      budget.usedByAddress.clear();
      await this.#summarize(budget, entry);
    }
    budget.last = entry;
    const group = isPrincipal ? '' : addressGroup(entry.ip);
    const address = budget.usedByAddress.size < ADDRESSES_MAX || budget.usedByAddress.has(group) ? group : 'others';
    const used = budget.usedByAddress.get(address) ?? 0;
    const { perMinute, perHour } = budget.bounds;
    const isUsedUp = used >= perMinute || budget.usedInHour >= perHour;
    const isFirst = isAboutSomebody(entry) && isNew(budget, entry);
    if (isUsedUp && !isFirst) {
      budget.suppressed++;
      if (budget.accounts.size < NAMED_MAX && entry.actor_name !== '') budget.accounts.add(entry.actor_name);
      if (budget.addresses.size < NAMED_MAX) budget.addresses.add(entry.ip);
      return;
    }
    budget.usedByAddress.set(address, used + 1);
    budget.usedInHour++;
    if (isFirst) budget.distinct.add(distinctionOf(entry));
    await this.#record(entry);
  }

  #budget(entry: AuditEntry, isPrincipal: boolean): Budget {
    const key = this.#keyOf(entry, isPrincipal);
    let budget = this.#budgets.get(key);
    if (budget === undefined) {
      budget = newBudget(entry, isPrincipal ? OF_PRINCIPAL : OF_CALLERS);
      this.#budgets.set(key, budget);
    }
    return budget;
  }

  #keyOf({ tenant_id, action, actor_id }: AuditEntry, isPrincipal: boolean): string {
    if (isPrincipal) {
      const own = `${tenant_id} principal ${actor_id}`;
      return this.#budgets.has(own) || this.#budgets.size < PRINCIPALS_MAX ? own : `${tenant_id} principals`;
    }
    const kind = action === LOGIN ? 'login' : actor_id === '' ? 'stranger' : 'known';
    return `${tenant_id} ${kind}`;
  }

  /** The last suppressed call represents all of them. The details list how many there were, the accounts and the addresses. */
  async #summarize(budget: Budget, now: AuditEntry): Promise<void> {
    if (budget.suppressed === 0) return;
    const { suppressed, last } = budget;
    const counted = { suppressed, accounts: [...budget.accounts], addresses: [...budget.addresses] };
    const reason = 'further refused calls, counted only';
    budget.suppressed = 0;
    budget.accounts.clear();
    budget.addresses.clear();
    try {
      await this.#record({ ...last, id: newId('audit', now.at), reason, details: JSON.stringify(counted) });
    } catch (error) {
      budget.suppressed += suppressed;
      for (const account of counted.accounts) budget.accounts.add(account);
      for (const address of counted.addresses) budget.addresses.add(address);
      throw error;
    }
  }

  /** Records the counts that no later refusal has recorded yet, and drops the budgets of callers who were not refused in this hour. */
  async flush(now: number): Promise<void> {
    for (const [key, budget] of this.#budgets) {
      await this.#summarize(budget, budget.last);
      if (budget.suppressed === 0 && budget.hour < hourOf({ at: now })) this.#budgets.delete(key);
    }
  }
}

function newBudget(entry: AuditEntry, bounds: Bounds): Budget {
  return {
    bounds,
    minute: minuteOf(entry),
    usedByAddress: new Map(),
    hour: hourOf(entry),
    usedInHour: 0,
    distinct: new Set(),
    suppressed: 0,
    accounts: new Set(),
    addresses: new Set(),
    last: entry,
  };
}

/** At a login, strangers can claim any name. Everywhere else the named account exists. */
function isAboutSomebody({ action, actor_id, actor_name }: AuditEntry): boolean {
  return action !== LOGIN && (actor_id !== '' || actor_name !== '');
}

function isNew({ distinct, bounds }: Budget, entry: AuditEntry): boolean {
  return distinct.size < bounds.distinctMax && !distinct.has(distinctionOf(entry));
}

function distinctionOf({ actor_id, actor_name, actor_key, action, status, reason }: AuditEntry): string {
  return JSON.stringify([actor_id === '' ? [actor_name, actor_key] : actor_id, action, status, reason]);
}

const minuteOf = (entry: Pick<AuditEntry, 'at'>) => Math.floor(entry.at / MINUTE_MS);
const hourOf = (entry: Pick<AuditEntry, 'at'>) => Math.floor(entry.at / HOUR_MS);
