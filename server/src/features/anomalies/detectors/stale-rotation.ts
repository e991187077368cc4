import { DAY_MS, timestamp } from '../../../kernel/base/clock.ts';
import { nextTurn } from '../../../kernel/fairness/event-loop-turns.ts';
import { type WatchedRow, watchedSecrets } from '../../secrets/storage/index.ts';
import { TYPES } from '../schemas.ts';
import { type Detector, PLAIN, type ScanContext } from './detector.ts';
import { aboutSecret, liveVaultsById } from './watched-vaults.ts';

const SECRETS_AT_ONCE = 500;
const [, , DAYS_DEFAULT] = TYPES.stale_rotation;

/** Secrets that were not rotated for longer than the tenant, or their own schedule, allows. */
export const staleRotation: Detector = {
  type: 'stale_rotation',
  async *detect(context) {
    const { db, tenantId, now, signal } = context;
    const ofTenant = context.threshold('stale_rotation');
    const vaults = await liveVaultsById(context);
    for (let after = 0; !signal.aborted; ) {
      const rows = await watchedSecrets(db, tenantId, after, SECRETS_AT_ONCE);
      for (const secret of rows) {
        const vault = vaults.get(secret.vault_id);
        const rotatedAt = Number(secret.rotated_at ?? secret.created_at);
        const allowed = allowedDays(ownInterval(context, secret), ofTenant);
        const days = (now - rotatedAt) / DAY_MS;
        if (vault === undefined || days <= allowed) continue;
        yield {
          ...PLAIN,
          ...aboutSecret(vault, secret),
          ratio: days / allowed,
          baseline: { rotation_days_allowed: allowed },
          observed: { days_since_rotation: Math.floor(days), last_rotated_at: timestamp(rotatedAt) },
          features: [Math.log2(days / allowed)],
        };
      }
      const last = rows.at(-1);
      if (last === undefined || rows.length < SECRETS_AT_ONCE) return;
      after = Number(last.secret_no);
      await nextTurn(tenantId);
    }
  },
};

/** One damaged schedule must not hide all the other secrets: that secret counts as one without a schedule. */
function ownInterval({ kernel, tenantId }: ScanContext, { secret_id, rotation }: WatchedRow): number | undefined {
  if (rotation === null) return undefined;
  try {
    return (JSON.parse(rotation) as { interval_days: number }).interval_days;
  } catch (err) {
    kernel.log.error({ err, tenant: tenantId, secret: secret_id }, 'the rotation schedule of a secret cannot be read');
    return undefined;
  }
}

/** A secret's own schedule may be stricter than the tenant's rule; it is more lenient only than the default. */
function allowedDays(own: number | undefined, ofTenant: number | undefined): number {
  return own === undefined ? (ofTenant ?? DAYS_DEFAULT) : Math.min(own, ofTenant ?? own);
}
