import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Finding } from '../../server/src/features/anomalies/detectors/detector.ts';
import { type Raised, raiseAll } from '../../server/src/features/anomalies/raise.ts';
import type { AnomalyType } from '../../server/src/features/anomalies/schemas.ts';
import type { HourlyCount } from '../../server/src/features/rollups/index.ts';
import { addCounts } from '../../server/src/features/rollups/store.ts';
import { DAY_MS, HOUR_MS } from '../../server/src/kernel/base/clock.ts';
import { ok } from './people.ts';
import { catchUp } from './rollups.ts';
import { behindItsBack } from './rows.ts';
import type { Answer, Service } from './service.ts';

/** What a detector would find about a secret. */
export function finding(about: Partial<Finding> & { resource: string }): Finding {
  return {
    vaultId: null,
    secretId: null,
    connectionNo: null,
    ratio: 1.5,
    isProductionFortress: false,
    baseline: { rotation_days_allowed: 90 },
    observed: { days_since_rotation: 135 },
    kind: '',
    features: [0.6],
    window: null,
    votes: null,
    isRaised: true,
    ...about,
  };
}

/** Stores a finding as a scan does. */
export async function raiseIn(
  service: Service,
  tenantId: string,
  type: AnomalyType,
  found: Finding,
  more: Partial<Parameters<typeof raiseAll>[3]> = {},
): Promise<Raised> {
  const { database } = service.app.kernel;
  const raising = { tenantId, scanNo: 1, now: service.clock.now(), mode: 'v1', room: 1, ...more };
  const [raised] = await database.transaction((tx) => raiseAll(tx, type, [found], raising));
  assert.ok(raised !== undefined);
  return raised;
}

/** A test that advances the clock by days makes every tenant due, and the one that was scanned last waits for all others. */
const SCANNED_WITHIN_MS = 240_000;

/** Asks for a scan and waits until it has ended. */
export async function scanned(service: Service, token: string): Promise<void> {
  await ok(service.call('POST', '/anomalies/scan', { token }));
  const deadline = performance.now() + SCANNED_WITHIN_MS;
  for (;;) {
    const { requested_at } = await ok(service.call('GET', '/anomalies/models', { token }));
    if (requested_at === null) return;
    if (performance.now() > deadline) await failWithScans(service);
    await sleep(50);
  }
}

/** Why a scan does not end is in its row and in the log. */
async function failWithScans({ app, logs }: Service): Promise<never> {
  const rows = await app.kernel.database.read.selectFrom('anomaly_scans').selectAll().execute();
  const failed = logs.filter((line) => /"level":"(warn|error)"/.test(line));
  assert.fail(`the scan does not end: ${JSON.stringify({ now: app.kernel.clock.now(), rows, failed })}`);
}

export async function anomaliesOf(service: Service, token: string, query = ''): Promise<Answer['body'][]> {
  return (await ok(service.call('GET', `/anomalies?limit=1000&${query}`, { token }))).anomalies;
}

/** Lets the counts of a tenant begin so many days ago, as if its log were that old. */
export async function countedSince(service: Service, tenantId: string, daysAgo: number): Promise<void> {
  const { kernel } = service.app;
  await catchUp(kernel, tenantId, new AbortController().signal);
  const first_entry_at = service.clock.now() - daysAgo * DAY_MS;
  await behindItsBack(kernel.database, (db) =>
    db.updateTable('rollup_progress').set({ first_entry_at }).where('tenant_id', '=', tenantId).execute(),
  );
}

/** Advances to the beginning of an hour, so that no hour ends between what a test counts and what it then reads. */
export function toBeginningOfHour({ clock }: Service): void {
  clock.advance(HOUR_MS - (clock.now() % HOUR_MS));
}

export interface Past extends Partial<Omit<HourlyCount, 'hour'>> {
  resource: string;
  /** 0 is the hour that has begun. */
  hoursAgo: number;
}

/** Counts of past hours, as if they had been counted from the log. */
export async function addPast(service: Service, tenantId: string, past: readonly Past[]): Promise<void> {
  const hour = Math.floor(service.clock.now() / HOUR_MS) * HOUR_MS;
  const rows = past.map(({ hoursAgo, ...count }) => ({
    tenant_id: tenantId,
    actor_kind: 'user',
    actor_id: 'user_1',
    country: '',
    reads: 0,
    denied: 0,
    ...count,
    hour_start: hour - hoursAgo * HOUR_MS,
  }));
  await service.app.kernel.database.transaction((tx) => addCounts(tx, rows));
}

/** The same count in each of these hours. */
export function eachHour(from: number, to: number, count: Omit<Past, 'hoursAgo'>): Past[] {
  return Array.from({ length: from - to + 1 }, (_, i) => ({ ...count, hoursAgo: from - i }) as Past);
}
