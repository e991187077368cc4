import { DAY_MS, HOUR_MS } from '../../kernel/platform/clock.ts';
import type { Feature } from '../../kernel/platform/feature.ts';
import type { Kernel } from '../../kernel/platform/kernel.ts';
import { perKernel } from '../../kernel/platform/wiring.ts';
import type { Reader } from '../../kernel/storage/database.ts';
import { SECOND_CHECK_MS } from '../../kernel/time/clock-guard.ts';
import { earlier } from '../../kernel/time/cutoff.ts';
import { deleteActivity, lastSeenOf } from './activity-store.ts';
import { Counting, KEPT_DAYS } from './counting.ts';
import { Countries } from './countries.ts';
import { rollupWorker } from './rollup-worker.ts';
import * as store from './store.ts';

export { connectionResource, UNNAMED } from './counted-entries.ts';

/** What one actor did with one resource in one hour, from one country. */
export interface HourlyCount {
  /**
   * `vault/<vault>/<path>` as the audit log names a secret; `vault/<vault>` for reads that the vault does not list and for refusals of names that
   * do not exist; `vault/*` for what the log does not name; `connectionResource(clientId)` for every use of a connection, which its reads of secrets
   * are part of.
   */
  resource: string;
  actor_kind: string;
  actor_id: string;
  /** Empty if unknown. */
  country: string;
  /** Epoch milliseconds of the start of the hour. */
  hour: number;
  reads: number;
  denied: number;
}

/** Where a page ended. */
export type CountCursor = store.CountKey;

export interface CountOptions {
  /** The first hour. */
  fromHour: number;
  /** The first hour that is too late. */
  toHour: number;
  resource?: string;
  after?: CountCursor;
  limit: number;
}

/** The counts of these hours among the next `limit`, ordered by resource, then by hour. `next` is null at the end. */
export async function hourlyCounts(
  db: Reader,
  tenantId: string,
  { fromHour, toHour, resource, after, limit }: CountOptions,
): Promise<{ rows: HourlyCount[]; next: CountCursor | null }> {
  const filter = { ...(resource !== undefined && { resource }), ...(after !== undefined && { after }) };
  const found = await store.listCounts(db, tenantId, filter, limit);
  const rows = found.map(countOf).filter(({ hour }) => hour >= fromHour && hour < toHour);
  return { rows, next: found.length < limit ? null : (found.at(-1) ?? null) };
}

function countOf({ resource, actor_kind, actor_id, country, hour_start, reads, denied }: store.HourlyCountRow) {
  return {
    resource,
    actor_kind,
    actor_id,
    country,
    hour: Number(hour_start),
    reads: Number(reads),
    denied: Number(denied),
  };
}

const countriesOf = perKernel((kernel) => new Countries(kernel));
const countingOf = perKernel((kernel) => new Counting(kernel, countriesOf(kernel)));

/** The country of an address, as two capital letters; null if it has none or none is known. */
export function countryOf(kernel: Kernel, ip: string): string | null {
  return countriesOf(kernel).of(ip);
}

/** Counts everything that is recorded when it is called. */
export async function catchUp(kernel: Kernel, tenantId: string, signal: AbortSignal): Promise<void> {
  await kernel.audit.link();
  await countingOf(kernel).advance(tenantId, signal);
}

/** The time of the oldest entry that was counted; null if none was. */
export async function rolledUpSince(db: Reader, tenantId: string): Promise<number | null> {
  const { first_entry_at = null } = (await store.findProgress(db, tenantId)) ?? {};
  return first_entry_at === null ? null : Number(first_entry_at);
}

/** The last entry that was counted; infinity before the first one is, because counting begins at the newest entries then. */
async function countedSeq(db: Reader, tenantId: string): Promise<number> {
  const progress = await store.findProgress(db, tenantId);
  return progress === undefined ? Number.POSITIVE_INFINITY : Number(progress.cursor_seq);
}

const TENANTS_AT_ONCE = 100;

export function rollupsFeature(kernel: Kernel): Feature {
  const worker = rollupWorker(kernel, countingOf(kernel));
  return {
    name: 'rollups',
    endpoints: [],
    jobs: [
      {
        name: 'delete-old-counts',
        intervalMs: HOUR_MS,
        // Counts are of use for 35 days only, and after a longer pause of the service all of them are older.
        removes: { secondCheckMs: SECOND_CHECK_MS, share: null },
        run: async (signal, cutoff) => {
          const before = earlier(cutoff, KEPT_DAYS * DAY_MS);
          const { database } = kernel;
          for (let after = ''; !signal.aborted; ) {
            const tenants = await store.tenantsWithCounts(database.read, after, TENANTS_AT_ONCE);
            for (const tenantId of tenants) {
              const own = database.forTenant(tenantId, 'bulk');
              while (!signal.aborted && (await own.transaction((tx) => store.deleteOldCounts(tx, tenantId, before))));
            }
            const last = tenants.at(-1);
            if (last === undefined || tenants.length < TENANTS_AT_ONCE) return;
            after = last;
          }
        },
      },
    ],
    provides: { countedSeq, lastSeenOf },
    removals: { user: deleteActivity },
    started: () => worker.start(),
    settled: () => worker.stop(),
  };
}
