import { intersection, isIn, justAfter, type PathRange, startingWith } from '../../kernel/authz/path-ranges.ts';
import { timestamp } from '../../kernel/clock.ts';
import type { Context } from '../../kernel/context.ts';
import type { Query } from '../../kernel/endpoint.ts';
import { invalidField } from '../../kernel/errors.ts';
import { decodeCursor } from '../../kernel/storage/cursor.ts';
import { LIST_LIMIT_DEFAULT } from '../../kernel/wire.ts';
import { findVault, isLive, SECRET_IDS_MAX, type VaultRow, vaultAttributes, vaultNotFound } from '../vaults/index.ts';
import { attributesOf, authorizedSecret, NO_VAULT, secretResource } from './access.ts';
import type * as contract from './contract.ts';
import { type ListedSecret, VERSION_MAX } from './contract.ts';
import { type DeletedSummaryRow, deletedSummaries } from './deleted-store.ts';
import type { SecretReader } from './reading.ts';
import { isAnyShown, type Scanned, type ScanRequest, scannedPage } from './scanned-page.ts';
import * as store from './store.ts';
import { metadataOf, summaryOf } from './wire.ts';

const PATH_FORM = /^[A-Za-z0-9._@+=/-]{1,1024}$/;
const NUMBER_FORM = /^[1-9]\d{0,15}$/;
const PREFIX_FORM = /^[A-Za-z0-9._@+=-][A-Za-z0-9._@+=/-]*$/;
/** Enough pages to fill both lists of ids. */
const PAGES_FOR_IDS_MAX = 3;

/** Actions that the caller must all be allowed on each secret found. */
export type Wanted = readonly string[];

/** To see that a secret exists, and its path. */
export const SEEN: Wanted = ['secrets:list'];

export function reachOf(ctx: Context, vault: string, wanted: Wanted): PathRange[] {
  const ranges = wanted.map((action) => ctx.allowedRanges(action, vault));
  return ranges.reduce((left, right) => intersection(left, right));
}

export function isWithin(
  ctx: Context,
  vault: string,
  row: Pick<store.SecretRow, 'path' | 'environment' | 'tags'>,
  wanted: Wanted,
): boolean {
  const resource = secretResource(vault, row.path);
  const attributes = attributesOf(row);
  return wanted.every((action) => ctx.may(action, resource, attributes));
}

/** A caller sees the description, owner and tags of a secret if they may read the secret or its metadata. */
function isDescribable(ctx: Context, vault: string, row: store.SummaryRow): boolean {
  return DESCRIBING.some((action) => isWithin(ctx, vault, row, [action]));
}
const DESCRIBING = ['secrets:read', 'secrets:read_metadata'];

/** A vault, and the path ranges in it in which the caller may find secrets. */
export interface Within {
  vault: VaultRow;
  ranges: readonly PathRange[];
}

/**
 * Returns the vault if the caller may find anything in it, and refuses before revealing whether the vault exists. If the caller's rights depend on
 * tags or environments, a matching secret must exist: otherwise an empty list would reveal a vault that they may not know of.
 */
export async function vaultWithin(ctx: Context, name: string, wanted: Wanted): Promise<Within> {
  const ranges = reachOf(ctx, name, wanted);
  if (ranges.length === 0) ctx.refuseIfNeverAllowed(`vault/${name}`);
  const row = await findVault(ctx.database.read, ctx.tenantId, name);
  const known = isLive(row) ? row : undefined;
  const attributes = vaultAttributes(known);
  const isSeen = async () => {
    for (const { tag, environments } of ctx.demands(ctx.declaration.permission, name)) {
      // The query also runs if there is no vault, so that response time does not reveal whether the vault exists.
      const secrets = secretsIn(ctx, known?.vault_id ?? NO_VAULT, ranges, {
        tags: tag === undefined ? [] : [tag],
        environments,
      });
      if (await isAnyShown(ctx, secrets, (secret) => isWithin(ctx, name, secret, wanted))) return true;
    }
    return false;
  };
  const mayFind = ranges.length > 0 && (ctx.isReachCertain(name, attributes) || (await isSeen()));
  ctx.authorizeWithin(`vault/${name}`, mayFind, attributes);
  if (known === undefined) throw vaultNotFound();
  return { vault: known, ranges };
}

