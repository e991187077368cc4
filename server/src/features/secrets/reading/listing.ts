import { intersection, isIn, justAfter, type PathRange, startingWith } from '../../../kernel/authz/path-ranges.ts';
import { timestamp } from '../../../kernel/base/clock.ts';
import { invalidField } from '../../../kernel/base/errors.ts';
import type { Query } from '../../../kernel/endpoint/declaration.ts';
import { filterInSlices, mapInSlices } from '../../../kernel/fairness/time-slice.ts';
import type { Context } from '../../../kernel/request/context.ts';
import { decodeCursor } from '../../../kernel/wire/cursor.ts';
import { LIST_LIMIT_DEFAULT } from '../../../kernel/wire/wire.ts';
import { isLive, SECRET_IDS_MAX, vaultAttributes, vaultNotFound } from '../../vaults/index.ts';
import { findVault, type VaultRow } from '../../vaults/storage/index.ts';
import { attributesOf, NO_VAULT } from '../authorization.ts';
import type * as contract from '../contract.ts';
import { type ListedSecret, VERSION_MAX } from '../contract.ts';
import { type DeletedSummaryRow, deletedSummaries } from '../lifecycle/deleted-store.ts';
import type { SecretParts } from '../links.ts';
import { type SecretLocation, secretResource } from '../location.ts';
import { isTemplate } from '../references/parts.ts';
import { partsVersions } from '../references/referrers.ts';
import { shownRisk } from '../risk/shown-risk.ts';
import { metadataOf, rotationOf, summaryOf } from '../serialization.ts';
import type { ListedRow, SecretRow, SummaryRow } from '../storage/tables.ts';
import { versionPage } from '../storage/version-store.ts';
import { type BulkRow, bulkRowsIn, type ListFilter, summariesIn } from './list-store.ts';
import { isAnyShown, type Scanned, type ScanRequest, scannedPage } from './scanned-page.ts';
import type { SecretReader } from './secret-reader.ts';

const PATH_FORM = /^[A-Za-z0-9._@+=/-]{1,1024}$/;
const NUMBER_FORM = /^[1-9]\d{0,15}$/;
const PREFIX_FORM = /^[A-Za-z0-9._@+=-][A-Za-z0-9._@+=/-]*$/;
/** Enough pages to fill both lists of ids. */
const PAGES_FOR_IDS_MAX = 3;

/** Actions that the caller must all be allowed on each secret found. */
type Actions = readonly string[];

/** To see that a secret exists, and its path. */
const LISTED: Actions = ['secrets:list'];

function allowedRangesIn(ctx: Context, vault: string, actions: Actions): PathRange[] {
  const ranges = actions.map((action) => ctx.access.allowedRanges(action, vault));
  return ranges.reduce((left, right) => intersection(left, right));
}

function isAllowed(
  ctx: Context,
  vault: string,
  row: Pick<SecretRow, 'path' | 'environment' | 'tags'>,
  actions: Actions,
): boolean {
  const resource = secretResource(vault, row.path);
  const attributes = attributesOf(row);
  return actions.every((action) => ctx.access.may(action, resource, attributes));
}

/** The same for many secrets of a vault. Where the path alone decides, as for most callers, no secret is decided on by itself. */
function isAllowedIn(ctx: Context, vault: string, actions: Actions) {
  const checks = actions.map((action) => ({ action, isByPath: ctx.access.allowedByPath(action, vault) }));
  return (row: Pick<SecretRow, 'path' | 'environment' | 'tags'>) =>
    checks.every(
      ({ action, isByPath }) =>
        isByPath(row.path) || ctx.access.may(action, secretResource(vault, row.path), attributesOf(row)),
    );
}

/** A caller sees the description, owner and tags of a secret if they may read the secret or its metadata. */
function isDescribable(ctx: Context, vault: string, row: Pick<SecretRow, 'path' | 'environment' | 'tags'>): boolean {
  return DESCRIBING.some((action) => isAllowed(ctx, vault, row, [action]));
}
const DESCRIBING = ['secrets:read', 'secrets:read_metadata'];

function isDescribableIn(ctx: Context, vault: string) {
  const checks = DESCRIBING.map((action) => isAllowedIn(ctx, vault, [action]));
  return (row: Pick<SecretRow, 'path' | 'environment' | 'tags'>) => checks.some((isAllowed) => isAllowed(row));
}

/** A vault, and the path ranges in it in which the caller may find secrets. */
interface Within {
  vault: VaultRow;
  ranges: readonly PathRange[];
}

/**
 * Returns the vault if the caller may find anything in it, and refuses before revealing whether the vault exists. If the caller's rights depend on
 * tags or environments, a matching secret must exist: otherwise an empty list would reveal a vault that they may not know of.
 */
