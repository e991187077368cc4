import { recheck } from '../../kernel/acceptance.ts';
import type { Context } from '../../kernel/context.ts';
import { nextTurn } from '../../kernel/fairness/event-loop-turns.ts';
import { cursorAt, openedCursor, type SearchedList, sealedCursor } from '../../kernel/sealed-cursor.ts';

/** Rows looked at for one page, at most: what lies among rows the caller may not see is found on a later page. */
const SCAN_MAX = 5000;
const CHUNK_MIN = 20;
const CHUNK_MAX = 500;

/** Rows in an order of their own, each at a place by which the next ones are found. */
export interface Scanned<Row> {
  list: SearchedList;
  /** Those after a place, in order; all of them if there are fewer than `limit`. */
  rowsAfter(place: string | null, limit: number): Promise<Row[]>;
  placeOf(row: Row): string;
}

export interface ScanRequest<Row> {
  cursor: string | undefined;
  /** Where the cursor came from, if not in the query. */
  cursorAt?: string;
  limit: number;
  isShown(row: Row): boolean;
}

/**
 * A page of what may be seen. The cost is bounded by rows looked at, not by the size of the vault; when the bound is met first, the page
 * is short and its cursor says, sealed, how far the search came.
 */
export async function scannedPage<Row>(
  ctx: Context,
  { list, rowsAfter, placeOf }: Scanned<Row>,
  { cursor, cursorAt: pointer, limit, isShown }: ScanRequest<Row>,
): Promise<{ rows: Row[]; next_cursor: string | null }> {
  const rows: Row[] = [];
  let place = await openedCursor(ctx, list, cursor, pointer);
  for (let scanned = 0; ; ) {
    const chunk = Math.min(CHUNK_MAX, Math.max(limit + 1 - rows.length, CHUNK_MIN));
    const found = await rowsAfter(place, chunk);
    for (const row of found) {
      if (!isShown(row)) continue;
      const last = rows.at(-1);
      if (rows.length === limit && last !== undefined) return { rows, next_cursor: cursorAt(placeOf(last)) };
      rows.push(row);
    }
    const last = found.at(-1);
    if (last === undefined || found.length < chunk) return { rows, next_cursor: null };
    place = placeOf(last);
    scanned += found.length;
    if (scanned >= SCAN_MAX) return { rows, next_cursor: await sealedCursor(ctx, list, place) };
    await otherTurns(ctx);
  }
}

/** Whether there is a row that may be seen, however many that may not be lie before it. */
export async function isAnyShown<Row>(
  ctx: Context,
  { rowsAfter, placeOf }: Scanned<Row>,
  isShown: (row: Row) => boolean,
): Promise<boolean> {
  for (let place: string | null = null; ; ) {
    const found: Row[] = await rowsAfter(place, CHUNK_MAX);
    if (found.some(isShown)) return true;
    const last = found.at(-1);
    if (last === undefined || found.length < CHUNK_MAX) return false;
    place = placeOf(last);
    await otherTurns(ctx);
  }
}

/** On SQLite nothing else here lets others have a turn. */
async function otherTurns(ctx: Context): Promise<void> {
  await nextTurn(ctx.tenantId);
  await recheck(ctx);
}