export function prefixRange(prefix: string | undefined, pointer = '/query/prefix'): PathRange {
  if (prefix !== undefined && !PREFIX_FORM.test(prefix)) {
    throw invalidField(pointer, 'must be the beginning of a path: letters, digits, . _ @ + = - and /');
  }
  return startingWith(prefix ?? '');
}

export interface PageRequest extends ScanRequest<store.ListedRow> {
  vault: VaultRow;
  ranges: readonly PathRange[];
  filter: store.ListFilter;
}

/** Returns a page of the secrets the caller may see, and scans only the ranges in which they can lie. */
export function visiblePage(
  ctx: Context,
  { vault, ranges, filter, ...request }: PageRequest,
): Promise<{ rows: store.ListedRow[]; next_cursor: string | null }> {
  return scannedPage(ctx, secretsIn(ctx, vault.vault_id, ranges, filter), request);
}

/** Ordered by path. */
function secretsIn(
  ctx: Context,
  vaultId: string,
  ranges: readonly PathRange[],
  filter: store.ListFilter,
): Scanned<store.ListedRow> {
  return {
    list: { name: vaultId, form: PATH_FORM },
    placeOf: ({ path }) => path,
    async rowsAfter(place, limit) {
      const rows: store.ListedRow[] = [];
      for (const { from: start, to } of ranges) {
        const from = place !== null && place >= start ? justAfter(place) : start;
        if (from >= to) continue;
        const range = { from, to };
        const left = limit - rows.length;
        rows.push(...(await store.summariesIn(ctx.database.read, ctx.tenantId, vaultId, range, filter, left)));
        if (rows.length === limit) break;
      }
      return rows;
    },
  };
}

/** Ordered by number, as they are stored, because several deleted secrets may have the same path. */
function deletedSecretsIn(ctx: Context, vault: VaultRow): Scanned<DeletedSummaryRow> {
  return {
    list: { name: `${vault.vault_id} deleted`, form: NUMBER_FORM },
    placeOf: ({ secret_no }) => String(secret_no),
    rowsAfter: (place, limit) =>
      deletedSummaries(ctx.database.read, ctx.tenantId, vault.vault_id, Number(place ?? 0), limit),
  };
}

export async function list(ctx: Context, vaultName: string, query: Query<typeof contract.listSecrets>) {
  const { vault, ranges } = await vaultWithin(ctx, vaultName, SEEN);
  const isListed = listedFor(ctx, vaultName, query);
  const request = { cursor: query.cursor, limit: query.limit ?? LIST_LIMIT_DEFAULT };
  if (query.deleted === true) {
    if (query.rotation !== undefined)
      throw invalidField('/query/rotation', 'is not asked of deleted secrets: leave one out');
    const range = prefixRange(query.prefix);
    const isShown = (row: DeletedSummaryRow) => isIn(range, row.path) && isMeant(row, query) && isListed(row);
    const page = await scannedPage(ctx, deletedSecretsIn(ctx, vault), { ...request, isShown });
    const shown = (row: DeletedSummaryRow) => ({
      ...listedSecret(ctx, vaultName, row),
      deleted_at: timestamp(row.deleted_at),
    });
    return { secrets: page.rows.map(shown), next_cursor: page.next_cursor };
  }
  const page = await visiblePage(ctx, {
    ...request,
    vault,
    ranges: intersection(ranges, [prefixRange(query.prefix)]),
    filter: { type: query.type, tags: query.tags, isRotationFailed: query.rotation === 'failed' },
    isShown: isListed,
  });
  return { secrets: page.rows.map((row) => listedSecret(ctx, vaultName, row)), next_cursor: page.next_cursor };
}

/** A filter by tags or by failed rotation finds a secret only for a caller who may see the tags or the rotation of that secret. */
function listedFor(ctx: Context, vault: string, { tags = [], rotation }: Query<typeof contract.listSecrets>) {
  const isPlain = tags.length === 0 && rotation === undefined;
  return (row: store.SummaryRow) => isWithin(ctx, vault, row, SEEN) && (isPlain || isDescribable(ctx, vault, row));
}

function isMeant(row: store.SummaryRow, { type, tags = [] }: Query<typeof contract.listSecrets>): boolean {
  const own = metadataOf(row).tags;
  return (type === undefined || row.type === type) && tags.every((tag) => own.includes(tag));
}

function listedSecret(ctx: Context, vault: string, row: store.SummaryRow): ListedSecret {
  const summary = summaryOf(row);
  return isDescribable(ctx, vault, row) ? summary : { ...summary, metadata: null };
}

/** For the response that describes one vault. */
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
