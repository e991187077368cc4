import { X509Certificate } from 'node:crypto';
import { timeAt } from '../../kernel/audit/chain/segment.ts';
import { timestamp } from '../../kernel/base/clock.ts';
import { CofferError, invalidField, notFound } from '../../kernel/base/errors.ts';
import { idAtTime, idForm, newId } from '../../kernel/base/ids.ts';
import type { Body, Query } from '../../kernel/endpoint/declaration.ts';
import { refuseForbidden } from '../../kernel/outbound/configured-url.ts';
import type { Context } from '../../kernel/request/context.ts';
import { lockQuota, refuseBeyondQuota } from '../../kernel/request/quotas.ts';
import { plainCursor, visiblePage } from '../../kernel/request/visible-page.ts';
import { type Reader, type Tx, UniqueViolation } from '../../kernel/storage/database.ts';
import { decodeCursor } from '../../kernel/wire/cursor.ts';
import { DELETED, type Deleted, LIST_LIMIT_DEFAULT } from '../../kernel/wire/wire.ts';
import { findHead, newestCheckpoint, parseTime, segmentHolding, seqBefore } from '../audit/index.ts';
import type * as contract from './contract.ts';
import { readExporter } from './contract.ts';
import { sealCredentials, unsealCredentials } from './credentials.ts';
import { encoder } from './encoding.ts';
import type { ExportedEntry } from './exported-entry.ts';
import { RECEIVERS, type ReceiverParts, refuseUnusable } from './receivers.ts';
import type { Exporter } from './schemas.ts';
import * as store from './store.ts';
import { NotDelivered } from './transports/transport.ts';

const LIST_CURSOR = new RegExp(`^${store.CURSOR_KIND}$`);
const LOSSES_SHOWN = 20;
const TEST_TIMEOUT_MS = 20_000;

type Changes = Body<typeof contract.updateExporter>;

export async function create(ctx: Context, body: Body<typeof contract.createExporter>): Promise<Exporter> {
  ctx.access.requireUnrestricted();
  const key = { tenant_id: ctx.tenantId, exporter_id: newId('exporter', ctx.now) };
  const credentials = body.credentials ?? {};
  refuseUnusable(body.type, body.endpoint, credentials);
  refuseForbidden(ctx.kernel.outbound, '/body/endpoint', body.endpoint);
  refuseWrongCertificates(body.ca_pem);
  const row: store.ExporterRow = {
    ...key,
    name: body.name,
    type: body.type,
    format: body.format ?? 'native',
    filter: JSON.stringify(body.filter ?? {}),
    endpoint: body.endpoint,
    ca_pem: body.ca_pem ?? null,
    sealed_credentials: await sealCredentials(ctx.kernel, key, credentials),
    enabled: Number(body.enabled ?? true),
    created_by: ctx.principal.id,
    created_at: ctx.now,
    updated_at: ctx.now,
  };
  return ctx.change(async (tx) => {
    await lockQuota(tx, ctx.tenantId, 'exporters');
    refuseBeyondQuota(ctx, 'exporters', await store.countExporters(tx, ctx.tenantId));
    ctx.record.describe(described(row));
    const head = await findHead(tx, ctx.tenantId);
    const checkpoint = await newestCheckpoint(tx, ctx.tenantId);
    const progress = startAt(key, Number(head?.seq ?? 0), Number(checkpoint?.checkpoint_no ?? 0));
    await unlessTaken(store.insertExporter(tx, row, progress));
    await ctx.needsApproval(tx, {
      differences: [{ what: `exporter ${row.name}`, before: null, after: described(row) }],
    });
    return toWire(tx, row, ctx.now);
  });
}

/** The progress of a new exporter, which begins after this entry and this checkpoint. */
export function startAt(key: store.ExporterKey, seq: number, checkpointNo: number): store.ProgressRow {
  return {
    ...key,
    begin_seq: seq + 1,
    cursor_seq: seq,
    checkpoint_no: checkpointNo,
    revision: 1,
    delivered: 0,
    rejected: 0,
    skipped: 0,
    last_success_at: null,
    last_error: null,
    last_error_at: null,
    failures: 0,
    next_attempt_at: 0,
    lease_owner: null,
    lease_until: 0,
  };
}

