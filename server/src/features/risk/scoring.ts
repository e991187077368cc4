import { DAY_MS } from '../../kernel/base/clock.ts';
import type { RiskFactor } from '../secrets/index.ts';
import { RISK_SCORE_MAX } from '../secrets/risk/index.ts';

/** Readers who have not read for so long are stale. */
export const STALE_AFTER_DAYS = 60;
const STALE_AFTER_MS = STALE_AFTER_DAYS * DAY_MS;
/** Shorter passwords, keys and tokens can be guessed. */
export const VALUE_BYTES_MIN = 12;

/** The points of a factor that counts something: those of the highest bound that is reached. */
type Steps = readonly (readonly [atLeast: number, points: number])[];

/** The points of every factor. docs/guide/risk.md explains them, and a test compares the two. */
export const POINTS = {
  age_days: [
    [90, 10],
    [180, 15],
    [365, 20],
  ],
  no_rotation: 10,
  readers: [
    [6, 5],
    [11, 10],
    [26, 15],
    [101, 20],
  ],
  production: 15,
  weak_value: 20,
  repeated_value: 15,
  stale_readers: [
    [1, 5],
    [6, 10],
    [26, 15],
  ],
  ends_soon: [
    [30, 5],
    [7, 10],
    [0, 20],
  ],
} as const satisfies Record<string, Steps | number>;

/** What open anomalies add: 10 points for each high one and 20 for each critical one. The feature that has them counts them. */
export interface AnomalyPoints {
  points: number;
  why: string;
}

/** What is known about a secret, without its value. */
export interface Facts {
  now: number;
  type: string;
  environment: string;
  /** False where the service can make no value, so that to lack a rotation is no fault. */
  mayRotate: boolean;
  hasRotation: boolean;
  /** When the current value was written. */
  valuedAt: number;
  /** When the current value ends; null without an end. */
  endsAt: number | null;
  readers: number;
  /** Null if it cannot be known: reads are not logged, or not for long enough. */
  staleReaders: number | null;
  /** Null if values of this kind are not checked. */
  value: { bytes: number; isCommon: boolean; secretsWithIt: number } | null;
  anomalies: AnomalyPoints | null;
}

/** Types whose value is only good if it cannot be guessed. */
const GUESSABLE: ReadonlySet<string> = new Set(['password', 'api_key', 'token']);

export function riskFactorsFor(facts: Facts): RiskFactor[] {
  return [
    age(facts),
    noRotation(facts),
    readers(facts),
    production(facts),
    weakValue(facts),
    repeatedValue(facts),
    staleReaders(facts),
    openAnomalies(facts),
    endsSoon(facts),
  ].filter((factor) => factor !== null);
}

/** Whether somebody who is there since then can have become stale. */
export function isEstablished(since: number, now: number): boolean {
  return since <= now - STALE_AFTER_MS;
}

function age({ now, valuedAt }: Facts): RiskFactor | null {
  const days = Math.floor((now - valuedAt) / DAY_MS);
  const points = pointsAt(POINTS.age_days, days);
  return points === 0 ? null : { factor: 'age', points, why: `The value is ${days} days old.` };
}

function noRotation({ mayRotate, hasRotation }: Facts): RiskFactor | null {
  if (hasRotation || !mayRotate) return null;
  return { factor: 'no_rotation', points: POINTS.no_rotation, why: 'No automatic rotation is configured.' };
}

function readers(facts: Facts): RiskFactor | null {
  const points = pointsAt(POINTS.readers, facts.readers);
  if (points === 0) return null;
  return { factor: 'readers', points, why: `${facts.readers} users and connections may read it.` };
}

function production({ environment }: Facts): RiskFactor | null {
  if (environment !== 'production') return null;
  return { factor: 'production', points: POINTS.production, why: 'It is a production secret.' };
}

function weakValue({ value, type }: Facts): RiskFactor | null {
  if (value === null) return null;
  const { weak_value: points } = POINTS;
  if (value.isCommon) return { factor: 'weak_value', points, why: 'The value is a common password or a default.' };
  if (!GUESSABLE.has(type) || value.bytes >= VALUE_BYTES_MIN) return null;
  return { factor: 'weak_value', points, why: `The value has fewer than ${VALUE_BYTES_MIN} bytes.` };
}

function repeatedValue({ value }: Facts): RiskFactor | null {
  if (value === null || value.secretsWithIt < 2) return null;
  const why = `${value.secretsWithIt} secrets have this value.`;
  return { factor: 'repeated_value', points: POINTS.repeated_value, why };
}

function staleReaders({ staleReaders: count }: Facts): RiskFactor | null {
  const points = pointsAt(POINTS.stale_readers, count ?? 0);
  if (points === 0) return null;
  const why = `${count} of those who may read it have not read it for ${STALE_AFTER_DAYS} days.`;
  return { factor: 'stale_readers', points, why };
}

function openAnomalies({ anomalies }: Facts): RiskFactor | null {
  if (anomalies === null || anomalies.points === 0) return null;
  return { factor: 'open_anomalies', points: Math.min(anomalies.points, RISK_SCORE_MAX), why: anomalies.why };
}

function endsSoon({ now, endsAt }: Facts): RiskFactor | null {
  if (endsAt === null) return null;
  const daysLeft = Math.ceil((endsAt - now) / DAY_MS);
  const points = POINTS.ends_soon.findLast(([atMost]) => daysLeft <= atMost)?.[1];
  if (points === undefined) return null;
  const when = daysLeft === 1 ? 'ends within a day' : `ends within ${daysLeft} days`;
  return { factor: 'ends_soon', points, why: `The value ${daysLeft <= 0 ? 'has ended' : when}.` };
}

function pointsAt(steps: Steps, count: number): number {
  return steps.findLast(([atLeast]) => count >= atLeast)?.[1] ?? 0;
}
