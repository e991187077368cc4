import { timestamp } from '../../kernel/base/clock.ts';
import { recommendationFor } from './recommendation.ts';
import type { Anomaly, Facts } from './schemas.ts';
import type { AnomalyRow } from './store.ts';

export function toWire(row: AnomalyRow): Anomaly {
  const { type, resource } = row;
  const observed = JSON.parse(row.observed) as Facts;
  return {
    id: row.anomaly_id,
    type,
    severity: row.severity,
    resource,
    detected_at: timestamp(row.detected_at),
    last_seen_at: timestamp(row.last_seen_at),
    occurrences: row.occurrences,
    baseline: JSON.parse(row.baseline),
    observed: observed as Anomaly['observed'],
    recommendation: recommendationFor(type, { resource, observed }).replaceAll('{id}', row.anomaly_id),
    status: row.status,
    acted_at: row.acted_at === null ? null : timestamp(row.acted_at),
    acted_by: row.acted_by,
    note: row.note,
    ended_at: row.ended_at === null ? null : timestamp(row.ended_at),
  };
}
