import { DAY_MS, HOUR_MS, timestamp } from '../../../kernel/base/clock.ts';
import { type RiskSpike, riskSpikes, type SpikeOptions } from '../../risk/index.ts';
import { secretOfResource } from '../../secrets/index.ts';
import { watchedSecretAt } from '../../secrets/storage/index.ts';
import { TYPES } from '../schemas.ts';
import { anomalySettings } from '../settings.ts';
import { type Detector, PLAIN, type ScanContext } from './detector.ts';
import { aboutSecret } from './watched-vaults.ts';

const SPIKES_AT_ONCE = 200;
const [, , POINTS_DEFAULT] = TYPES.risk_score_spike;

/** Secrets whose risk score changed much within a day. */
export const riskSpike: Detector = {
  type: 'risk_score_spike',
  async *detect(context) {
    const { db, tenantId, now, signal, threshold, kernel } = context;
    const points = threshold('risk_score_spike') ?? POINTS_DEFAULT;
    // Nothing between two scans may be missed, however rarely they run.
    const since = now - Math.max(DAY_MS, kernel.config.of(anomalySettings).scanIntervalHours * HOUR_MS);
    for (let after: SpikeOptions['after']; !signal.aborted; ) {
      const page = await riskSpikes(db, tenantId, {
        since,
        // Scores are whole numbers: to be more than 12.5 is to be more than 12.
        points: Math.floor(points),
        limit: SPIKES_AT_ONCE,
        ...(after !== undefined && { after }),
      });
      for (const spike of page.spikes) {
        const about = await secretOf(context, spike);
        if (about === null) continue;
        const change = Math.abs(spike.after - spike.before);
        yield {
          ...PLAIN,
          ...about,
          ratio: change / points,
          baseline: { risk_score: spike.before },
          observed: { risk_score: spike.after, change, at: timestamp(spike.at) },
          features: [Math.log2(1 + change)],
        };
      }
      if (page.next === null) return;
      after = page.next;
    }
  },
};

async function secretOf({ db, tenantId }: ScanContext, { vault_id, resource }: RiskSpike) {
  const { vault: name = '', path = '' } = secretOfResource(resource) ?? {};
  const secret = await watchedSecretAt(db, tenantId, vault_id, path);
  return secret === undefined ? null : aboutSecret({ vault_id, name }, secret);
}