export async function list(ctx: Context, query: Query<typeof contract.listExporters>) {
  const { read } = ctx.database;
  const [, after = ''] = decodeCursor(await plainCursor(ctx, query.cursor), LIST_CURSOR, idForm('exporter')) ?? [];
  const found = await store.listExporters(read, ctx.tenantId, after, query.limit ?? LIST_LIMIT_DEFAULT);
  const page = await visiblePage(ctx, found, {
    permissions: [readExporter.permission],
    resources: ({ exporter_id }) => [`exporter/${exporter_id}`],
  });
  const exporters: Exporter[] = [];
  for (const row of page.rows) exporters.push(await toWire(read, row, ctx.now));
  return { exporters, next_cursor: page.next_cursor };
}

export async function read(ctx: Context, exporterId: string): Promise<Exporter> {
  return toWire(ctx.database.read, await existing(ctx, exporterId), ctx.now);
}

export async function update(ctx: Context, exporterId: string, body: Changes): Promise<Exporter> {
  ctx.access.requireUnrestricted();
  refuseWrongCertificates(body.ca_pem);
  const known = await existing(ctx, exporterId);
  const credentials = await credentialsAfter(ctx, known, body);
  const sealed = body.credentials === undefined ? null : await sealCredentials(ctx.kernel, known, credentials);
  return ctx.change(async (tx) => {
    const row = await store.lockExporter(tx, known);
    if (row === undefined) throw notFound('exporter');
    refuseIfReceiverChanged(row, known);
    const changed: store.ExporterRow = {
      ...row,
      name: body.name ?? row.name,
      format: body.format ?? row.format,
      filter: body.filter === undefined ? row.filter : JSON.stringify(body.filter),
      endpoint: body.endpoint ?? row.endpoint,
      ca_pem: body.ca_pem === undefined ? row.ca_pem : body.ca_pem,
      sealed_credentials: body.credentials === undefined ? row.sealed_credentials : sealed,
      enabled: Number(body.enabled ?? row.enabled === 1),
      updated_at: ctx.now,
    };
    ctx.record.describe({ ...described(changed), changed: Object.keys(body) });
    await unlessTaken(store.updateExporter(tx, changed));
    await store.reviseProgress(tx, row, {});
    const what = `exporter ${row.name}`;
    const hasNewCredentials = body.credentials !== undefined;
    const after = { ...described(changed), has_new_credentials: hasNewCredentials };
    await ctx.needsApproval(tx, { basis: basisOn(row), differences: [{ what, before: described(row), after }] });
    return toWire(tx, changed, ctx.now);
  });
}

/** Stored credentials go to another host only if anyone who changes the endpoint knows them: otherwise an admin could have them sent to a host of theirs. */
async function credentialsAfter(ctx: Context, row: store.ExporterRow, body: Changes) {
  const isElsewhere = body.endpoint !== undefined && body.endpoint !== row.endpoint;
  if (isElsewhere && body.credentials === undefined && row.sealed_credentials !== null) {
    throw invalidField('/body/credentials', 'must be given with a new endpoint');
  }
  const credentials = body.credentials ?? (await unsealCredentials(ctx.kernel, row));
  refuseUnusable(row.type, body.endpoint ?? row.endpoint, credentials);
  if (body.endpoint !== undefined) refuseForbidden(ctx.kernel.outbound, '/body/endpoint', body.endpoint);
  return credentials;
}

/** Endpoint and credentials were checked together before the transaction, so they must still be the ones that were read. */
function refuseIfReceiverChanged(row: store.ExporterRow, known: store.ExporterRow): void {
  const credentialsOf = ({ sealed_credentials }: store.ExporterRow) => Buffer.from(sealed_credentials ?? []);
  if (row.endpoint === known.endpoint && credentialsOf(row).equals(credentialsOf(known))) return;
  throw new CofferError('VERSION_CONFLICT', 'The exporter was changed meanwhile: read it again and retry.');
}

