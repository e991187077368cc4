import { DAY_MS, timestamp } from '../../../kernel/base/clock.ts';
import { memberReviews } from '../../vaults/storage/index.ts';
import { TYPES } from '../schemas.ts';
import { type Detector, PLAIN } from './detector.ts';

const VAULTS_AT_ONCE = 500;
const [, , DAYS_DEFAULT] = TYPES.privilege_creep;

/** Vaults that gained members since somebody last reviewed them, too long ago. */
export const privilegeCreep: Detector = {
  type: 'privilege_creep',
  async *detect({ db, tenantId, now, signal, threshold }) {
    const allowed = threshold('privilege_creep') ?? DAYS_DEFAULT;
    for (let after = ''; !signal.aborted; ) {
      const vaults = await memberReviews(db, tenantId, after, VAULTS_AT_ONCE);
      for (const { vault_id, name, since, members, added } of vaults) {
        const days = (now - since) / DAY_MS;
        if (added === 0 || days <= allowed) continue;
        yield {
          ...PLAIN,
          resource: `vault/${name}`,
          vaultId: vault_id,
          ratio: days / allowed,
          baseline: { review_days_allowed: allowed, members_at_review: members - added },
          observed: { days_since_review: Math.floor(days), reviewed_or_created_at: timestamp(since), members },
          features: [Math.log2(days / allowed), Math.log2(members)],
        };
      }
      const last = vaults.at(-1);
      if (last === undefined || vaults.length < VAULTS_AT_ONCE) return;
      after = last.name;
    }
  },
};
