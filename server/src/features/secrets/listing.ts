import { recheck } from '../../kernel/acceptance.ts';
import { intersection, justAfter, type PathRange, startingWith, union } from '../../kernel/authz/path-ranges.ts';
import { timestamp } from '../../kernel/clock.ts';
import type { Context } from '../../kernel/context.ts';
import type { Query } from '../../kernel/endpoint.ts';
import { invalidField } from '../../kernel/errors.ts';
import { nextTurn } from '../../kernel/fairness/event-loop-turns.ts';
import { cursorAt, openedCursor, type SearchedList, sealedCursor } from '../../kernel/sealed-cursor.ts';
import { decodeCursor } from '../../kernel/storage/cursor.ts';
import { LIST_LIMIT_DEFAULT } from '../../kernel/wire.ts';
import { findVault, isLive, SECRET_IDS_MAX, type VaultRow, vaultNotFound } from '../vaults/index.ts';
import { attributesOf, authorizedSecret, secretResource } from './access.ts';
import type * as contract from './contract.ts';
import { VERSION_MAX } from './contract.ts';
import type { SecretReader } from './reading.ts';
import * as store from './store.ts';
import { metadataOf, summaryOf } from './wire.ts';

/** Rows looked at for one page, at most: what lies among rows the caller may not see is found on a later page. */
const SCAN_MAX = 5000;
const CHUNK_MAX = 500;
const PATH_FORM = /^[A-Za-z0-9._@+=/-]{1,1024}$/;
const PREFIX_FORM = /^[A-Za-z0-9._@+=-][A-Za-z0-9._@+=/-]*$/;
/** Enough for as many of each kind as a detail names. */
const PAGES_FOR_IDS_MAX = 3;

/** What the caller wants to do with each secret found: all of `every`, and at least one of `some`. */
export interface Wanted {
  every: readonly string[];
  some: readonly string[];
}

/** To be listed a secret must be listable, and readable or at least describable. */
export const SEEN: Wanted = { every: ['secrets:list'], some: ['secrets:read', 'secrets:read_metadata'] };

export function reachOf(ctx: Context, vault: string, { every, some }: Wanted): PathRange[] {
  let ranges = union(some.flatMap((action) => ctx.reach(action, vault)));
  for (const action of every) ranges = intersection(ranges, ctx.reach(action, vault));
  return ranges;
}

export function isWithin(
  ctx: Context,
  vault: string,
  row: Pick<store.SecretRow, 'path' | 'environment' | 'tags'>,
  { every, some }: Wanted,
): boolean {
  const resource = secretResource(vault, row.path);
  const attributes = attributesOf(row);
  const may = (action: string) => ctx.may(action, resource, attributes);
  return every.every(may) && some.some(may);
}

/** The vault, if the caller may find anything in it; refused before it is told whether there is such a vault. */
export async function vaultWithin(ctx: Context, name: string, ranges: readonly PathRange[]): Promise<VaultRow> {
  if (ranges.length === 0) ctx.refuseHopeless(`vault/${name}`);
  const row = await findVault(ctx.database.read, ctx.tenantId, name);
  const known = isLive(row) ? row : undefined;
  ctx.authorizeWithin(`vault/${name}`, ranges, known && { environment: known.environment });
  if (known === undefined) throw vaultNotFound();
  return known;
}

export function prefixRange(prefix: string | undefined, pointer = '/query/prefix'): PathRange {
  if (prefix !== undefined && !PREFIX_FORM.test(prefix)) {
    throw invalidField(pointer, 'must be the beginning of a path: letters, digits, . _ @ + = - and /');
  }
  return startingWith(prefix ?? '');
}

export interface PageRequest {
  vault: VaultRow;
  ranges: readonly PathRange[];
  filter: store.ListFilter;
  cursor: string | undefined;
  /** Where the cursor came from, if not in the query. */
  cursorAt?: string;
  limit: number;
  isShown(row: store.ListedRow): boolean;
}

/**
 * A page of what may be seen, reading only where it may lie. The cost is bounded by rows looked at, not by the size of the vault; when
 * the bound is met first, the page is short and its cursor says, sealed, how far the search came.
 */
