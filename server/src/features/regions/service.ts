import type { Static } from 'typebox';
import { timestamp } from '../../kernel/base/clock.ts';
import { CofferError, invalidField, notFound, unavailable } from '../../kernel/base/errors.ts';
import { idForm } from '../../kernel/base/ids.ts';
import type { Body, Query } from '../../kernel/endpoint/declaration.ts';
import { findTenant, type TenantRow, tenantIdsAfter } from '../../kernel/integrity/tenant-rows.ts';
import type { Context } from '../../kernel/request/context.ts';
import { plainCursor } from '../../kernel/request/visible-page.ts';
import type { Reader } from '../../kernel/storage/database.ts';
import { decodeCursor, pageOf } from '../../kernel/wire/cursor.ts';
import { LIST_LIMIT_DEFAULT } from '../../kernel/wire/wire.ts';
import { RefusedBatch } from './acceptance.ts';
import type * as contract from './contract.ts';
import type { TenantRegion } from './contract.ts';
import { epochMax, type Operation } from './crdt/operation.ts';
import { findPromotion, listCells } from './directory-store.ts';
import type { OpenRegions } from './open-regions.ts';
import { publishedHead, replicaOf } from './replica.ts';
import { OPERATIONS_MAX } from './schemas.ts';
import { parseVector } from './sync-page.ts';

/** Absent if the installation is not part of a group of regions. */
function required(regions: OpenRegions | null): OpenRegions {
  if (regions !== null) return regions;
  throw new CofferError('NOT_FOUND', 'This installation has no regions: its operator can set CV_REGION.');
}

export async function list(ctx: Context, opened: OpenRegions | null, query: Query<typeof contract.listTenantRegions>) {
  const regions = required(opened);
  const [after = ''] = decodeCursor(await plainCursor(ctx, query.cursor), idForm('tenant')) ?? [];
  const limit = query.limit ?? LIST_LIMIT_DEFAULT;
  const { read } = ctx.database;
  const here = await tenantIdsAfter(read, after, limit + 1);
  const known = (await listCells(read, 'primary', after, limit + 1)).map(({ cell_key }) => cell_key);
  const ids = [...new Set([...here, ...known])].sort().slice(0, limit + 1);
  const page = pageOf(ids, limit, (id) => [id]);
  const tenant_regions: TenantRegion[] = [];
  for (const id of page.rows) {
    const found = await describe(regions, read, id);
    if (found !== null) tenant_regions.push(found);
  }
  return { tenant_regions, next_cursor: page.next_cursor };
}

export async function read(ctx: Context, opened: OpenRegions | null, tenantId: string): Promise<TenantRegion> {
  const found = await describe(required(opened), ctx.database.read, tenantId);
  if (found === null) throw notFound('tenant');
  return found;
}

export async function assign(
  ctx: Context,
  opened: OpenRegions | null,
  tenantId: string,
  { region }: Body<typeof contract.assignTenantRegion>,
): Promise<TenantRegion> {
  const regions = required(opened);
  requireThis(regions, region);
  await requireMovable(ctx, tenantId);
  requireContact(regions);
  const changed = await ctx.change(async (tx) => {
    const tenant = await requireMovable(ctx, tenantId, tx);
    const current = await regions.directory.cell(tx, 'primary', tenantId);
    if (current !== null && current.origin !== region)
      throw new CofferError(
        'IN_USE',
        `The tenant belongs to the region ${current.origin}: promote this region instead.`,
      );
    if (current === null)
      await regions.promotions.begin(tx, tenant, {
        epoch: 1,
        previous: null,
        reason: '',
        replica: null,
        begun_at: ctx.now,
      });
    return described(regions, tx, tenantId);
  });
  return changed;
}

export async function promote(
  ctx: Context,
  opened: OpenRegions | null,
  tenantId: string,
  { region, reason }: Body<typeof contract.promoteTenantRegion>,
): Promise<TenantRegion> {
  const regions = required(opened);
  requireThis(regions, region);
  await requireMovable(ctx, tenantId);
  ctx.record.describe({ region, reason });
  return ctx.change(async (tx) => {
    const tenant = await requireMovable(ctx, tenantId, tx);
    const current = await regions.directory.cell(tx, 'primary', tenantId);
    if (current === null) throw new CofferError('IN_USE', 'The tenant has no region: assign one with PUT.');
    if (current.origin === region) throw new CofferError('IN_USE', 'This is the primary region of the tenant already.');
    const replica = (await described(regions, tx, tenantId)).replica;
    const epoch = current.value.epoch + 1;
    if (epoch > epochMax(ctx.now))
      throw unavailable('The last epoch of this tenant is from a clock that is ahead: try again in a minute.');
    ctx.record.describe({ epoch, previous: current.origin, ...replica });
    await regions.promotions.begin(tx, tenant, {
      epoch,
      previous: current.origin,
      reason,
      replica: JSON.stringify(replica),
      begun_at: ctx.now,
    });
    await ctx.needsApproval(tx, { basis: { epoch, primary: current.origin } });
    return described(regions, tx, tenantId);
  });
}

