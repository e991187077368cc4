import type { Tx } from '../../kernel/storage/database.ts';
import { UNNAMED } from './counted-entries.ts';
import { type CountKey, type HourlyCountRow, keysInHour, rowsByHour } from './store.ts';

/** Rows of one tenant and hour. What would make more is counted in one row, so that the total stays right. */
export const ROWS_PER_HOUR_MAX = 20_000;

/** The rows to add, of which at most so many are new that no hour gets too many. */
export async function boundedRows(
  tx: Tx,
  tenantId: string,
  rows: readonly HourlyCountRow[],
): Promise<HourlyCountRow[]> {
  const byHour = Map.groupBy(rows, ({ hour_start }) => hour_start);
  const stored = await rowsByHour(tx, tenantId, [...byHour.keys()]);
  const bounded: HourlyCountRow[] = [];
  for (const [hour, ofHour] of byHour) {
    const room = Math.max(0, ROWS_PER_HOUR_MAX - (stored.get(hour) ?? 0));
    if (ofHour.length <= room) bounded.push(...ofHour);
    else bounded.push(...(await withinRoom(tx, { tenantId, hour }, ofHour, room)));
  }
  return bounded;
}

async function withinRoom(
  tx: Tx,
  { tenantId, hour }: { tenantId: string; hour: number },
  rows: readonly HourlyCountRow[],
  room: number,
): Promise<HourlyCountRow[]> {
  const resources = [...new Set(rows.map(({ resource }) => resource))];
  const stored = new Set((await keysInHour(tx, tenantId, hour, resources)).map(keyText));
  const within: HourlyCountRow[] = [];
  const rest = { ...NOBODY, tenant_id: tenantId, hour_start: hour, reads: 0, denied: 0 };
  let left = room;
  for (const row of rows) {
    if (keyText(row) === keyText(rest)) {
      rest.reads += row.reads;
      rest.denied += row.denied;
    } else if (stored.has(keyText(row)) || left-- > 0) within.push(row);
    else {
      // The uses of a connection are counted beside the reads that they consist of, so they are not added to reads.
      rest.reads += row.resource.startsWith('vault/') ? row.reads : 0;
      rest.denied += row.denied;
    }
  }
  return [...within, rest];
}

const NOBODY = { resource: UNNAMED, actor_kind: '', actor_id: '', country: '' };

function keyText({ resource, hour_start, actor_kind, actor_id, country }: CountKey): string {
  return JSON.stringify([resource, Number(hour_start), actor_kind, actor_id, country]);
}