async function vaultWithRanges(ctx: Context, name: string, actions: Actions): Promise<Within> {
  const ranges = allowedRangesIn(ctx, name, actions);
  if (ranges.length === 0) ctx.access.refuseIfNeverAllowed(`vault/${name}`);
  const row = await findVault(ctx.database.read, ctx.tenantId, name);
  const known = isLive(row) ? row : undefined;
  const attributes = vaultAttributes(known);
  const isSeen = async () => {
    for (const { tag, environments } of ctx.access.demands(ctx.declaration.permission, name)) {
      // The query also runs if there is no vault, so that response time does not reveal whether the vault exists.
      const secrets = secretsIn(ctx, known?.vault_id ?? NO_VAULT, ranges, {
        tags: tag === undefined ? [] : [tag],
        environments,
      });
      if (await isAnyShown(ctx, secrets, isAllowedIn(ctx, name, actions))) return true;
    }
    return false;
  };
  const mayFind = ranges.length > 0 && (ctx.access.isReachCertain(name, attributes) || (await isSeen()));
  ctx.access.authorizeWithin(`vault/${name}`, mayFind, attributes);
  if (known === undefined) throw vaultNotFound();
  return { vault: known, ranges };
}

function prefixRange(prefix: string | undefined, pointer = '/query/prefix'): PathRange {
  if (prefix !== undefined && !PREFIX_FORM.test(prefix)) {
    throw invalidField(pointer, 'must be a path prefix of letters, digits, . _ @ + = - and /');
  }
  return startingWith(prefix ?? '');
}

interface PageRequest extends Within, ScanRequest<ListedRow> {
  filter: ListFilter;
}

/** Returns a page of the secrets the caller may see, and scans only the ranges in which they can lie. */
function visiblePage(ctx: Context, { vault, ranges, filter, ...request }: PageRequest) {
  return scannedPage(ctx, secretsIn(ctx, vault.vault_id, ranges, filter), request);
}

/** The same for a bulk read of values, which needs few columns. */
function bulkPage(ctx: Context, { vault, ranges, ...request }: Within & ScanRequest<BulkRow>) {
  const at = { tenantId: ctx.tenantId, vaultId: vault.vault_id };
  const load: LoadRange<BulkRow> = (range, limit) => bulkRowsIn(ctx.database.read, at, { range, limit });
  return scannedPage(ctx, inRanges(vault.vault_id, ranges, load), request);
}

function secretsIn(ctx: Context, vaultId: string, ranges: readonly PathRange[], filter: ListFilter) {
  const at = { tenantId: ctx.tenantId, vaultId };
  return inRanges(vaultId, ranges, (range, limit) => summariesIn(ctx.database.read, at, { range, filter, limit }));
}

type LoadRange<Row> = (range: PathRange, limit: number) => Promise<Row[]>;

