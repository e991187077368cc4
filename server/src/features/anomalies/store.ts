import type { ExpressionBuilder } from 'kysely';
import { countRows } from '../../kernel/storage/count-rows.ts';
import type { Reader, Tx } from '../../kernel/storage/database.ts';
import type { Tables } from '../../kernel/storage/tables.ts';
import type { Cutoff } from '../../kernel/time/cutoff.ts';
import type { Severity } from '../webhooks/index.ts';

export interface AnomaliesTables {
  anomalies: AnomalyRow;
}

type AnomalyType =
  | 'stale_rotation'
  | 'unusual_access_pattern'
  | 'ip_region_anomaly'
  | 'backend_drift'
  | 'privilege_creep'
  | 'zombie_app_connection'
  | 'risk_score_spike';
type AnomalyStatus = 'open' | 'acknowledged' | 'dismissed' | 'resolved';

/** Decides no access, so it has no MAC. What people decide about an anomaly is in the audit log. */
export interface AnomalyRow {
  tenant_id: string;
  anomaly_id: string;
  type: AnomalyType;
  severity: Severity;
  resource: string;
  vault_id: string | null;
  secret_id: string | null;
  connection_no: number | null;
  status: AnomalyStatus;
  /** Type and resource while it is open, null afterwards. It is unique, so that two nodes cannot open the same anomaly. */
  open_key: string | null;
  detected_at: number;
  last_seen_at: number;
  occurrences: number;
  /** The last scan that found it, so that a scan that is repeated after a crash does not count it twice. */
  scan_no: number;
  /** JSON, as are `observed` and `features`. */
  baseline: string;
  observed: string;
  training_class: string;
  features: string;
  /** The hours that the finding is about. They stay out of the baseline unless it is dismissed. */
  window_from: number | null;
  window_to: number | null;
  acted_at: number | null;
  acted_by: string | null;
  note: string | null;
  ended_at: number | null;
}

export type AnomalyKey = Pick<AnomalyRow, 'tenant_id' | 'anomaly_id'>;

/** Rows that are read or changed at a time. */
export const AT_ONCE = 500;
/** Anomalies that nobody has closed yet. */
const LIVE = ['open', 'acknowledged'] as const satisfies readonly AnomalyStatus[];

export interface Wanted {
  type: AnomalyType | undefined;
  severity: Severity | undefined;
  since: number | null;
  status: AnomalyStatus | 'all';
}

export async function insertIfNoneIsOpen(tx: Tx, row: AnomalyRow): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await tx
    .insertInto('anomalies')
    .values(row)
    .onConflict((c) => c.columns(['tenant_id', 'open_key']).doNothing())
    .executeTakeFirst();
  return numInsertedOrUpdatedRows === 1n;
}

export function findAnomaly(db: Reader, { tenant_id, anomaly_id }: AnomalyKey): Promise<AnomalyRow | undefined> {
  return db
    .selectFrom('anomalies')
    .selectAll()
    .where('tenant_id', '=', tenant_id)
    .where('anomaly_id', '=', anomaly_id)
    .executeTakeFirst();
}

export function lockAnomaly(tx: Tx, { tenant_id, anomaly_id }: AnomalyKey): Promise<AnomalyRow | undefined> {
  return tx
    .selectFrom('anomalies')
    .selectAll()
    .where('tenant_id', '=', tenant_id)
    .where('anomaly_id', '=', anomaly_id)
    .forUpdate()
    .executeTakeFirst();
}

export async function updateAnomaly(
  tx: Tx,
  { tenant_id, anomaly_id }: AnomalyKey,
  change: Partial<Omit<AnomalyRow, 'tenant_id' | 'anomaly_id'>>,
): Promise<void> {
  await tx
    .updateTable('anomalies')
    .set(change)
    .where('tenant_id', '=', tenant_id)
    .where('anomaly_id', '=', anomaly_id)
    .execute();
}

/** Newest first; `before` is the id after which the list goes on. */
export function anomaliesBefore(
  db: Reader,
  tenantId: string,
  wanted: Wanted,
  before: string | null,
): Promise<AnomalyRow[]> {
  let query = db
    .selectFrom('anomalies')
    .selectAll()
    .where((eb) => isWanted(eb, tenantId, wanted))
    .orderBy('anomaly_id', 'desc')
    .limit(AT_ONCE);
  if (before !== null) query = query.where('anomaly_id', '<', before);
  return query.execute();
}

function isWanted(
  eb: ExpressionBuilder<Tables, 'anomalies'>,
  tenantId: string,
  { type, severity, since, status }: Wanted,
) {
  return eb.and([
    eb('tenant_id', '=', tenantId),
    ...(type === undefined ? [] : [eb('type', '=', type)]),
    ...(severity === undefined ? [] : [eb('severity', '=', severity)]),
    ...(since === null ? [] : [eb('detected_at', '>=', since)]),
    ...(status === 'all' ? [] : [eb('status', '=', status)]),
  ]);
}

/**
 * Anomalies by what they are about. The ids come from an index that holds all columns of the query. SQLite would otherwise prefer the primary key, and
 * read every anomaly of the tenant for each finding.
 */
function idsAbout(eb: ExpressionBuilder<Tables, 'anomalies'>, tenantId: string, about: About) {
  const ids = eb.selectFrom('anomalies as same').select('same.anomaly_id').where('same.tenant_id', '=', tenantId);
  if ('secretIds' in about) return ids.where('same.secret_id', 'in', about.secretIds);
  const ofResources = ids.where('same.resource', 'in', about.resources);
  return about.type === undefined ? ofResources : ofResources.where('same.type', '=', about.type);
}

