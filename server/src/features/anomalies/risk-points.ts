import { DAY_MS } from '../../kernel/base/clock.ts';
import type { Reader } from '../../kernel/storage/database.ts';
import type { AnomalyPoints } from '../risk/index.ts';
import { anomaliesOfSecrets } from './store.ts';

const POINTS = { high: 10, critical: 20 } as const;
/** How long the risk of a secret stays raised after its anomaly ended. */
const AFTER_END_MS = 7 * DAY_MS;

/** What anomalies add to the risk of secrets: those that are open or acknowledged, and those that ended within the last 7 days. */
export async function anomalyPoints(
  db: Reader,
  tenantId: string,
  secretIds: readonly string[],
  now: number,
): Promise<Map<string, AnomalyPoints>> {
  if (secretIds.length === 0) return new Map();
  const rows = await anomaliesOfSecrets(db, tenantId, secretIds, now - AFTER_END_MS);
  const bySecret = Map.groupBy(rows, ({ secret_id }) => String(secret_id));
  return new Map(
    [...bySecret].map(([secretId, anomalies]) => {
      const count = (severity: keyof typeof POINTS) => anomalies.filter((one) => one.severity === severity).length;
      const [high, critical] = [count('high'), count('critical')];
      const why = [...(critical > 0 ? [`${critical} critical`] : []), ...(high > 0 ? [`${high} high`] : [])].join(
        ' and ',
      );
      const points = high * POINTS.high + critical * POINTS.critical;
      return [secretId, { points, why: `Anomalies that are not over for 7 days: ${why}.` }];
    }),
  );
}
