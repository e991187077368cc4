import { timestamp } from '../../kernel/base/clock.ts';
import type { Params } from '../../kernel/endpoint/declaration.ts';
import type { Context } from '../../kernel/request/context.ts';
import { attributesOf, secretNotFound, secretResource } from '../secrets/index.ts';
import type { SecretReader } from '../secrets/reading/index.ts';
import { shownRisk } from '../secrets/risk/index.ts';
import { assessedSecrets } from '../secrets/storage/index.ts';
import { isLive, vaultNotFound } from '../vaults/index.ts';
import { findVault } from '../vaults/storage/index.ts';
import { Assessment, type FindAnomalyPoints } from './assessment.ts';
import type * as contract from './contract.ts';
import { findRun } from './run-store.ts';
import * as store from './store.ts';

export const HISTORY_DAYS = 35;

/** Computes the risk as it is now. It is stored if it differs from what lists show, or is the first of this day. */
export async function read(
  ctx: Context,
  reader: SecretReader,
  anomalyPoints: FindAnomalyPoints,
  at: Params<typeof contract.readSecretRisk>,
) {
  const { secret_id } = await reader.authorized(ctx, at);
  const { tenantId, now, database } = ctx;
  const vault = await findVault(database.read, tenantId, at.vault);
  const [row] = await assessedSecrets.byIds(database.read, tenantId, [secret_id]);
  if (!isLive(vault)) throw vaultNotFound();
  if (row === undefined || row.vault_id !== vault.vault_id) throw secretNotFound();
  const run = await findRun(database.read, tenantId);
  const readsKnownSince = run?.reads_known_since ?? null;
  const parts = { db: database.read, tenantId, now, readsKnownSince, anomalyPoints };
  const assessment = await Assessment.open(ctx.kernel, parts);
  const factors = (await assessment.factors(vault, [row])).get(secret_id) ?? [];
  await storeIfNew(ctx, { secretId: secret_id, vaultId: vault.vault_id, factors });
  const mayReadValue = ctx.access.may('secrets:read', secretResource(at.vault, at.path), attributesOf(row));
  const days = await store.riskDays(database.read, tenantId, secret_id, HISTORY_DAYS);
  return {
    id: secret_id,
    vault: at.vault,
    path: at.path,
    ...shownRisk(factors, mayReadValue),
    history: days.map(({ day_start, score, score_without_value }) => ({
      day: timestamp(day_start).slice(0, 'YYYY-MM-DD'.length),
      risk_score: mayReadValue ? score : score_without_value,
    })),
    computed_at: timestamp(now),
  };
}

async function storeIfNew(ctx: Context, computed: store.ComputedRisk): Promise<void> {
  const { tenantId, now, database } = ctx;
  const known = (await store.findRisks(database.read, tenantId, [computed.secretId])).get(computed.secretId);
  const isSame =
    known !== undefined &&
    known.factors === JSON.stringify(computed.factors) &&
    known.vault_id === computed.vaultId &&
    store.dayStart(known.computed_at) === store.dayStart(now);
  if (!isSame) await database.transaction((tx) => store.storeRisks(tx, tenantId, [computed], now));
}
