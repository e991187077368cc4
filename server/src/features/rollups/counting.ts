import { segmentsFrom, windowEnd } from '../../kernel/audit/chain/chain-walk.ts';
import type { DamagedSegments } from '../../kernel/audit/chain/damaged-segments.ts';
import type { StoredEntry } from '../../kernel/audit/chain/segment.ts';
import { DAY_MS } from '../../kernel/base/clock.ts';
import { idAtTime, timeOfId } from '../../kernel/base/ids.ts';
import { nextTurn } from '../../kernel/fairness/event-loop-turns.ts';
import { TimeSlice } from '../../kernel/fairness/time-slice.ts';
import type { Reader } from '../../kernel/storage/database.ts';
import { findHead, segmentHolding, seqBefore } from '../audit/index.ts';
import { findUsers } from '../users/storage/index.ts';
import { putActivity, type UserActivityRow } from './activity-store.ts';
import { boundedRows } from './bounded-rows.ts';
import { type Count, countsOf, lastSeenIn, UNNAMED } from './counted-entries.ts';
import type { Countries } from './countries.ts';
import { ActivityCounts, type IsChange } from './hourly-activity.ts';
import * as activityStore from './hourly-activity-store.ts';
import type { RollupKernel } from './links.ts';
import * as store from './store.ts';

/** Detectors look back 30 days; five more remain for those that scan late. */
export const RETENTION_DAYS = 35;

type Position = Pick<store.ProgressRow, 'cursor_seq' | 'first_entry_at'>;

/** Counts the entries of one tenant's log, step by step. A step is one transaction, which also moves the cursor. */
export class Counting {
  readonly #kernel: RollupKernel;
  readonly #countries: Countries;
  readonly #isChange: IsChange;

  constructor(kernel: RollupKernel, countries: Countries, isChange: IsChange) {
    this.#kernel = kernel;
    this.#countries = countries;
    this.#isChange = isChange;
  }

  /** Counts everything that is recorded when it is called. */
  async catchUp(tenantId: string, signal: AbortSignal): Promise<void> {
    await this.#kernel.audit.link();
    await this.advance(tenantId, signal);
  }

  /** Counts until `stepsMax` steps are done or the head of the log is reached; resolves to whether it was reached. */
  async advance(tenantId: string, signal: AbortSignal, stepsMax = Number.POSITIVE_INFINITY): Promise<boolean> {
    const { read } = this.#kernel.database.forTenant(tenantId, 'bulk');
    // What is recorded meanwhile is for the next time, or a busy tenant would never be done.
    const headSeq = Number((await findHead(read, tenantId))?.seq ?? 0);
    for (let step = 0; step < stepsMax && !signal.aborted; step++) {
      const position = (await store.findProgress(read, tenantId)) ?? (await this.begin(tenantId));
      const next = await entriesAfter(read, this.#kernel.damagedSegments, tenantId, {
        after: Number(position.cursor_seq),
        headSeq,
      });
      if (next === null) return true;
      await nextTurn(tenantId);
      await this.#count(tenantId, position, next);
      await nextTurn(tenantId);
    }
    return false;
  }

  /** Creates the row of a tenant. Entries that are too old to be of use are left out, by the clock or the newest entry, whichever is earlier. */
  async begin(tenantId: string): Promise<store.ProgressRow> {
    const { database, clock } = this.#kernel;
    const own = database.forTenant(tenantId, 'bulk');
    const newest = await segmentHolding(own.read, tenantId, Number((await findHead(own.read, tenantId))?.seq ?? 0));
    const now = Math.min(clock.now(), newest === undefined ? Number.POSITIVE_INFINITY : timeOfId(newest.id));
    const oldest = idAtTime('audit', now - RETENTION_DAYS * DAY_MS);
    const row = {
      tenant_id: tenantId,
      cursor_seq: await seqBefore(own.read, tenantId, oldest),
      first_entry_at: null,
      due_at: 0,
      lease_owner: null,
      lease_until: 0,
    };
    return own.transaction(async (tx) => {
      await store.insertProgress(tx, row);
      return (await store.findProgress(tx, tenantId)) ?? row;
    });
  }

  /** If another node has counted these entries meanwhile, nothing is changed, and the next step reads on from where it is. */
  async #count(tenantId: string, position: Position, { entries, lastSeq }: Entries): Promise<void> {
    const database = this.#kernel.database.forTenant(tenantId, 'bulk');
    const rows = await this.#rowsOf(database.read, tenantId, entries);
    const activity = await this.#activityOf(database.read, tenantId, entries);
    const happened = new ActivityCounts(this.#isChange);
    for (const entry of entries) happened.add(entry);
    const times = entries.map(({ at }) => at);
    const seen = Math.min(...times, position.first_entry_at ?? Number.POSITIVE_INFINITY);
    const first_entry_at = Number.isFinite(seen) ? seen : null;
    await database.transaction(async (tx) => {
      const from = { tenant_id: tenantId, cursor_seq: position.cursor_seq };
      if (!(await store.moveCursor(tx, from, { cursor_seq: lastSeq, first_entry_at }))) return;
      await store.addCounts(tx, await boundedRows(tx, tenantId, rows));
      await putActivity(tx, activity);
      await activityStore.addActivity(tx, hourRows(tenantId, happened));
      await activityStore.addActors(tx, tenantId, actorRows(tenantId, happened));
    });
  }

  /** When each user who is still there was last seen in these entries. */
  async #activityOf(db: Reader, tenantId: string, entries: readonly StoredEntry[]): Promise<UserActivityRow[]> {
    const seen = lastSeenIn(entries);
    const users = await findUsers(db, tenantId, [...seen.keys()]);
    return users.map(({ user_id }) => ({ tenant_id: tenantId, user_id, last_seen_at: seen.get(user_id) ?? 0 }));
  }

  /** Equal keys are added up, because one statement cannot change a row twice. */
  async #rowsOf(db: Reader, tenantId: string, entries: readonly StoredEntry[]): Promise<store.HourlyCountRow[]> {
    const counts = await withKnownResources(db, tenantId, entries.flatMap(countsOf));
    const rows = new Map<string, store.HourlyCountRow>();
    const countries = new Map<string, string>();
    for (const { resource, hour, actor_kind, actor_id, ip, reads, denied } of counts) {
      const country = countries.get(ip) ?? this.#countries.of(ip) ?? '';
      countries.set(ip, country);
      const row = { tenant_id: tenantId, resource, hour_start: hour, actor_kind, actor_id, country, reads, denied };
      const key = JSON.stringify([resource, hour, actor_kind, actor_id, country]);
      const same = rows.get(key);
      if (same === undefined) rows.set(key, row);
      else {
        same.reads += reads;
        same.denied += denied;
      }
    }
    return [...rows.values()];
  }
}

