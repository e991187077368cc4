import { filterInSlices } from '../fairness/time-slice.ts';
import { encodeCursor, type Page } from '../wire/cursor.ts';
import type { Context } from './context.ts';
import { openedCursor, type SearchedList, sealedCursor } from './sealed-cursor.ts';

/** How policies name the items of a list. */
export interface Items<Row> {
  /**
   * The actions that show an item. A list that also shows items to callers who may list but not read them has both actions: an allow on any of them
   * grants; a deny on any of them wins.
   */
  permissions: readonly string[];
  /** Every alias of an item as a resource. */
  resources(row: Row): readonly string[];
}

/**
 * Removes the items that the caller may not read, so that a list reveals no more than reading its items one by one. The page gets shorter, and if
 * its last item was removed, the cursor is sealed, because a cursor reveals its contents.
 */
export async function visiblePage<Row>(
  ctx: Context,
  page: Page<Row>,
  { permissions, resources }: Items<Row>,
): Promise<Page<Row>> {
  const rows = await filterInSlices(ctx.tenantId, page.rows, (row) => ctx.access.mayByAny(permissions, resources(row)));
  const isLastShown = rows.at(-1) === page.rows.at(-1);
  if (page.next_cursor === null || isLastShown) return { rows, next_cursor: page.next_cursor };
  return { rows, next_cursor: await sealedCursor(ctx, listOf(ctx), page.next_cursor) };
}

/** The cursor as the list created it, whether it was sealed or not. */
export async function plainCursor(ctx: Context, cursor: string | undefined): Promise<string | undefined> {
  if (cursor === undefined || !cursor.startsWith(SEALED_START)) return cursor;
  return (await openedCursor(ctx, listOf(ctx), cursor)) ?? undefined;
}
/** The first 9 bytes, which are exactly 12 base64 characters, so that every sealed cursor begins with this text. */
const SEALED_START = encodeCursor(['sealed']).slice(0, 12);

function listOf({ declaration }: Context): SearchedList {
  return { name: declaration.name, form: /^[A-Za-z0-9_-]+$/ };
}
