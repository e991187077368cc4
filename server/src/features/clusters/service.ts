import { canonicalEnvironment } from '../../kernel/authz/environment.ts';
import { SECOND_MS, timestamp, timestampOrNull } from '../../kernel/base/clock.ts';
import { CofferError, notFound } from '../../kernel/base/errors.ts';
import { idForm, newId } from '../../kernel/base/ids.ts';
import { sha256 } from '../../kernel/crypto/digest.ts';
import type { Body, Query } from '../../kernel/endpoint/declaration.ts';
import type { Announcer } from '../../kernel/feature/links.ts';
import type { Context } from '../../kernel/request/context.ts';
import { lockQuota, refuseBeyondQuota } from '../../kernel/request/quotas.ts';
import { plainCursor, visiblePage } from '../../kernel/request/visible-page.ts';
import { type Reader, type Tx, UniqueViolation } from '../../kernel/storage/database.ts';
import { raiseEpoch } from '../../kernel/storage/epochs.ts';
import { decodeCursor } from '../../kernel/wire/cursor.ts';
import { DELETED, type Deleted, LIST_LIMIT_DEFAULT } from '../../kernel/wire/wire.ts';
import type * as contract from './contract.ts';
import { readCluster } from './contract.ts';
import { type DesiredStates, refuseUnlessAllReadable } from './desired-state.ts';
import type { clusterRemoved } from './links.ts';
import type { Cluster, ClusterWithToken } from './schemas.ts';
import * as states from './state-store.ts';
import * as store from './store.ts';
import { CLUSTER_TOKEN } from './token.ts';

const LIST_CURSOR = new RegExp(`^${store.CURSOR_KIND}$`);

/** The token outlives the credential that created it, so a restricted credential cannot create one. */
export async function create(ctx: Context, body: Body<typeof contract.createCluster>): Promise<ClusterWithToken> {
  ctx.access.requireUnrestricted();
  const token = CLUSTER_TOKEN.create();
  const row: store.ClusterRow = {
    tenant_id: ctx.tenantId,
    cluster_id: newId('cluster', ctx.now),
    name: body.name,
    kind: body.kind,
    environment: body.environment === undefined ? null : canonicalEnvironment(body.environment),
    token_hash: sha256(token),
    token_created_at: ctx.now,
    former_token_hash: null,
    former_token_until: null,
    created_by: ctx.principal.id,
    created_at: ctx.now,
  };
  return ctx.change(async (tx) => {
    await lockQuota(tx, ctx.tenantId, 'clusters');
    refuseBeyondQuota(ctx, 'clusters', await store.countClusters(tx, ctx.tenantId));
    ctx.record.describe({ cluster: row.cluster_id, name: row.name, kind: row.kind, environment: row.environment });
    await unlessTaken(store.insertCluster(tx, row));
    const state = states.newState(row);
    await states.insertState(tx, state);
    await raiseEpoch(tx, ctx.tenantId);
    return { ...toWire(ctx, row, state), cluster_token: token };
  });
}

async function unlessTaken(inserted: Promise<void>): Promise<void> {
  try {
    await inserted;
  } catch (error) {
    if (!(error instanceof UniqueViolation)) throw error;
    throw new CofferError('ALREADY_EXISTS', 'A cluster has this name: choose another one.');
  }
}

export async function list(ctx: Context, query: Query<typeof contract.listClusters>) {
  const { read: db } = ctx.database;
  const [, after = ''] = decodeCursor(await plainCursor(ctx, query.cursor), LIST_CURSOR, idForm('cluster')) ?? [];
  const found = await store.listClusters(db, ctx.tenantId, after, query.limit ?? LIST_LIMIT_DEFAULT);
  const page = await visiblePage(ctx, found, {
    permissions: [readCluster.permission],
    resources: ({ cluster_id }) => [`cluster/${cluster_id}`],
  });
  const ids = page.rows.map(({ cluster_id }) => cluster_id);
  const known = await states.statesOf(db, ctx.tenantId, ids);
  const clusters = page.rows.map((row) => toWire(ctx, row, known.get(row.cluster_id) ?? states.newState(row)));
  return { clusters, next_cursor: page.next_cursor };
}

export async function read(ctx: Context, clusterId: string): Promise<Cluster> {
  const { read: db } = ctx.database;
  const row = await existing(ctx, db, clusterId);
  return toWire(ctx, row, (await states.findState(db, row)) ?? states.newState(row));
}

export async function existing(ctx: Context, db: Reader, clusterId: string): Promise<store.ClusterRow> {
  const row = await store.findCluster(db, { tenant_id: ctx.tenantId, cluster_id: clusterId });
  if (row === undefined) throw notFound('cluster');
  return row;
}

export async function lockExisting(ctx: Context, tx: Tx, clusterId: string): Promise<store.ClusterRow> {
  const row = await store.lockCluster(tx, { tenant_id: ctx.tenantId, cluster_id: clusterId });
  if (row === undefined) throw notFound('cluster');
  return row;
}

export async function remove(
  ctx: Context,
  removed: Announcer<typeof clusterRemoved>,
  clusterId: string,
): Promise<Deleted> {
  return ctx.change(async (tx) => {
    const row = await lockExisting(ctx, tx, clusterId);
    ctx.record.describe({ name: row.name, kind: row.kind });
    await removed(tx, ctx.tenantId, clusterId);
    await states.deleteStateOf(tx, row);
    await store.deleteCluster(tx, row);
    await raiseEpoch(tx, ctx.tenantId);
    return DELETED;
  });
}

/** Anyone who gets the new token gets what the cluster gets, so the caller must be allowed to read all of it. */
export async function rotateToken(
  ctx: Context,
  desired: DesiredStates,
  clusterId: string,
  body: Body<typeof contract.rotateClusterToken>,
): Promise<ClusterWithToken> {
  ctx.access.requireUnrestricted();
  await existing(ctx, ctx.database.read, clusterId);
  await refuseUnlessAllReadable(ctx, await desired.plan(ctx, clusterId));
  const token = CLUSTER_TOKEN.create();
  const overlapMs = (body.overlap_seconds ?? 0) * SECOND_MS;
  return ctx.change(async (tx) => {
    const row = await lockExisting(ctx, tx, clusterId);
    ctx.record.describe({ name: row.name, overlap_seconds: overlapMs / SECOND_MS });
    const changed = await store.replaceToken(tx, row, {
      token_hash: sha256(token),
      token_created_at: ctx.now,
      former_token_hash: overlapMs === 0 ? null : row.token_hash,
      former_token_until: overlapMs === 0 ? null : ctx.now + overlapMs,
    });
    await raiseEpoch(tx, ctx.tenantId);
    const state = (await states.findState(tx, row)) ?? states.newState(row);
    return { ...toWire(ctx, changed, state), cluster_token: token };
  });
}

function toWire(ctx: Context, row: store.ClusterRow, state: states.StateRow): Cluster {
  const until = row.former_token_until;
  return {
    id: row.cluster_id,
    name: row.name,
    kind: row.kind,
    environment: row.environment === null ? null : canonicalEnvironment(row.environment),
    generation: state.generation,
    applied_generation: state.applied_generation,
    last_report_at: timestampOrNull(state.last_report_at),
    failed: state.failed,
    token_created_at: timestamp(row.token_created_at),
    former_token_until: timestampOrNull(until === null || until <= ctx.now ? null : until),
    created_by: row.created_by,
    created_at: timestamp(row.created_at),
  };
}
