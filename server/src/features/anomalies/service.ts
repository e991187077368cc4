import { timestamp } from '../../kernel/base/clock.ts';
import { CofferError, invalidField, notFound } from '../../kernel/base/errors.ts';
import { idForm } from '../../kernel/base/ids.ts';
import type { Body, Query } from '../../kernel/endpoint/declaration.ts';
import { nextTurn } from '../../kernel/fairness/event-loop-turns.ts';
import { TimeSlice } from '../../kernel/fairness/time-slice.ts';
import { findTenant } from '../../kernel/integrity/tenant-rows.ts';
import { recheck } from '../../kernel/request/acceptance.ts';
import type { Context } from '../../kernel/request/context.ts';
import type { Tx } from '../../kernel/storage/database.ts';
import { decodeCursor, encodeCursor } from '../../kernel/wire/cursor.ts';
import { LIST_LIMIT_DEFAULT } from '../../kernel/wire/wire.ts';
import { parseTime } from '../audit/index.ts';
import type * as contract from './contract.ts';
import { addTraining } from './model-store.ts';
import { requestScan, type ScanRow } from './scan-store.ts';
import type { Anomaly, AnomalyStatus } from './schemas.ts';
import * as store from './store.ts';
import { authorizeAnomaly, isVisible, namesOf } from './visibility.ts';
import { toWire } from './wire.ts';

const CURSOR_KIND = /^anomalies$/;

/** `total` counts only what the caller may see, so every anomaly that the filters select is decided on. */
export async function list(ctx: Context, query: Query<typeof contract.listAnomalies>) {
  const tenantId = await listedTenant(ctx, query.tenant);
  const isOwn = tenantId === ctx.tenantId;
  const [, after = null] = decodeCursor(query.cursor, CURSOR_KIND, idForm('anom')) ?? [];
  const limit = query.limit ?? LIST_LIMIT_DEFAULT;
  const wanted = {
    type: query.type,
    severity: query.severity,
    since: query.since === undefined ? null : parseTime(query.since, '/query/since'),
    status: query.status ?? 'open',
  };
  const shown: store.AnomalyRow[] = [];
  let total = 0;
  const slice = TimeSlice.of(ctx.tenantId);
  for (let before: string | null = null; ; ) {
    const rows = await store.anomaliesBefore(ctx.database.read, tenantId, wanted, before);
    const names = await namesOf(ctx.database.read, tenantId, rows);
    for (const row of rows) {
      const pause = slice.pause();
      if (pause !== undefined) await pause;
      // Access to another tenant was decided as a whole: that tenant's names mean nothing to the caller's policies.
      if (isOwn && !isVisible(ctx, names.get(row.anomaly_id))) continue;
      total++;
      if ((after === null || row.anomaly_id < after) && shown.length <= limit) shown.push(row);
    }
    const last = rows.at(-1);
    if (last === undefined || rows.length < store.AT_ONCE) break;
    before = last.anomaly_id;
    await nextTurn(ctx.tenantId);
    await recheck(ctx);
  }
  const page = shown.slice(0, limit);
  const last = page.at(-1);
  const isMore = shown.length > limit && last !== undefined;
  return {
    anomalies: page.map(toWire),
    total,
    next_cursor: isMore ? encodeCursor(['anomalies', last.anomaly_id]) : null,
  };
}

/** The operator may look into other tenants. Anybody else is told the same whether the tenant exists or not. */
async function listedTenant(ctx: Context, tenant: string | undefined): Promise<string> {
  if (tenant === undefined || tenant === ctx.tenantId) {
    ctx.access.authorizeListing('anomaly');
    return ctx.tenantId;
  }
  if (!ctx.principal.isOperator) throw invalidField('/query/tenant', 'is for the operator tenant only: omit it');
  ctx.access.authorize(`tenant/${tenant}`);
  if ((await findTenant(ctx.database.read, tenant)) === undefined) throw notFound('tenant');
  ctx.record.describe({ tenant });
  return tenant;
}

export async function read(ctx: Context, anomalyId: string): Promise<Anomaly> {
  const { read: db } = ctx.database;
  const row = await store.findAnomaly(db, { tenant_id: ctx.tenantId, anomaly_id: anomalyId });
  const names = await namesOf(db, ctx.tenantId, row === undefined ? [] : [row]);
  authorizeAnomaly(ctx, anomalyId, names.get(anomalyId));
  if (row === undefined) throw notFound('anomaly');
  return toWire(row);
}

export function acknowledge(ctx: Context, anomalyId: string, { note = '' }: Body<typeof contract.acknowledgeAnomaly>) {
  return act(ctx, anomalyId, {
    from: ['open'],
    to: { status: 'acknowledged', note: note === '' ? null : note, ended_at: null },
  });
}

/** Its features join the negative training set, so that the same is not raised again. */
export function dismiss(ctx: Context, anomalyId: string, { reason }: Body<typeof contract.dismissAnomaly>) {
  const change = { status: 'dismissed', note: reason, ended_at: ctx.now } as const;
  return act(
    ctx,
    anomalyId,
    { from: ['open', 'acknowledged'], to: change },
    ({ tenant_id, anomaly_id, training_class, features }) => ({
      tenant_id,
      anomaly_id,
      training_class,
      features,
      dismissed_at: ctx.now,
    }),
  );
}

async function act(
  ctx: Context,
  anomalyId: string,
  { from, to }: { from: readonly AnomalyStatus[]; to: Pick<store.AnomalyRow, 'status' | 'note' | 'ended_at'> },
  training?: (row: store.AnomalyRow) => Parameters<typeof addTraining>[1],
): Promise<Anomaly> {
  // Decided before the transaction as well, so that a caller without permission waits for no lock.
  const key = { tenant_id: ctx.tenantId, anomaly_id: anomalyId };
  const known = await store.findAnomaly(ctx.database.read, key);
  const names = await namesOf(ctx.database.read, ctx.tenantId, known === undefined ? [] : [known]);
  authorizeAnomaly(ctx, anomalyId, names.get(anomalyId));
  return ctx.change(async (tx) => {
    const row = await lockedAnomaly(ctx, tx, key);
    if (!from.includes(row.status)) {
      throw new CofferError(
        'IN_USE',
        `The anomaly is ${row.status}: only one that is ${from.join(' or ')} can be ${to.status}.`,
      );
    }
    ctx.record.describe({ type: row.type, about: row.resource, severity: row.severity });
    const changed = { ...row, ...to, open_key: null, acted_at: ctx.now, acted_by: ctx.principal.id };
    const { tenant_id: _, anomaly_id: __, ...columns } = changed;
    await store.updateAnomaly(tx, key, columns);
    if (training !== undefined) await addTraining(tx, training(row));
    return toWire(changed);
  });
}

async function lockedAnomaly(ctx: Context, tx: Tx, key: store.AnomalyKey): Promise<store.AnomalyRow> {
  const row = await store.lockAnomaly(tx, key);
  if (row === undefined) throw notFound('anomaly');
  const names = await namesOf(tx, ctx.tenantId, [row]);
  authorizeAnomaly(ctx, key.anomaly_id, names.get(key.anomaly_id));
  return row;
}

/** The tenant is due at once; a node scans it in the background. */
export async function scanNow(ctx: Context) {
  return ctx.change(async (tx) => scanState(await requestScan(tx, ctx.tenantId, ctx.now)));
}

export function scanState(row: ScanRow | undefined) {
  const text = (at: number | null | undefined) => (at === null || at === undefined ? null : timestamp(Number(at)));
  return { last_scanned_at: text(row?.last_scanned_at), requested_at: text(row?.requested_at) };
}
