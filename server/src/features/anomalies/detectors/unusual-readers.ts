import { DAY_MS } from '../../../kernel/base/clock.ts';
import { findByClient } from '../../app-connections/storage/index.ts';
import { secretOfResource } from '../../secrets/index.ts';
import { watchedSecretAt } from '../../secrets/storage/index.ts';
import { findUser } from '../../users/storage/index.ts';
import { judgeReader, type ReaderHistories, type ReaderHistory, type ReaderVerdict } from '../models/reader-models.ts';
import { aboutConnection } from './connections.ts';
import { type Finding, PLAIN, type ScanContext } from './detector.ts';
import type { WatchedVault } from './watched-vaults.ts';

export function userResource(userId: string): string {
  return `user/${userId}`;
}

/** Actors who read many secrets in the last 24 hours that they had not read before. */
export async function* unusualReaders(
  context: ScanContext,
  readers: ReaderHistories,
  vaults: ReadonlyMap<string, WatchedVault>,
  countedSince: number,
): AsyncGenerator<Finding> {
  const { model, period, signal, threshold } = context;
  const judge = (reader: ReaderHistory, since: number, freshToday: number) => {
    const sinceDay = Math.ceil(Math.max(0, since - period.from) / DAY_MS);
    return judgeReader(model, reader, { sinceDay, freshToday }, threshold('unusual_access_pattern'));
  };
  for (const reader of readers) {
    if (signal.aborted) return;
    const fresh = reader.fresh.at(-1) ?? 0;
    if (!isWorthMentioning(judge(reader, countedSince, fresh))) continue;
    // Only now are rows loaded. An actor may be younger than the log, and a secret that was just created is new to everybody.
    const actor = await actorOf(context, reader);
    if (actor === null) continue;
    const freshToday = fresh - (await countYoung(context, reader, vaults));
    const verdict = judge(reader, Math.max(countedSince, actor.createdAt), freshToday);
    if (verdict === null || !isWorthMentioning(verdict)) continue;
    yield {
      ...PLAIN,
      ...actor.about,
      ratio: verdict.ratio,
      baseline: { new_secrets_per_day_p95: verdict.freshP95 },
      observed: { new_secrets_last_24h: freshToday, secrets_last_24h: reader.secrets.at(-1) ?? 0, actor: reader.id },
      features: [Math.log2(1 + freshToday)],
      window: { from: period.windowFrom, to: period.to },
      votes: model === 'shadow' || model === 'ensemble' ? verdict.votes : null,
      isRaised: verdict.isUnusual,
    };
  }
}

/** A vote of one model is recorded, even if it does not decide. */
function isWorthMentioning(verdict: ReaderVerdict | null): boolean {
  return verdict !== null && (verdict.isUnusual || verdict.votes.v1 || verdict.votes.v2);
}

/** Null if the actor was deleted. */
async function actorOf({ db, tenantId }: ScanContext, { kind, id }: ReaderHistory) {
  if (kind === 'user') {
    const user = await findUser(db, tenantId, id);
    return user === undefined ? null : { createdAt: Number(user.created_at), about: { resource: userResource(id) } };
  }
  const connection = await findByClient(db, tenantId, id);
  if (connection === undefined) return null;
  return { createdAt: Number(connection.created_at), about: aboutConnection(connection) };
}

/** How many of the secrets that are new to the actor were created in the window, as far as their names are stored. */
async function countYoung(
  { db, tenantId, period }: ScanContext,
  { freshNames }: ReaderHistory,
  vaults: ReadonlyMap<string, WatchedVault>,
): Promise<number> {
  let young = 0;
  for (const name of freshNames) {
    const { vault: vaultName = '', path = '' } = secretOfResource(name) ?? {};
    const vault = vaults.get(vaultName);
    const secret = vault && (await watchedSecretAt(db, tenantId, vault.vault_id, path));
    if (secret !== undefined && Number(secret.created_at) >= period.windowFrom) young++;
  }
  return young;
}