export async function remove(ctx: Context, exporterId: string): Promise<Deleted> {
  const known = await existing(ctx, exporterId);
  return ctx.change(async (tx) => {
    const row = await store.lockExporter(tx, known);
    if (row === undefined) throw notFound('exporter');
    ctx.record.describe(described(row));
    await store.deleteExporter(tx, row);
    await ctx.needsApproval(tx, {
      basis: basisOn(row),
      differences: [{ what: `exporter ${row.name}`, before: described(row), after: null }],
    });
    return DELETED;
  });
}

/** The cursor goes back by a replay and forward by delivery. Moving it over entries that were not sent takes a second person, and is counted. */
export async function replay(ctx: Context, exporterId: string, body: Body<typeof contract.replayExporter>) {
  const { from, skip = false } = body;
  if (skip) ctx.access.requireUnrestricted();
  const known = await existing(ctx, exporterId);
  const time = parseTime(from, '/body/from');
  return ctx.change(async (tx) => {
    const row = await store.lockExporter(tx, known);
    const progress = await store.lockProgress(tx, known);
    if (row === undefined || progress === undefined) throw notFound('exporter');
    const seq = await seqBefore(tx, ctx.tenantId, idAtTime('audit', time));
    ctx.record.describe({ name: row.name, from, after_seq: seq });
    if (skip) await skipTo(ctx, tx, { row, progress }, { seq, time, from });
    else if (seq > progress.cursor_seq) throw invalidField('/body/from', AHEAD);
    else await store.reviseProgress(tx, row, { begin_seq: seq + 1, cursor_seq: seq, checkpoint_no: 0 });
    return toWire(tx, row, ctx.now);
  });
}

const AHEAD =
  'is later than the first entry that was not sent, and a replay only goes back: give an earlier time, or leave entries out for good with "skip": true, which needs approval';

async function skipTo(
  ctx: Context,
  tx: Tx,
  { row, progress: { cursor_seq, skipped } }: { row: store.ExporterRow; progress: store.ProgressRow },
  { seq, time, from }: { seq: number; time: number; from: string },
): Promise<void> {
  // Otherwise it would also leave out what happens until somebody approves it.
  if (time > ctx.now) throw invalidField('/body/from', 'must not be in the future');
  if (seq <= cursor_seq) {
    throw new CofferError(
      'VERSION_CONFLICT',
      'Every entry before this time was sent already, so there is none to skip.',
    );
  }
  const { tenant_id, exporter_id } = row;
  const count = seq - cursor_seq;
  ctx.record.describe({ skipped: count });
  await store.reviseProgress(tx, row, { begin_seq: seq + 1, cursor_seq: seq, skipped: skipped + count });
  const loss = { from_seq: cursor_seq + 1, to_seq: seq, kind: 'skipped', lost_at: ctx.now } as const;
  await store.recordLosses(tx, [
    { tenant_id, exporter_id, ...loss, reason: `skipped on request of ${ctx.principal.id}` },
  ]);
  const what = `unsent entries of exporter ${row.name} before ${from}`;
  await ctx.needsApproval(tx, { basis: basisOn(row), differences: [{ what, before: 'sent', after: 'left out' }] });
}

export async function test(ctx: Context, parts: ReceiverParts, exporterId: string) {
  const row = await existing(ctx, exporterId);
  const destination = {
    owner: row.tenant_id,
    endpoint: row.endpoint,
    caPem: row.ca_pem,
    credentials: await unsealCredentials(ctx.kernel, row),
  };
  const transport = RECEIVERS[row.type].open(parts, destination);
  const encoded = encoder(row.format, parts.version, transport)(testEntry(ctx));
  const startedAt = performance.now();
  const outcome = await sendTest(
    () => transport.send([encoded], AbortSignal.timeout(TEST_TIMEOUT_MS)),
    () => transport.finish(),
  );
  ctx.record.describe({ name: row.name, delivered: outcome.delivered });
  return { ...outcome, duration_ms: Math.round(performance.now() - startedAt) };
}

