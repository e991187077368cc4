import { HOUR_MS, timestamp } from '../../../kernel/base/clock.ts';
import { nextTurn } from '../../../kernel/fairness/event-loop-turns.ts';
import { secretOfResource } from '../../secrets/index.ts';
import { type WatchedRow, watchedSecretAt } from '../../secrets/storage/index.ts';
import { judge, sampleOf, type Verdict } from '../models/access-models.ts';
import { ReaderHistories } from '../models/reader-models.ts';
import { historiesOf, type ResourceHistory } from '../models/resource-history.ts';
import { unusualHours } from '../unusual-hours.ts';
import { type Detector, type Finding, PLAIN, type ScanContext } from './detector.ts';
import { unusualReaders } from './unusual-readers.ts';
import { aboutSecret, liveVaultsById, type WatchedVault } from './watched-vaults.ts';

const RESOURCES_AT_ONCE = 100;

/** Secrets that are read far more often in the last 24 hours than before, and actors who read many that are new to them. */
export const unusualAccess: Detector = {
  type: 'unusual_access_pattern',
  async *detect(context) {
    const { db, tenantId, period, signal } = context;
    const { countedSince } = context;
    if (countedSince === null) return;
    const vaults = new Map([...(await liveVaultsById(context)).values()].map((vault) => [vault.name, vault]));
    const readers = new ReaderHistories(period);
    let batch: ResourceHistory[] = [];
    for await (const history of historiesOf(db, tenantId, period, 'vault/')) {
      if (signal.aborted) return;
      if (secretOfResource(history.resource) !== null) readers.add(history);
      // Without a read in the window there is no spike.
      if (history.reads.subarray(windowStart(history)).some((reads) => reads > 0)) batch.push(history);
      if (batch.length < RESOURCES_AT_ONCE) continue;
      yield* findingsIn(context, vaults, batch, countedSince);
      batch = [];
      await nextTurn(tenantId);
    }
    yield* findingsIn(context, vaults, batch, countedSince);
    yield* unusualReaders(context, readers, vaults, countedSince);
  },
};

function windowStart({ period }: ResourceHistory): number {
  return (period.windowFrom - period.from) / HOUR_MS;
}

async function* findingsIn(
  context: ScanContext,
  vaults: ReadonlyMap<string, WatchedVault>,
  histories: readonly ResourceHistory[],
  countedSince: number,
): AsyncGenerator<Finding> {
  const { db, tenantId } = context;
  if (histories.length === 0) return;
  const names = histories.map(({ resource }) => resource);
  const hours = await unusualHours(db, tenantId, names);
  for (const history of histories) {
    const { vault: vaultName = '', path = '' } = secretOfResource(history.resource) ?? {};
    const vault = vaults.get(vaultName);
    if (vault === undefined) continue;
    const unusual = hours.get(history.resource) ?? [];
    const judgeSince = (since: number) =>
      judge(context.model, sampleOf(history, since, unusual), context.threshold('unusual_access_pattern'));
    if (!isWorthMentioning(judgeSince(countedSince))) continue;
    // Only now is the secret loaded. It may be younger than the log, and its first days are no history.
    const secret = await watchedSecretAt(db, tenantId, vault.vault_id, path);
    if (secret === undefined) continue;
    const verdict = judgeSince(Math.max(countedSince, Number(secret.created_at)));
    if (verdict !== null && isWorthMentioning(verdict)) yield findingOf(context, vault, secret, verdict);
  }
}

/** A vote of one model is recorded, even if it does not decide. */
function isWorthMentioning(verdict: Verdict | null): boolean {
  return verdict !== null && (verdict.isUnusual || verdict.votes.v1 || verdict.votes.v2);
}

function findingOf({ model, period }: ScanContext, vault: WatchedVault, secret: WatchedRow, verdict: Verdict): Finding {
  const { hour, readsPerHour, readsPerDay, readsPerHourP95, ratio, votes, isUnusual } = verdict;
  return {
    ...PLAIN,
    ...aboutSecret(vault, secret),
    ratio,
    baseline: { reads_per_hour_p95: readsPerHourP95 },
    observed: { reads_per_hour_last: readsPerHour, hour: timestamp(hour), reads_last_24h: readsPerDay },
    features: [Math.log2(1 + readsPerHour), Math.log2(1 + readsPerDay)],
    window: { from: period.windowFrom, to: period.to },
    votes: model === 'shadow' || model === 'ensemble' ? votes : null,
    isRaised: isUnusual,
  };
}
