import type { AuditEntry } from '../../kernel/audit/entry/entry.ts';
import { HOUR_MS } from '../../kernel/base/clock.ts';

/** One addition to the counts of an hour. */
export interface Count {
  resource: string;
  actor_kind: string;
  actor_id: string;
  /** The address of the caller; empty if the log does not say it. */
  ip: string;
  hour: number;
  reads: number;
  denied: number;
}

/** The resource of what the log does not name one by one. Summaries of the log use it too. */
export const UNNAMED = 'vault/*';

/**
 * Audit actions of endpoints that return a secret's value. `itself`: the entry is the read. `listed`: each value has an entry of its own, as
 * `secrets:read`, so that the entry of the request counts only if it was refused.
 */
export const READING_ACTIONS: Readonly<Record<string, 'itself' | 'listed'>> = {
  'secrets:read': 'itself',
  'eso:read': 'itself',
  'secrets:detokenize': 'itself',
  'secrets:aggregate': 'listed',
  'secrets:export': 'listed',
  'environments:compose': 'listed',
};

const READS_COUNTED = 'secrets:reads_counted';

/** Every use of a connection counts under this name, so that where it is used from can be read without reading what it read. */
export function connectionResource(clientId: string): string {
  return `app-connection/${clientId}`;
}

/** What an entry adds to the counts. Most entries are about something else and add nothing. */
export function countsOf(entry: AuditEntry): Count[] {
  const hour = Math.floor(entry.at / HOUR_MS) * HOUR_MS;
  const base = { actor_kind: entry.actor_kind, actor_id: entry.actor_id, ip: entry.ip, hour, reads: 0, denied: 0 };
  if (entry.action === READS_COUNTED) return unlistedReads(entry, hour);
  const counts: Count[] = [];
  const reading = READING_ACTIONS[entry.action];
  if (reading === 'itself' && entry.decision === 'allow') counts.push({ ...base, resource: entry.resource, reads: 1 });
  if (reading !== undefined && entry.decision === 'deny') {
    const suppressed = suppressedIn(entry);
    // The entry of suppressed refusals names the last of them only.
    if (suppressed > 0) counts.push({ ...base, resource: UNNAMED, denied: suppressed });
    else counts.push({ ...base, resource: entry.resource, denied: 1 });
  }
  if (entry.actor_kind === 'app_connection' && entry.actor_id !== '' && entry.decision === 'allow') {
    counts.push({ ...base, resource: connectionResource(entry.actor_id), reads: 1 });
  }
  return counts;
}

/** How many refusals an entry stands for; 0 if it is one of its own. */
export function suppressedIn(entry: AuditEntry): number {
  return wholeNumber(detailsOf(entry)['suppressed']);
}

/** The newest time at which each user was let in. Who was refused may be somebody else. */
export function lastSeenIn(entries: readonly AuditEntry[]): Map<string, number> {
  const seen = new Map<string, number>();
  for (const { actor_kind, actor_id, decision, at } of entries) {
    if (actor_kind !== 'user' || actor_id === '' || decision !== 'allow') continue;
    seen.set(actor_id, Math.max(at, seen.get(actor_id) ?? 0));
  }
  return seen;
}

/** A vault that does not list its reads has a summary each minute: how many reads by whom, but not of what or from where. */
function unlistedReads(entry: AuditEntry, hour: number): Count[] {
  const { reads, by } = detailsOf(entry);
  const base = { resource: entry.resource, ip: '', hour, denied: 0 };
  const named = (Array.isArray(by) ? by : []).flatMap((reader: Partial<Record<string, unknown>> | null) => {
    const { kind, id, reads: own } = reader ?? {};
    return typeof kind === 'string' && typeof id === 'string' && wholeNumber(own) > 0
      ? [{ ...base, actor_kind: kind, actor_id: id, reads: wholeNumber(own) }]
      : [];
  });
  // Details that were too long for the entry are missing. Then there was at least one read.
  const total = Math.max(wholeNumber(reads), 1);
  const byOthers = total - named.reduce((sum, count) => sum + count.reads, 0);
  return byOthers > 0 ? [...named, { ...base, actor_kind: '', actor_id: '', reads: byOthers }] : named;
}

/** Details that do not parse count as missing: one damaged entry must not stop the counting of all later ones. */
function detailsOf({ details }: AuditEntry): Partial<Record<string, unknown>> {
  try {
    const parsed: unknown = details === '' ? {} : JSON.parse(details);
    return typeof parsed === 'object' && parsed !== null ? parsed : {};
  } catch {
    return {};
  }
}

function wholeNumber(value: unknown): number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : 0;
}
