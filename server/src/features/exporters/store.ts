import { DAY_MS } from '../../kernel/base/clock.ts';
import { AuthenticatedTable, type RowFilter } from '../../kernel/integrity/authenticated-table.ts';
import type { Reader, Tx } from '../../kernel/storage/database.ts';
import { isOver } from '../../kernel/storage/due-times.ts';
import type { Authenticated } from '../../kernel/storage/tables.ts';
import { type Page, pageOf } from '../../kernel/wire/cursor.ts';

export interface ExportersTables {
  exporters: Authenticated<ExporterRow>;
  exporter_progress: ProgressRow;
  exporter_losses: LossRow;
}

export interface ExporterRow {
  tenant_id: string;
  exporter_id: string;
  name: string;
  type: 'splunk_hec' | 'elastic' | 'datadog' | 'syslog' | 'otlp' | 'https_json';
  format: 'native' | 'ecs' | 'ocsf' | 'cef';
  /** JSON. */
  filter: string;
  endpoint: string;
  /** The only authorities trusted for the receiver; null for the system's. */
  ca_pem: string | null;
  sealed_credentials: Uint8Array | null;
  enabled: number;
  created_by: string;
  created_at: number;
  updated_at: number;
}

/** How far an exporter has come. A row without a MAC: the receiver sees gaps and repeats by the sequence numbers of the entries themselves. */
export interface ProgressRow {
  tenant_id: string;
  exporter_id: string;
  /** Entries before it are not sent: the exporter began after them, or the receiver has confirmed them. */
  begin_seq: number;
  /** The last entry that the receiver has, or that it was decided not to get. */
  cursor_seq: number;
  /** The last checkpoint that the receiver has. */
  checkpoint_no: number;
  /** Raised when somebody changes the exporter or its cursor, so that a run that began before ends. */
  revision: number;
  delivered: number;
  rejected: number;
  skipped: number;
  last_success_at: number | null;
  last_error: string | null;
  last_error_at: number | null;
  /** Failures since the last success. */
  failures: number;
  next_attempt_at: number;
  lease_owner: string | null;
  lease_until: number;
}

/** Entries that a receiver does not have, although the exporter is past them. */
export interface LossRow {
  tenant_id: string;
  exporter_id: string;
  from_seq: number;
  to_seq: number;
  kind: 'rejected' | 'skipped';
  reason: string;
  lost_at: number;
}

export type ExporterKey = Pick<ExporterRow, 'tenant_id' | 'exporter_id'>;

export const EXPORTERS = new AuthenticatedTable<'exporters', ExporterRow>('exporters', {
  key: ['exporter_id'],
  covered: [
    'name',
    'type',
    'format',
    'filter',
    'endpoint',
    'ca_pem',
    'sealed_credentials',
    'enabled',
    'created_by',
    'created_at',
    'updated_at',
  ],
});

export const CURSOR_KIND = 'exporters';
/** Older ones are deleted, since a receiver that refuses everything would fill the disk. */
const LOSSES_MAX = 1000;
/** Much longer than any wait after a failure, and than a lease. */
const AHEAD_MAX_MS = DAY_MS;

function isIt({ tenant_id, exporter_id }: ExporterKey): RowFilter<'exporters'> {
  return (eb) => eb.and({ tenant_id, exporter_id });
}

export async function insertExporter(tx: Tx, row: ExporterRow, progress: ProgressRow): Promise<void> {
  await EXPORTERS.insert(tx, row);
  await tx.insertInto('exporter_progress').values(progress).execute();
}

export async function findExporter(db: Reader, key: ExporterKey): Promise<ExporterRow | undefined> {
  return EXPORTERS.checked(db, await db.selectFrom('exporters').selectAll().where(isIt(key)).executeTakeFirst());
}

export async function lockExporter(tx: Tx, key: ExporterKey): Promise<ExporterRow | undefined> {
  const [row] = await EXPORTERS.lockedWhere(tx, isIt(key));
  return row;
}