function hourRows(tenant_id: string, { byHour }: ActivityCounts): activityStore.HourlyActivityRow[] {
  return [...byHour].map(([hour_start, activity]) => ({ tenant_id, hour_start, ...activity }));
}

function actorRows(tenant_id: string, { actors }: ActivityCounts): activityStore.HourlyActorRow[] {
  return [...actors.values()].map(({ hour, ...actor }) => ({ tenant_id, hour_start: hour, ...actor }));
}

interface Entries {
  /** Without those that were purged or are in a damaged segment. */
  entries: StoredEntry[];
  lastSeq: number;
}

/** The entries after a position, to the end of a window of the chain; null if the log has no more. What is stored beyond the head is not part of it. */
export async function entriesAfter(
  db: Reader,
  damaged: DamagedSegments,
  tenantId: string,
  { after: afterSeq, headSeq }: { after: number; headSeq: number },
): Promise<Entries | null> {
  if (afterSeq >= headSeq) return null;
  const start = await segmentHolding(db, tenantId, afterSeq + 1);
  let from = Math.max(1, Number(start?.first_seq ?? afterSeq + 1));
  const slice = TimeSlice.of(tenantId);
  for (;;) {
    const segments = await segmentsFrom(db, tenantId, from);
    const last = segments.at(-1);
    if (last === undefined) return null;
    const found: Entries = { entries: [], lastSeq: afterSeq };
    for (const segment of segments) {
      // A segment of an import has a thousand entries, and parsing many of them would take too long a turn.
      await slice.pause();
      for (const [i, entry] of damaged.entriesIn(segment).entries()) {
        const seq = Number(segment.first_seq) + i;
        if (seq <= afterSeq || seq > headSeq) continue;
        if (entry !== null) found.entries.push(entry);
        found.lastSeq = seq;
      }
    }
    if (found.lastSeq > afterSeq) return found;
    from = windowEnd(Number(last.first_seq));
  }
}

const SECRET = /^vault\/([^/]+)(?:\/(.+))?$/s;

/**
 * A caller can be refused for any name that they make up. Such refusals count for the vault, or for none, so that nobody can fill the table with
 * names.
 */
async function withKnownResources(db: Reader, tenantId: string, counts: readonly Count[]): Promise<Count[]> {
  if (counts.every(({ denied }) => denied === 0)) return [...counts];
  const named = new Map<string, { vault: string; path: string | null }>();
  for (const { resource, denied } of counts) {
    const [, vault, path = null] = SECRET.exec(resource) ?? [];
    if (denied > 0 && vault !== undefined) named.set(resource, { vault, path });
  }
  const known = await store.existingResources(db, tenantId, [...named.values()]);
  return counts.map((count) => {
    if (count.denied === 0 || known.has(count.resource)) return count;
    const vault = `vault/${named.get(count.resource)?.vault}`;
    return { ...count, resource: known.has(vault) ? vault : UNNAMED };
  });
}