/** The rows in some ranges of a vault's paths, ordered by path. */
function inRanges<Row extends { path: string }>(
  vaultId: string,
  ranges: readonly PathRange[],
  load: LoadRange<Row>,
): Scanned<Row> {
  return {
    list: { name: vaultId, form: PATH_FORM },
    positionOf: ({ path }) => path,
    async rowsAfter(position, limit) {
      const rows: Row[] = [];
      for (const { from: start, to } of ranges) {
        const from = position !== null && position >= start ? justAfter(position) : start;
        if (from >= to) continue;
        rows.push(...(await load({ from, to }, limit - rows.length)));
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
    positionOf: ({ secret_no }) => String(secret_no),
    rowsAfter: (position, limit) => deletedSummaries(ctx.database.read, vault, Number(position ?? 0), limit),
  };
}

/** The secrets that a caller may find, for every feature that lists, searches or exports them. */
export const visibleSecrets = {
  LISTED,
  rangesIn: allowedRangesIn,
  isAllowed,
  isAllowedIn,
  isDescribable,
  vault: vaultWithRanges,
  prefixRange,
  page: visiblePage,
  bulkPage,
};

export type ListPorts = Pick<SecretParts, 'riskFactorsOf'>;

export async function list(
  ctx: Context,
  { riskFactorsOf }: ListPorts,
  vaultName: string,
  query: Query<typeof contract.listSecrets>,
) {
  const { vault, ranges } = await vaultWithRanges(ctx, vaultName, LISTED);
  const isDescribed = isDescribableIn(ctx, vaultName);
  const isListed = listedFor(ctx, vaultName, query, isDescribed);
  const request = { cursor: query.cursor, limit: query.limit ?? LIST_LIMIT_DEFAULT };
  if (query.deleted === true) {
    if (query.rotation !== undefined)
      throw invalidField('/query/rotation', 'cannot be combined with deleted=true: omit one of them');
    if (query.expires_before !== undefined)
      throw invalidField('/query/expires_before', 'cannot be combined with deleted=true: omit one of them');
    const range = prefixRange(query.prefix);
    const isShown = (row: DeletedSummaryRow) => isIn(range, row.path) && isMeant(row, query) && isListed(row);
    const page = await scannedPage(ctx, deletedSecretsIn(ctx, vault), { ...request, isShown });
    const shown = (row: DeletedSummaryRow) => ({
      ...listedSecret(row, isDescribed(row), null),
      deleted_at: timestamp(row.deleted_at),
    });
    return { secrets: await mapInSlices(ctx.tenantId, page.rows, shown), next_cursor: page.next_cursor };
  }
  const page = await visiblePage(ctx, {
    ...request,
    vault,
    ranges: intersection(ranges, [prefixRange(query.prefix)]),
    filter: {
      type: query.type,
      tags: query.tags,
      isRotationFailed: query.rotation === 'failed',
      expiresBefore: query.expires_before === undefined ? undefined : Date.parse(query.expires_before),
    },
    isShown: isListed,
  });
  const ids = page.rows.map(({ secret_id }) => secret_id);
  const risks = await riskFactorsOf(ctx.database.read, ctx.tenantId, ids);
  const mayRead = isAllowedIn(ctx, vaultName, ['secrets:read']);
  const versions = await partsVersions(ctx, await filterInSlices(ctx.tenantId, page.rows.filter(isTemplate), mayRead));
  const shown = (row: SummaryRow) => {
    const factors = risks.get(row.secret_id);
    const risk = factors === undefined ? null : shownRisk(factors, mayRead(row));
    const secret = listedSecret(row, isDescribed(row), risk);
    const parts_version = versions.get(row.secret_id);
    return parts_version === undefined ? secret : { ...secret, parts_version };
  };
  return { secrets: await mapInSlices(ctx.tenantId, page.rows, shown), next_cursor: page.next_cursor };
}

/** A filter by tags, failed rotation or end finds a secret only for a caller who may see these of that secret. */
function listedFor(
  ctx: Context,
  vault: string,
  { tags = [], rotation, expires_before }: Query<typeof contract.listSecrets>,
  isDescribed: (row: SummaryRow) => boolean,
) {
  const isPlain = tags.length === 0 && rotation === undefined && expires_before === undefined;
  const isListed = isAllowedIn(ctx, vault, LISTED);
  return (row: SummaryRow) => isListed(row) && (isPlain || isDescribed(row));
}

function isMeant(row: SummaryRow, { type, tags = [] }: Query<typeof contract.listSecrets>): boolean {
  const own = metadataOf(row).tags;
  return (type === undefined || row.type === type) && tags.every((tag) => own.includes(tag));
}

function listedSecret(row: SummaryRow, isDescribed: boolean, risk: ReturnType<typeof shownRisk> | null): ListedSecret {
  const secret: ListedSecret = { ...summaryOf(row), risk_score: null, risk_factors: null, rotation: null };
  if (!isDescribed) {
    secret.metadata = null;
    secret.expires_at = null;
    return secret;
  }
  secret.rotation = rotationOf(row);
  if (risk !== null) {
    secret.risk_score = risk.risk_score;
    secret.risk_factors = risk.risk_factors;
  }
  return secret;
}

/** For the response that describes one vault. */
export async function secretIds(ctx: Context, vault: VaultRow) {
  const ids = { standard: [] as string[], fortress: [] as string[] };
  let isTruncated = false;
  const ranges = allowedRangesIn(ctx, vault.name, LISTED);
  const isShown = isAllowedIn(ctx, vault.name, LISTED);
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
  { vault: vaultName, path }: SecretLocation,
  query: Query<typeof contract.listVersions>,
) {
  const row = await reader.authorized(ctx, { vault: vaultName, path });
  const [before] = decodeCursor(query.cursor, /^[1-9]\d{0,8}$/) ?? [];
  const page = await versionPage(
    ctx.database.read,
    { tenant_id: ctx.tenantId, secret_id: row.secret_id },
    {
      before: before === undefined ? VERSION_MAX : Number(before),
      limit: query.limit ?? LIST_LIMIT_DEFAULT,
    },
  );
  const isShown = ({ tags }: { tags: string }) =>
    ctx.access.may(ctx.declaration.permission, secretResource(vaultName, path), attributesOf({ ...row, tags }));
  return {
    versions: (await filterInSlices(ctx.tenantId, page.rows, isShown)).map((version) => ({
      version: version.version,
      operation: version.operation,
      reason: version.reason,
      restored_from: version.restored_from,
      author: { kind: version.author_kind, id: version.author_id, name: version.author_name },
      metadata: metadataOf(version),
      created_at: timestamp(version.created_at),
      has_new_value: version.operation !== 'update' || version.sealed_version === version.version,
      is_current: version.version === row.version,
    })),
    next_cursor: page.next_cursor,
  };
}