async function sendTest(send: () => Promise<{ rejected: { reason: string }[] }>, finish: () => Promise<void>) {
  try {
    const { rejected } = await send();
    await finish();
    const [refusal] = rejected;
    return refusal === undefined
      ? { delivered: true, message: 'The receiver took the test entry.' }
      : { delivered: false, message: `The receiver refused the test entry: ${refusal.reason}` };
  } catch (error) {
    if (error instanceof NotDelivered) return { delivered: false, message: `Not delivered: ${error.message}.` };
    if ((error as Error).name === 'TimeoutError' || (error as Error).name === 'AbortError') {
      return {
        delivered: false,
        message: `Not delivered: the receiver did not confirm it within ${TEST_TIMEOUT_MS / 1000} s.`,
      };
    }
    throw error;
  }
}

function testEntry(ctx: Context): ExportedEntry {
  return {
    id: newId('audit', ctx.now),
    tenant_id: ctx.tenantId,
    timestamp: timestamp(ctx.now),
    actor: { kind: ctx.principal.kind, id: ctx.principal.id, name: ctx.principal.name, key: '' },
    action: 'exporters:test',
    resource: 'exporter',
    vault: null,
    decision: 'allow',
    status: 200,
    ip: '',
    user_agent: '',
    request_id: '',
    reason: null,
    details: { test: true },
    seq: null,
    hash: null,
    test: true,
  };
}

async function existing(ctx: Context, exporterId: string): Promise<store.ExporterRow> {
  const row = await store.findExporter(ctx.database.read, { tenant_id: ctx.tenantId, exporter_id: exporterId });
  if (row === undefined) throw notFound('exporter');
  return row;
}

/** Credentials and certificates are not shown, so any other change since makes the approval void. */
function basisOn({ exporter_id, updated_at }: store.ExporterRow) {
  return { exporter: exporter_id, changed_at: updated_at };
}

/** What approvers and the audit log see. Credentials are not part of it. */
function described({ name, type, format, filter, endpoint, enabled, ca_pem }: store.ExporterRow) {
  return {
    name,
    type,
    format,
    filter: JSON.parse(filter),
    endpoint,
    enabled: enabled === 1,
    has_ca_pem: ca_pem !== null,
  };
}

async function unlessTaken(write: Promise<void>): Promise<void> {
  try {
    await write;
  } catch (error) {
    if (!(error instanceof UniqueViolation)) throw error;
    throw new CofferError('ALREADY_EXISTS', 'An exporter of this name exists already.');
  }
}

function refuseWrongCertificates(pem: string | null | undefined): void {
  if (pem === null || pem === undefined) return;
  try {
    new X509Certificate(pem);
  } catch {
    throw invalidField('/body/ca_pem', 'must be one or more certificates in PEM');
  }
}

async function toWire(db: Reader, row: store.ExporterRow, now: number): Promise<Exporter> {
  const progress = await store.findProgress(db, row);
  if (progress === undefined) throw notFound('exporter');
  const head = await findHead(db, row.tenant_id);
  const lag = Math.max(0, Number(head?.seq ?? 0) - progress.cursor_seq);
  const waiting = lag === 0 ? undefined : await segmentHolding(db, row.tenant_id, progress.cursor_seq + 1);
  const losses = await store.newestLosses(db, row, LOSSES_SHOWN);
  return {
    id: row.exporter_id,
    name: row.name,
    type: row.type,
    format: row.format,
    filter: JSON.parse(row.filter),
    endpoint: row.endpoint,
    ca_pem: row.ca_pem,
    enabled: row.enabled === 1,
    cursor: progress.cursor_seq,
    lag_entries: lag,
    lag_seconds:
      waiting === undefined ? 0 : Math.max(0, Math.round((now - timeAt(waiting, progress.cursor_seq + 1)) / 1000)),
    delivered: progress.delivered,
    rejected: progress.rejected,
    skipped: progress.skipped,
    losses: losses.map(({ from_seq, to_seq, kind, reason, lost_at }) => ({
      from_seq,
      to_seq,
      kind,
      reason,
      at: timestamp(lost_at),
    })),
    last_success_at: progress.last_success_at === null ? null : timestamp(progress.last_success_at),
    last_error: progress.last_error,
    created_by: row.created_by,
    created_at: timestamp(row.created_at),
    updated_at: timestamp(row.updated_at),
  };
}