export async function visiblePage(
  ctx: Context,
  request: PageRequest,
): Promise<{ rows: store.ListedRow[]; next_cursor: string | null }> {
  const { vault, limit } = request;
  const after = await openedCursor(ctx, pathsOf(vault), request.cursor, request.cursorAt);
  const rows: store.ListedRow[] = [];
  let scanned = 0;
  for (const range of request.ranges) {
    let from = after !== null && after >= range.from ? justAfter(after) : range.from;
    while (from < range.to) {
      const chunk = Math.min(CHUNK_MAX, Math.max(limit + 1 - rows.length, 20));
      const found = await store.summariesIn(
        ctx.database.read,
        ctx.tenantId,
        vault.vault_id,
        { from, to: range.to },
        request.filter,
        chunk,
      );
      for (const row of found) {
        if (!request.isShown(row)) continue;
        if (rows.length === limit) return { rows, next_cursor: cursorAt(rows.at(-1)?.path ?? '') };
        rows.push(row);
      }
      const last = found.at(-1);
      if (last === undefined || found.length < chunk) break;
      scanned += found.length;
      if (scanned >= SCAN_MAX) return { rows, next_cursor: await sealedCursor(ctx, pathsOf(vault), last.path) };
      from = justAfter(last.path);
      // On SQLite nothing else here lets others have a turn.
      await nextTurn(ctx.tenantId);
      await recheck(ctx);
    }
  }
  return { rows, next_cursor: null };
}

/** Where a page of this vault's secrets can end. */
function pathsOf(vault: VaultRow): SearchedList {
  return { name: vault.vault_id, form: PATH_FORM };
}

export async function list(ctx: Context, vaultName: string, query: Query<typeof contract.listSecrets>) {
  const ranges = reachOf(ctx, vaultName, SEEN);
  const vault = await vaultWithin(ctx, vaultName, ranges);
  const page = await visiblePage(ctx, {
    vault,
    ranges: intersection(ranges, [prefixRange(query.prefix)]),
    filter: { type: query.type, tags: query.tags },
    cursor: query.cursor,
    limit: query.limit ?? LIST_LIMIT_DEFAULT,
    isShown: (row) => isWithin(ctx, vaultName, row, SEEN),
  });
  return { secrets: page.rows.map(summaryOf), next_cursor: page.next_cursor };
}

/** For a vault's detail. */
export async function secretIds(ctx: Context, vault: VaultRow) {
  const ids = { standard: [] as string[], fortress: [] as string[] };
  let isTruncated = false;
  const ranges = reachOf(ctx, vault.name, SEEN);
  const isShown = (row: store.SummaryRow) => isWithin(ctx, vault.name, row, SEEN);
  let cursor: string | undefined;
  for (let pages = 0; pages < PAGES_FOR_IDS_MAX && !isTruncated; pages++) {
    const page = await visiblePage(ctx, { vault, ranges, filter: {}, cursor, limit: SECRET_IDS_MAX, isShown });
    for (const row of page.rows) {
      const list = ids[row.protection];
      if (list.length < SECRET_IDS_MAX) list.push(row.secret_id);
      else isTruncated = true;
    }
    if (page.next_cursor === null) break;
    cursor = page.next_cursor;
    isTruncated ||= pages === PAGES_FOR_IDS_MAX - 1;
  }
  return { secret_ids: ids.standard, fortress_secret_ids: ids.fortress, secret_ids_truncated: isTruncated };
}

export async function listVersions(
  ctx: Context,
  reader: SecretReader,
  vaultName: string,
  path: string,
  query: Query<typeof contract.listVersions>,
) {
  const row = await authorizedSecret(ctx, reader, vaultName, path);
  const [before] = decodeCursor(query.cursor, /^[1-9]\d{0,8}$/) ?? [];
  const page = await store.listVersions(
    ctx.database.read,
    ctx.tenantId,
    row.secret_id,
    before === undefined ? VERSION_MAX : Number(before),
    query.limit ?? LIST_LIMIT_DEFAULT,
  );
  const isShown = ({ tags }: { tags: string }) =>
    ctx.may(ctx.declaration.permission, secretResource(vaultName, path), attributesOf({ ...row, tags }));
  return {
    versions: page.rows.filter(isShown).map((version) => ({
      version: version.version,
      operation: version.operation,
      reason: version.reason,
      restored_from: version.restored_from,
      author: { kind: version.author_kind, id: version.author_id, name: version.author_name },
      metadata: metadataOf(version),
      created_at: timestamp(version.created_at),
      is_current: version.version === row.version,
    })),
    next_cursor: page.next_cursor,
  };
}