type About = { secretIds: readonly string[] } | { resources: readonly string[]; type?: AnomalyType };

/** Open and acknowledged ones of a type and resource, the open one first. */
export function lockLive(tx: Tx, tenantId: string, type: AnomalyType, resource: string): Promise<AnomalyRow[]> {
  return tx
    .selectFrom('anomalies')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('anomaly_id', 'in', (eb) => idsAbout(eb, tenantId, { resources: [resource], type }))
    .where('status', 'in', LIVE)
    .orderBy('status', 'desc')
    .orderBy('anomaly_id')
    .forUpdate()
    .execute();
}

/** Hours of these resources that were found unusual, and about which nobody has decided that they are usual. */
export function unusualWindows(
  db: Reader,
  tenantId: string,
  type: AnomalyType,
  resources: readonly string[],
): Promise<Pick<AnomalyRow, 'resource' | 'window_from' | 'window_to'>[]> {
  return db
    .selectFrom('anomalies')
    .select(['resource', 'window_from', 'window_to'])
    .where('tenant_id', '=', tenantId)
    .where('anomaly_id', 'in', (eb) => idsAbout(eb, tenantId, { resources, type }))
    .where('status', 'in', LIVE)
    .where('window_from', 'is not', null)
    .execute();
}

/** Of one tenant, or of all. Only open ones have a key, and its index begins with the tenant. */
export function countOpen(db: Reader, tenantId?: string): Promise<number> {
  const all = db.selectFrom('anomalies');
  if (tenantId === undefined) return countRows(all.where('status', '=', 'open'));
  return countRows(all.where('tenant_id', '=', tenantId).where('open_key', 'is not', null));
}

/** Of anomalies that people acted on since then: how many, and how many of them they called false alarms. */
export async function countActedOn(db: Reader, since: number): Promise<{ acted: number; dismissed: number }> {
  const rows = await db
    .selectFrom('anomalies')
    .select(['status', (eb) => eb.fn.countAll<number>().as('count')])
    .where('status', 'in', ['acknowledged', 'dismissed'])
    .where('detected_at', '>=', since)
    .groupBy('status')
    .execute();
  const of = (status: AnomalyStatus) => Number(rows.find((row) => row.status === status)?.count ?? 0);
  return { acted: of('acknowledged') + of('dismissed'), dismissed: of('dismissed') };
}

/** Open ones that nobody acted on, and acknowledged ones that no scan found again. */
export function overdue(db: Reader, cutoff: Cutoff): Promise<AnomalyKey[]> {
  return db
    .selectFrom('anomalies')
    .select(['tenant_id', 'anomaly_id'])
    .where((eb) =>
      eb.or([
        eb.and([eb('status', '=', 'open'), eb('detected_at', '<', cutoff)]),
        eb.and([eb('status', '=', 'acknowledged'), eb('detected_at', '<', cutoff), eb('last_seen_at', '<', cutoff)]),
      ]),
    )
    .limit(AT_ONCE)
    .execute();
}

export async function resolve(tx: Tx, { tenant_id, anomaly_id }: AnomalyKey, now: number): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('anomalies')
    .set({ status: 'resolved', open_key: null, ended_at: now })
    .where('tenant_id', '=', tenant_id)
    .where('anomaly_id', '=', anomaly_id)
    .where('status', 'in', LIVE)
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}

/** What they are about was removed for good. */
export async function resolveAbout(
  tx: Tx,
  tenantId: string,
  about: About | { connectionNo: number },
  now: number,
): Promise<void> {
  await tx
    .updateTable('anomalies')
    .set({ status: 'resolved', open_key: null, ended_at: now })
    .where('tenant_id', '=', tenantId)
    .where('status', 'in', LIVE)
    .where((eb) =>
      'connectionNo' in about
        ? eb('connection_no', '=', about.connectionNo)
        : eb('anomaly_id', 'in', idsAbout(eb, tenantId, about)),
    )
    .execute();
}

/** Deletes anomalies that ended before; returns how many. */
export async function deleteEnded(tx: Tx, cutoff: Cutoff): Promise<number> {
  const rows = await tx
    .selectFrom('anomalies')
    .select(['tenant_id', 'anomaly_id'])
    .where('ended_at', '<', cutoff)
    .limit(AT_ONCE)
    .execute();
  for (const { tenant_id, anomaly_id } of rows) {
    await tx.deleteFrom('anomalies').where('tenant_id', '=', tenant_id).where('anomaly_id', '=', anomaly_id).execute();
  }
  return rows.length;
}

/** Those that raise the risk score of these secrets: live ones, and those that ended after a time. */
export function anomaliesOfSecrets(
  db: Reader,
  tenantId: string,
  secretIds: readonly string[],
  endedAfter: number,
): Promise<Pick<AnomalyRow, 'secret_id' | 'type' | 'severity' | 'status'>[]> {
  return db
    .selectFrom('anomalies')
    .select(['secret_id', 'type', 'severity', 'status'])
    .where('tenant_id', '=', tenantId)
    .where('anomaly_id', 'in', (eb) => idsAbout(eb, tenantId, { secretIds }))
    .where('severity', 'in', ['high', 'critical'])
    .where((eb) => eb.or([eb('status', 'in', LIVE), eb('ended_at', '>', endedAfter)]))
    .execute();
}