export async function pull(ctx: Context, opened: OpenRegions | null, query: Query<typeof contract.pullDirectory>) {
  const regions = requirePeer(ctx, opened).regions;
  const known = parseVector(query.vector ?? '');
  if (known === null) throw invalidField('/query/vector', 'must be `origin:number` pairs, separated by commas');
  const digest = query.digest_at === undefined ? null : await regions.directory.digest(query.digest_at);
  const { operations, vector, isComplete, pushed } = await regions.directory.delta(known, OPERATIONS_MAX);
  const entries = [...vector].map(([origin, seq]) => ({ origin, seq }));
  const { name, leaseMs } = regions.config;
  return { region: name, operations, vector: entries, complete: isComplete, pushed, lease_ms: leaseMs, digest };
}

export async function push(
  ctx: Context,
  opened: OpenRegions | null,
  { operations }: Body<typeof contract.pushDirectory>,
): Promise<Static<typeof contract.pushDirectory.output>> {
  const { regions, peer } = requirePeer(ctx, opened);
  if (operations.some(({ kind }) => kind !== 'primary'))
    throw invalidField('/body/operations', 'must be promotions: everything else is pulled');
  ctx.record.describe({ region: peer, operations: operations.map(({ kind, key }) => `${kind} ${key}`) });
  try {
    const results = await regions.directory.merge(operations);
    return { results, heads: await headsOf(ctx, operations), lease_ms: regions.config.leaseMs };
  } catch (error) {
    if (!(error instanceof RefusedBatch)) throw error;
    regions.refused.labels(peer, error.problem).inc();
    throw invalidField('/body/operations', error.message);
  }
}

/** How far the logs of tenants had come that another region has taken over. From here on they do not grow in this region. */
async function headsOf({ kernel, database }: Context, operations: readonly Operation[]) {
  const tenantIds = operations.filter(({ kind }) => kind === 'primary').map(({ key }) => key);
  if (tenantIds.length === 0) return operations.map(() => null);
  // What was recorded before the promotion was noted becomes part of the log now.
  await kernel.audit.link();
  const rows = new Map((await kernel.heads.rows(database.read, tenantIds)).map((row) => [row.tenant_id, row]));
  return operations.map(({ kind, key }) => {
    const row = kind === 'primary' ? rows.get(key) : undefined;
    return row === undefined ? null : { seq: row.seq, hash: Buffer.from(row.hash).toString('hex') };
  });
}

/** Anyone who has no certificate of another region learns nothing, not even whether there are regions. */
function requirePeer(ctx: Context, opened: OpenRegions | null): { regions: OpenRegions; peer: string } {
  const peer = opened?.identity.peerOf(ctx.call.certificate, opened.config.name, ctx.now) ?? null;
  if (opened !== null && peer !== null) return { regions: opened, peer };
  opened?.refused.labels('', 'certificate').inc();
  throw new CofferError('CERTIFICATE_REQUIRED', 'Only the other regions may do this, with their client certificates.');
}

function requireThis({ config: { name, urls } }: OpenRegions, region: string): void {
  if (region === name) return;
  const url = Object.hasOwn(urls, region) ? `: send the request to ${urls[region]}` : '';
  throw invalidField('/body/region', `must be this region, ${name}${url}`);
}

/** A region that cannot tell the others would leave the tenant without one until it can. */
function requireContact({ contacts }: OpenRegions): void {
  if (!contacts.hasLease()) throw unavailable('Too few other regions can be reached to assign a tenant: try again.');
}

async function requireMovable(ctx: Context, tenantId: string, db: Reader = ctx.database.read): Promise<TenantRow> {
  const tenant = await findTenant(db, tenantId);
  if (tenant === undefined) throw notFound('tenant in this region: its data must be copied here first');
  if (tenant.is_operator === 1)
    throw new CofferError('IN_USE', 'The operator tenant belongs to each region by itself, and has no primary region.');
  return tenant;
}

async function described(regions: OpenRegions, db: Reader, tenantId: string): Promise<TenantRegion> {
  const found = await describe(regions, db, tenantId);
  if (found === null) throw notFound('tenant');
  return found;
}

async function describe(regions: OpenRegions, db: Reader, tenantId: string): Promise<TenantRegion | null> {
  const { directory, homes, statements } = regions;
  const [row, primary] = [await findTenant(db, tenantId), await directory.cell(db, 'primary', tenantId)];
  if (row === undefined && primary === null) return null;
  const home = await homes.homeIn(db, tenantId);
  const head = primary === null ? null : await publishedHead(statements, db, tenantId, primary.origin);
  // Once this region is the primary one, what counts is how far it was behind when it took over.
  const promotion = primary?.origin === regions.config.name ? await findPromotion(db, tenantId) : undefined;
  const atPromotion = promotion?.replica ? (JSON.parse(promotion.replica) as TenantRegion['replica']) : null;
  return {
    tenant_id: tenantId,
    name: (await statements.nameOf(db, tenantId, primary?.origin ?? null)) ?? row?.name ?? null,
    region: primary?.origin ?? null,
    url: primary === null ? null : homes.urlOf(primary.origin),
    epoch: primary?.value.epoch ?? 0,
    previous: primary?.value.previous ?? null,
    since: primary === null ? null : timestamp(primary.ms),
    state: home.kind === 'starting' ? 'starting' : 'active',
    replica: row === undefined ? null : (atPromotion ?? (await replicaOf(db, tenantId, head))),
  };
}