export async function listExporters(
  db: Reader,
  tenantId: string,
  after: string,
  limit: number,
): Promise<Page<ExporterRow>> {
  const rows = await db
    .selectFrom('exporters')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('exporter_id', '>', after)
    .orderBy('exporter_id')
    .limit(limit + 1)
    .execute();
  return pageOf(rows, limit, (row) => [CURSOR_KIND, row.exporter_id]);
}

export async function countExporters(db: Reader, tenantId: string): Promise<number> {
  const row = await db
    .selectFrom('exporters')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('tenant_id', '=', tenantId)
    .executeTakeFirst();
  return Number(row?.count ?? 0);
}

export async function updateExporter(tx: Tx, { tenant_id, exporter_id, ...change }: ExporterRow): Promise<void> {
  await EXPORTERS.updateWhere(tx, isIt({ tenant_id, exporter_id }), change);
}

export async function deleteExporter(tx: Tx, key: ExporterKey): Promise<void> {
  await EXPORTERS.deleteWhere(tx, isIt(key));
  for (const table of ['exporter_progress', 'exporter_losses'] as const) {
    await tx
      .deleteFrom(table)
      .where('tenant_id', '=', key.tenant_id)
      .where('exporter_id', '=', key.exporter_id)
      .execute();
  }
}

export function findProgress(db: Reader, { tenant_id, exporter_id }: ExporterKey): Promise<ProgressRow | undefined> {
  return db
    .selectFrom('exporter_progress')
    .selectAll()
    .where('tenant_id', '=', tenant_id)
    .where('exporter_id', '=', exporter_id)
    .executeTakeFirst();
}

/** Locked, so that no run moves the cursor meanwhile. */
export function lockProgress(tx: Tx, { tenant_id, exporter_id }: ExporterKey): Promise<ProgressRow | undefined> {
  return tx
    .selectFrom('exporter_progress')
    .selectAll()
    .where('tenant_id', '=', tenant_id)
    .where('exporter_id', '=', exporter_id)
    .forUpdate()
    .executeTakeFirst();
}

/** Ends runs that began before, and lets the next one begin at once. */
export async function reviseProgress(tx: Tx, key: ExporterKey, change: Partial<ProgressRow>): Promise<void> {
  await tx
    .updateTable('exporter_progress')
    .set((eb) => ({
      ...change,
      revision: eb('revision', '+', 1),
      next_attempt_at: 0,
      failures: 0,
      lease_owner: null,
      lease_until: 0,
    }))
    .where('tenant_id', '=', key.tenant_id)
    .where('exporter_id', '=', key.exporter_id)
    .execute();
}

export function newestLosses(db: Reader, { tenant_id, exporter_id }: ExporterKey, limit: number): Promise<LossRow[]> {
  return db
    .selectFrom('exporter_losses')
    .selectAll()
    .where('tenant_id', '=', tenant_id)
    .where('exporter_id', '=', exporter_id)
    .orderBy('from_seq', 'desc')
    .limit(limit)
    .execute();
}

export async function recordLosses(tx: Tx, losses: readonly LossRow[]): Promise<void> {
  const [first] = losses;
  if (first === undefined) return;
  const { tenant_id, exporter_id } = first;
  for (const loss of losses) {
    const { to_seq, reason, lost_at } = loss;
    await tx
      .insertInto('exporter_losses')
      .values(loss)
      .onConflict((c) =>
        c.columns(['tenant_id', 'exporter_id', 'from_seq', 'kind']).doUpdateSet({ to_seq, reason, lost_at }),
      )
      .execute();
  }
  const newest = await newestLosses(tx, { tenant_id, exporter_id }, LOSSES_MAX);
  if (newest.length < LOSSES_MAX) return;
  await tx
    .deleteFrom('exporter_losses')
    .where('tenant_id', '=', tenant_id)
    .where('exporter_id', '=', exporter_id)
    .where('from_seq', '<', Number(newest.at(-1)?.from_seq))
    .execute();
}

export interface DueOptions {
  limit: number;
  exceptTenants: readonly string[];
  /** Whether to leave out those whose last attempt failed. */
  exceptFailing: boolean;
}

