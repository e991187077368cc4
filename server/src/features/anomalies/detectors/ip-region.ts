import { DAY_MS } from '../../../kernel/base/clock.ts';
import { connectionResource } from '../../rollups/index.ts';
import { BASELINE_DAYS, countsOf, HISTORY_DAYS_MIN, type Period } from '../models/resource-history.ts';
import { TYPES } from '../schemas.ts';
import { aboutConnection, activeConnections } from './connections.ts';
import { type Detector, PLAIN, type ScanContext } from './detector.ts';

/** Countries that a finding names. There are about 250, and a finding is stored. */
const NAMED_MAX = 20;
/** A few hours tell most. */
const ROWS_AT_ONCE = 100;
const [, , COUNTRIES_DEFAULT] = TYPES.ip_region_anomaly;

/** Connections used in the last 24 hours from a country from which they were not used in the 30 days before. */
export const ipRegion: Detector = {
  type: 'ip_region_anomaly',
  async *detect(context) {
    const { now, countedSince, period, threshold } = context;
    const least = threshold('ip_region_anomaly') ?? COUNTRIES_DEFAULT;
    const oldEnough = now - HISTORY_DAYS_MIN * DAY_MS;
    if (countedSince === null || countedSince > oldEnough) return;
    for await (const connections of activeConnections(context)) {
      for (const connection of connections) {
        if (connection.created_at > oldEnough) continue;
        const { before, recent } = await countriesOf(context, connection.client_id);
        const unseen = [...recent].filter((country) => !before.has(country)).sort();
        if (unseen.length < least || unseen.length === 0) continue;
        yield {
          ...PLAIN,
          ...aboutConnection(connection),
          ratio: unseen.length / least,
          baseline: { countries: [...before].sort().slice(0, NAMED_MAX), days: BASELINE_DAYS },
          observed: { countries: unseen.slice(0, NAMED_MAX), count: unseen.length },
          kind: unseen.join(),
          features: [],
          window: { from: period.windowFrom, to: period.to },
        };
      }
    }
  },
};

/** Where a connection was used from. Addresses without a country, such as private ones, are left out. */
async function countriesOf(context: ScanContext, clientId: string) {
  const { period } = context;
  const { windowFrom } = period;
  const [before, recent] = [new Set<string>(), new Set<string>()];
  for await (const country of countriesIn(context, clientId, { ...period, from: windowFrom })) recent.add(country);
  let unseen = recent.size;
  for await (const country of countriesIn(context, clientId, { ...period, to: windowFrom })) {
    if (recent.has(country) && !before.has(country)) unseen--;
    before.add(country);
    // Most connections are used from the same countries every day, so the rest of their history is not read.
    if (unseen <= 0) break;
  }
  return { before, recent };
}

async function* countriesIn({ db, tenantId }: ScanContext, clientId: string, period: Period): AsyncGenerator<string> {
  const filter = { resource: connectionResource(clientId), rowsAtOnce: ROWS_AT_ONCE };
  for await (const { country } of countsOf(db, tenantId, period, filter)) if (country !== '') yield country;
}
