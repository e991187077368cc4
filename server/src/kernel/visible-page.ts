import type { Context } from './context.ts';
import { openedCursor, type SearchedList, sealedCursor } from './sealed-cursor.ts';
import { encodeCursor, type Page } from './storage/cursor.ts';

/** What the items of a list are to policies. */
export interface Items<Row> {
  /**
   * What reading one takes. A list that shows items also to who may list but not read them names both: to be allowed one is enough, and
   * so is to be denied one.
   */
  permissions: readonly string[];
  /** Every name of the resource that an item is. */
  resources(row: Row): readonly string[];
}

/**
 * The page without what the caller may not read: a list tells no more than its items would one by one. The page gets shorter by that, and
 * where it ended with something left out, its cursor is sealed, since a cursor tells what it holds.
 */
export async function readable<Row>(
  ctx: Context,
  page: Page<Row>,
  { permissions, resources }: Items<Row>,
): Promise<Page<Row>> {
  const rows = page.rows.filter((row) => ctx.mayByAny(permissions, resources(row)));
  const isLastShown = rows.at(-1) === page.rows.at(-1);
  if (page.next_cursor === null || isLastShown) return { rows, next_cursor: page.next_cursor };
  return { rows, next_cursor: await sealedCursor(ctx, listOf(ctx), page.next_cursor) };
}

/** The cursor as the list itself made it, sealed or not. */
export async function plainCursor(ctx: Context, cursor: string | undefined): Promise<string | undefined> {
  if (cursor === undefined || !cursor.startsWith(SEALED_START)) return cursor;
  return (await openedCursor(ctx, listOf(ctx), cursor)) ?? undefined;
}
/** Nine bytes, so that the base64 of all that begins with them begins so. */
const SEALED_START = encodeCursor(['sealed']).slice(0, 12);

function listOf({ declaration }: Context): SearchedList {
  return { name: declaration.name, form: /^[A-Za-z0-9_-]+$/ };
}