/** Enabled exporters with something to send, that no node runs and that need not wait after a failure; those that wait longest first. */
export async function dueExporters(
  db: Reader,
  now: number,
  { limit, exceptTenants, exceptFailing }: DueOptions,
): Promise<ProgressRow[]> {
  let query = db
    .selectFrom('exporter_progress')
    .innerJoin('exporters', (join) =>
      join
        .onRef('exporters.tenant_id', '=', 'exporter_progress.tenant_id')
        .onRef('exporters.exporter_id', '=', 'exporter_progress.exporter_id'),
    )
    .innerJoin('audit_heads', 'audit_heads.tenant_id', 'exporter_progress.tenant_id')
    .selectAll('exporter_progress')
    .where('exporters.enabled', '=', 1)
    .where(isOver('next_attempt_at', now, AHEAD_MAX_MS))
    .where(isOver('lease_until', now, AHEAD_MAX_MS))
    .whereRef('audit_heads.seq', '>', 'exporter_progress.cursor_seq')
    .orderBy('next_attempt_at')
    .limit(limit);
  if (exceptTenants.length > 0) query = query.where('exporter_progress.tenant_id', 'not in', exceptTenants);
  if (exceptFailing) query = query.where('failures', '=', 0);
  return query.execute();
}

/** The last entry that every enabled exporter of a tenant has delivered; infinity if it has none. */
export async function exportedSeq(db: Reader, tenantId: string): Promise<number> {
  const rows = await db
    .selectFrom('exporters')
    .innerJoin('exporter_progress as progress', (join) =>
      join
        .onRef('progress.tenant_id', '=', 'exporters.tenant_id')
        .onRef('progress.exporter_id', '=', 'exporters.exporter_id'),
    )
    .select('progress.cursor_seq')
    .where('exporters.tenant_id', '=', tenantId)
    .where('exporters.enabled', '=', 1)
    .execute();
  return Math.min(Number.POSITIVE_INFINITY, ...rows.map(({ cursor_seq }) => Number(cursor_seq)));
}

export interface ExporterState extends Pick<ProgressRow, 'exporter_id' | 'delivered' | 'rejected' | 'skipped'> {
  lag: number;
}

/** Of enabled exporters of all tenants, those that are farthest behind first. */
export async function exporterStates(db: Reader, limit: number): Promise<ExporterState[]> {
  const rows = await db
    .selectFrom('exporter_progress as progress')
    .innerJoin('exporters', (join) =>
      join
        .onRef('exporters.tenant_id', '=', 'progress.tenant_id')
        .onRef('exporters.exporter_id', '=', 'progress.exporter_id'),
    )
    .innerJoin('audit_heads', 'audit_heads.tenant_id', 'progress.tenant_id')
    .select(['progress.exporter_id', 'delivered', 'rejected', 'skipped'])
    .select((eb) => eb('audit_heads.seq', '-', eb.ref('progress.cursor_seq')).as('lag'))
    .where('exporters.enabled', '=', 1)
    .orderBy('lag', 'desc')
    .limit(limit)
    .execute();
  return rows.map(({ lag, ...row }) => ({ ...row, lag: Math.max(0, Number(lag)) }));
}

/** Takes an exporter for a node; false if another node was faster. */
export async function takeLease(
  tx: Tx,
  { tenant_id, exporter_id, lease_until }: ProgressRow,
  lease: Pick<ProgressRow, 'lease_owner' | 'lease_until'>,
): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('exporter_progress')
    .set(lease)
    .where('tenant_id', '=', tenant_id)
    .where('exporter_id', '=', exporter_id)
    .where('lease_until', '=', lease_until)
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}

/** Changes the progress of a run; false if the run no longer has the lease, or the exporter was changed since it began. */
export async function updateProgress(
  tx: Tx,
  { tenant_id, exporter_id, revision, lease_owner }: ProgressRow,
  change: Partial<ProgressRow>,
): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('exporter_progress')
    .set(change)
    .where('tenant_id', '=', tenant_id)
    .where('exporter_id', '=', exporter_id)
    .where('revision', '=', revision)
    .where('lease_owner', '=', lease_owner)
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}
