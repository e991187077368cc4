import { nextTurn } from '../../../kernel/fairness/event-loop-turns.ts';
import { someInSlices, TimeSlice } from '../../../kernel/fairness/time-slice.ts';
import { recheck } from '../../../kernel/request/acceptance.ts';
import type { Context } from '../../../kernel/request/context.ts';
import { cursorAt, openedCursor, type SearchedList, sealedCursor } from '../../../kernel/request/sealed-cursor.ts';

/** Rows scanned for one page, at most. Visible rows behind many hidden ones appear on a later page. */
const SCAN_MAX = 5000;
const CHUNK_MIN = 20;
const CHUNK_MAX = 500;

/** Rows in a fixed order, each with a position after which the next ones are loaded. */
export interface Scanned<Row> {
  list: SearchedList;
  /** The rows after a position, in order. Fewer than `limit` means the end. */
  rowsAfter(position: string | null, limit: number): Promise<Row[]>;
  positionOf(row: Row): string;
}

export interface ScanRequest<Row> {
  cursor: string | undefined;
  /** JSON pointer of the cursor, if it is not in the query string. */
  cursorAt?: string;
  limit: number;
  isShown(row: Row): boolean;
}

/**
 * Returns a page of the rows the caller may see. The cost is bounded by the rows scanned, not by the size of the vault. If the bound is reached
 * first, the page is short and its cursor holds the scan position, encrypted.
 */
export async function scannedPage<Row>(
  ctx: Context,
  { list, rowsAfter, positionOf }: Scanned<Row>,
  { cursor, cursorAt: pointer, limit, isShown }: ScanRequest<Row>,
): Promise<{ rows: Row[]; next_cursor: string | null }> {
  const rows: Row[] = [];
  const slice = TimeSlice.of(ctx.tenantId);
  let position = await openedCursor(ctx, list, cursor, pointer);
  for (let scanned = 0; ; ) {
    const chunk = Math.min(CHUNK_MAX, Math.max(limit + 1 - rows.length, CHUNK_MIN));
    const found = await rowsAfter(position, chunk);
    for (const row of found) {
      const pause = slice.pause();
      if (pause !== undefined) await pause;
      if (!isShown(row)) continue;
      const last = rows.at(-1);
      if (rows.length === limit && last !== undefined) return { rows, next_cursor: cursorAt(positionOf(last)) };
      rows.push(row);
    }
    const last = found.at(-1);
    if (last === undefined || found.length < chunk) return { rows, next_cursor: null };
    position = positionOf(last);
    scanned += found.length;
    if (scanned >= SCAN_MAX) return { rows, next_cursor: await sealedCursor(ctx, list, position) };
    await otherTurns(ctx);
  }
}

/** Whether there is a row the caller may see, however many hidden ones precede it. */
export async function isAnyShown<Row>(
  ctx: Context,
  { rowsAfter, positionOf }: Scanned<Row>,
  isShown: (row: Row) => boolean,
): Promise<boolean> {
  for (let position: string | null = null; ; ) {
    const found: Row[] = await rowsAfter(position, CHUNK_MAX);
    if (await someInSlices(ctx.tenantId, found, isShown)) return true;
    const last = found.at(-1);
    if (last === undefined || found.length < CHUNK_MAX) return false;
    position = positionOf(last);
    await otherTurns(ctx);
  }
}

/** On SQLite nothing else in these loops yields to the event loop. */
async function otherTurns(ctx: Context): Promise<void> {
  await nextTurn(ctx.tenantId);
  await recheck(ctx);
}
