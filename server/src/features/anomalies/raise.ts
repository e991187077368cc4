import { newId } from '../../kernel/base/ids.ts';
import type { Tx } from '../../kernel/storage/database.ts';
import { type Emitted, emitAll, isAtLeast, type Severity } from '../webhooks/index.ts';
import type { Finding } from './detectors/detector.ts';
import { storeVote, trainingOf } from './model-store.ts';
import { isLikeDismissed } from './models/false-alarms.ts';
import { type AnomalyType, TYPES } from './schemas.ts';
import { severityOf } from './severity.ts';
import * as store from './store.ts';
import { toWire } from './wire.ts';

interface Raising {
  tenantId: string;
  scanNo: number;
  now: number;
  mode: string;
  /** False once the tenant has too many open anomalies: then only known ones are counted again. */
  mayOpen: boolean;
  /** Events to emit once all findings are stored. */
  told: Emitted[];
}

/** What became of a finding. */
export interface Raised {
  /** Its severity, if it is a new anomaly. */
  opened: Severity | null;
  /** The anomaly that it belongs to; null if it was not raised. */
  anomalyId: string | null;
}

/** Stores findings, of which at most `room` may become new anomalies. Runs in the transaction that also emits the events. */
export async function raiseAll(
  tx: Tx,
  type: AnomalyType,
  findings: readonly Finding[],
  { room, ...scan }: Omit<Raising, 'mayOpen' | 'told'> & { room: number },
): Promise<Raised[]> {
  const told: Emitted[] = [];
  const all: Raised[] = [];
  let left = room;
  for (const finding of findings) {
    const raised = await raise(tx, type, finding, { ...scan, mayOpen: left > 0, told });
    if (raised.opened !== null) left--;
    all.push(raised);
  }
  await emitAll(tx, scan.tenantId, told, scan.now);
  return all;
}

/** Stores a finding: as a new anomaly, or as another occurrence of the one that is known. */
async function raise(tx: Tx, type: AnomalyType, finding: Finding, raising: Raising): Promise<Raised> {
  const { tenantId } = raising;
  const training_class = classOf(type, finding);
  const isKnown = isLikeDismissed(finding.features, await trainingOf(tx, tenantId, training_class));
  const isRaised = finding.isRaised && !isKnown;
  const { anomaly, opened } = isRaised ? await openOrRepeat(tx, type, finding, raising) : NOTHING;
  const { votes } = finding;
  if (votes !== null && (raising.mode === 'shadow' || raising.mode === 'ensemble')) {
    await storeVote(tx, {
      tenant_id: tenantId,
      resource: finding.resource,
      scan_no: raising.scanNo,
      mode: raising.mode,
      v1: Number(votes.v1),
      v2: Number(votes.v2),
      forest: votes.forest === null ? null : Number(votes.forest),
      anomaly_id: anomaly?.anomaly_id ?? null,
      voted_at: raising.now,
    });
  }
  return { opened, anomalyId: anomaly?.anomaly_id ?? null };
}

const NOTHING = { anomaly: null, opened: null };

/** Only what was dismissed about the same resource is compared, so that one false alarm hides nothing elsewhere. */
function classOf(type: AnomalyType, { resource, kind }: Finding): string {
  return JSON.stringify([type, resource, kind]);
}

async function openOrRepeat(
  tx: Tx,
  type: AnomalyType,
  finding: Finding,
  raising: Raising,
): Promise<{ anomaly: store.AnomalyRow | null; opened: Severity | null }> {
  const severity = severityOf(finding.ratio, finding.isProductionFortress);
  const known = await knownOne(tx, { type, finding, severity }, raising);
  if (known !== null) return { anomaly: await repeat(tx, known, { finding, severity }, raising), opened: null };
  if (!raising.mayOpen) return NOTHING;
  const row = newRow(type, finding, severity, raising);
  if (await store.insertIfNoneIsOpen(tx, row)) {
    raising.told.push(eventOf(row));
    return { anomaly: row, opened: severity };
  }
  // Another node has opened it since.
  const other = await knownOne(tx, { type, finding, severity }, raising);
  return { anomaly: other === null ? null : await repeat(tx, other, { finding, severity }, raising), opened: null };
}

/** The open one; or one that somebody acknowledged at this severity, who knows about it already. */
async function knownOne(
  tx: Tx,
  { type, finding: { resource }, severity }: { type: AnomalyType; finding: Finding; severity: Severity },
  { tenantId }: Raising,
): Promise<store.AnomalyRow | null> {
  const live = await store.lockLive(tx, tenantId, type, resource);
  const open = live.find(({ status }) => status === 'open');
  return open ?? live.find((one) => isAtLeast(one.severity, severity)) ?? null;
}

async function repeat(
  tx: Tx,
  known: store.AnomalyRow,
  { finding, severity }: { finding: Finding; severity: Severity },
  { scanNo, now, told }: Raising,
): Promise<store.AnomalyRow> {
  // The same scan, which was repeated after a crash.
  if (Number(known.scan_no) >= scanNo) return known;
  const hasRisen = !isAtLeast(known.severity, severity);
  const changed: store.AnomalyRow = {
    ...known,
    ...contentOf(known.type, finding),
    severity: hasRisen ? severity : known.severity,
    occurrences: known.occurrences + 1,
    last_seen_at: now,
    scan_no: scanNo,
    window_from: least(known.window_from, finding.window?.from ?? null),
    window_to: finding.window?.to ?? known.window_to,
  };
  const { tenant_id: _, anomaly_id: __, ...columns } = changed;
  await store.updateAnomaly(tx, known, columns);
  if (hasRisen) told.push(eventOf(changed));
  return changed;
}

function least(one: number | null, other: number | null): number | null {
  if (one === null || other === null) return one ?? other;
  return Math.min(Number(one), other);
}

function contentOf(type: AnomalyType, finding: Finding) {
  return {
    baseline: JSON.stringify(finding.baseline),
    observed: JSON.stringify(finding.observed),
    training_class: classOf(type, finding),
    features: JSON.stringify(finding.features),
  };
}

function newRow(
  type: AnomalyType,
  finding: Finding,
  severity: Severity,
  { tenantId, scanNo, now }: Raising,
): store.AnomalyRow {
  const { resource, vaultId, secretId, connectionNo, window } = finding;
  return {
    tenant_id: tenantId,
    anomaly_id: newId('anom', now),
    type,
    severity,
    resource,
    vault_id: vaultId,
    secret_id: secretId,
    connection_no: connectionNo,
    status: 'open',
    open_key: JSON.stringify([type, resource]),
    detected_at: now,
    last_seen_at: now,
    occurrences: 1,
    scan_no: scanNo,
    ...contentOf(type, finding),
    window_from: window?.from ?? null,
    window_to: window?.to ?? null,
    acted_at: null,
    acted_by: null,
    note: null,
    ended_at: null,
  };
}

function eventOf(row: store.AnomalyRow): Emitted {
  const { anomaly_id, type, severity, resource } = row;
  const summary = `${TYPES[type][0]} ${resource} (${severity}).`;
  return { event: 'anomaly.detected', object: toWire(row), severity, summary, dedupKey: anomaly_id };
}
