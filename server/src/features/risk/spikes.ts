import { DAY_MS } from '../../kernel/base/clock.ts';
import type { Reader } from '../../kernel/storage/database.ts';
import { secretResource } from '../secrets/index.ts';
import { locateSecrets } from '../secrets/storage/index.ts';
import { changedSecrets, changesOf, type RiskChangeRow } from './store.ts';

/** A secret whose risk changed much within 24 hours. The scores leave out what depends on the value. */
export interface RiskSpike {
  vault_id: string;
  secret_id: string;
  /** As the audit log names it. */
  resource: string;
  before: number;
  after: number;
  at: number;
}

export interface SpikeOptions {
  since: number;
  /** Changes by more than so many points, up or down. */
  points: number;
  /** The last secret of the page before. */
  after?: string;
  /** Secrets that are read for one page. */
  limit: number;
}

/** Changes that ended after a time, one for each secret, in pages; secrets that were deleted since are left out. `next` is null at the end. */
export async function riskSpikes(
  db: Reader,
  tenantId: string,
  { since, points, after = '', limit }: SpikeOptions,
): Promise<{ spikes: RiskSpike[]; next: string | null }> {
  const ids = await changedSecrets(db, tenantId, { since, after, limit });
  if (ids.length === 0) return { spikes: [], next: null };
  const changes = Map.groupBy(await changesOf(db, tenantId, ids, since - DAY_MS), ({ secret_id }) => secret_id);
  const located = await locateSecrets(db, tenantId, ids);
  const spikes = ids.flatMap((secret_id) => {
    const found = located.get(secret_id);
    const largest = largestChange(changes.get(secret_id) ?? [], since);
    if (found === undefined || largest === null || sizeOf(largest) <= points) return [];
    return [{ vault_id: found.vault_id, secret_id, resource: secretResource(found.vault, found.path), ...largest }];
  });
  return { spikes, next: ids.length < limit ? null : (ids.at(-1) ?? null) };
}

type Change = Pick<RiskSpike, 'before' | 'after' | 'at'>;

function sizeOf({ before, after }: Change): number {
  return Math.abs(after - before);
}

/** The largest change within any 24 hours that ended after `since`: several smaller ones add up, also over midnight. Changes come oldest first. */
function largestChange(changes: readonly RiskChangeRow[], since: number): Change | null {
  let largest: Change | null = null;
  let first = 0;
  for (const [i, { hour_start, score_after, changed_at }] of changes.entries()) {
    while (hour_start - Number(changes[first]?.hour_start) >= DAY_MS) first++;
    if (changed_at < since) continue;
    for (const { score_before } of changes.slice(first, i + 1)) {
      const change = { before: score_before, after: score_after, at: Number(changed_at) };
      if (largest === null || sizeOf(change) > sizeOf(largest)) largest = change;
    }
  }
  return largest;
}
