import { timestamp, timestampOrNull } from '../../kernel/base/clock.ts';
import { invalidField, notFound } from '../../kernel/base/errors.ts';
import { idForm, newId } from '../../kernel/base/ids.ts';
import { sha256 } from '../../kernel/crypto/digest.ts';
import type { Body, Query } from '../../kernel/endpoint/declaration.ts';
import type { Context } from '../../kernel/request/context.ts';
import { decodeCursor } from '../../kernel/wire/cursor.ts';
import { LIST_LIMIT_DEFAULT } from '../../kernel/wire/wire.ts';
import type * as contract from './contract.ts';
import type { ApplyLogEntry, ApplyResult } from './schemas.ts';
import { existing } from './service.ts';
import * as states from './state-store.ts';

const LIST_CURSOR = new RegExp(`^${states.APPLY_CURSOR_KIND}$`);

/** An operator reports after each round. A report that says the same as the last one only moves the time of the last report. */
export async function report(ctx: Context, clusterId: string, body: Body<typeof contract.reportStatus>) {
  const { generation, results } = body;
  return ctx.change(async (tx) => {
    const state = await states.lockState(tx, { tenant_id: ctx.tenantId, cluster_id: clusterId });
    if (state === undefined) throw notFound('cluster');
    if (generation > state.generation)
      throw invalidField('/body/generation', 'is newer than any desired state of this cluster');
    const notable = results.filter(({ state: became }) => became !== 'unchanged');
    const failed = results.filter(({ state: became }) => became === 'failed').length;
    ctx.record.describe({ generation, results: results.length, notable: notable.length, failed });
    const digest = sha256(JSON.stringify([generation, notable])).toString('hex');
    if (digest !== state.last_report) await states.insertApply(tx, applyRow(ctx, state, body, notable));
    const isOlder = generation < state.applied_generation;
    await states.updateState(tx, state, {
      last_report_at: ctx.now,
      last_report: digest,
      ...(!isOlder && { applied_generation: generation, failed }),
    });
    return { cluster_id: clusterId, generation, received_at: timestamp(ctx.now) };
  });
}

function applyRow(
  ctx: Context,
  { tenant_id, cluster_id }: states.StateRow,
  { generation, results }: Body<typeof contract.reportStatus>,
  notable: readonly ApplyResult[],
): states.ApplyRow {
  return {
    tenant_id,
    cluster_id,
    apply_id: newId('apply', ctx.now),
    kind: 'reported',
    generation,
    secrets: results.length,
    withheld: 0,
    results: JSON.stringify(notable),
    created_at: ctx.now,
  };
}

export async function list(ctx: Context, clusterId: string, query: Query<typeof contract.listApplyLog>) {
  const { read: db } = ctx.database;
  const row = await existing(ctx, db, clusterId);
  const [, , before = null] =
    decodeCursor(query.cursor, LIST_CURSOR, new RegExp(`^${clusterId}$`), idForm('apply')) ?? [];
  const state = (await states.findState(db, row)) ?? states.newState(row);
  const page = await states.listApplies(db, row, before, query.limit ?? LIST_LIMIT_DEFAULT);
  return {
    cluster_id: clusterId,
    generation: state.generation,
    last_report_at: timestampOrNull(state.last_report_at),
    entries: page.rows.map(toWire),
    next_cursor: page.next_cursor,
  };
}

function toWire(row: states.ApplyRow): ApplyLogEntry {
  return {
    id: row.apply_id,
    kind: row.kind,
    generation: row.generation,
    secrets: row.secrets,
    withheld: row.withheld,
    results: JSON.parse(row.results) as ApplyResult[],
    created_at: timestamp(row.created_at),
  };
}
