import type { Reader } from '../../kernel/storage/database.ts';
import * as store from './store.ts';

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

/** The time of the oldest entry that was counted; null if none was. */
export async function rolledUpSince(db: Reader, tenantId: string): Promise<number | null> {
  const { first_entry_at = null } = (await store.findProgress(db, tenantId)) ?? {};
  return first_entry_at === null ? null : Number(first_entry_at);
}

/** The last entry that was counted; infinity before the first one is, because counting begins at the newest entries then. */
export async function countedSeq(db: Reader, tenantId: string): Promise<number> {
  const progress = await store.findProgress(db, tenantId);
  return progress === undefined ? Number.POSITIVE_INFINITY : Number(progress.cursor_seq);
}
