import { DAY_MS, HOUR_MS } from '../../kernel/base/clock.ts';
import { nextTurn } from '../../kernel/fairness/event-loop-turns.ts';
import type { Database, Reader } from '../../kernel/storage/database.ts';
import { type CountCursor, type HourlyCount, hourlyCounts, rolledUpSince } from '../rollups/index.ts';
import { secretOfResource } from '../secrets/index.ts';
import { idsByPath } from '../secrets/storage/index.ts';
import { isLive } from '../vaults/index.ts';
import { findVault } from '../vaults/storage/index.ts';
import { type SecretReadRow, storeReads } from './read-store.ts';

const COUNTS_AT_ONCE = 1000;
/** Hourly counts are stored for 35 days; what is older cannot be learned any more. */
const COUNTED_FOR_MS = 34 * DAY_MS;

/** For which time it is known who read what. */
export interface KnownReads {
  /** Null until the first time. */
  since: number | null;
  until: number;
}

/** Learns from the hourly counts who read which secret last, in pages; null if it was interrupted. */
export async function learnReads(
  database: Database,
  tenantId: string,
  { known, now }: { known: KnownReads; now: number },
  signal: AbortSignal,
): Promise<KnownReads | null> {
  const oldest = now - COUNTED_FOR_MS;
  const first = await rolledUpSince(database.read, tenantId);
  if (first === null) return known;
  const isGapless = known.since !== null && known.until >= oldest;
  const from = isGapless ? known.until : Math.max(first, oldest);
  let after: CountCursor | undefined;
  do {
    if (signal.aborted) return null;
    const page = await hourlyCounts(database.read, tenantId, {
      fromHour: hourOf(from),
      toHour: now,
      ...(after !== undefined && { after }),
      limit: COUNTS_AT_ONCE,
    });
    const rows = await readsOf(database.read, tenantId, page.rows);
    await database.transaction((tx) => storeReads(tx, rows));
    after = page.next ?? undefined;
    await nextTurn(tenantId);
  } while (after !== undefined);
  // The present hour is not over: its reads are learned again.
  return { since: isGapless ? known.since : from, until: hourOf(now) };
}

/** Resources are names, which may be given to another secret later, so that reads are stored under the id that the name has now. */
async function readsOf(db: Reader, tenantId: string, counts: readonly HourlyCount[]): Promise<SecretReadRow[]> {
  const byVault = Map.groupBy(
    counts.flatMap((count) => {
      const read = count.reads === 0 ? null : secretOfResource(count.resource);
      return read === null ? [] : [{ ...read, count }];
    }),
    ({ vault }) => vault,
  );
  const rows = new Map<string, SecretReadRow>();
  for (const [name, read] of byVault) {
    const vault = await findVault(db, tenantId, name);
    if (!isLive(vault)) continue;
    const ids = await idsByPath(db, tenantId, vault.vault_id, [...new Set(read.map(({ path }) => path))]);
    for (const { path, count } of read) {
      const secret_id = ids.get(path);
      if (secret_id === undefined) continue;
      const { actor_kind, actor_id, hour } = count;
      const key = `${secret_id} ${actor_kind} ${actor_id}`;
      const last_read_at = Math.max(hour, rows.get(key)?.last_read_at ?? 0);
      rows.set(key, { tenant_id: tenantId, secret_id, actor_kind, actor_id, last_read_at });
    }
  }
  return [...rows.values()];
}

function hourOf(time: number): number {
  return Math.floor(time / HOUR_MS) * HOUR_MS;
}
