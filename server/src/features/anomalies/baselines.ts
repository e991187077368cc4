import { timestamp } from '../../kernel/base/clock.ts';
import { invalidField } from '../../kernel/base/errors.ts';
import type { Context } from '../../kernel/request/context.ts';
import { parseSecretPath } from '../../kernel/wire/secret-path.ts';
import { attributesOf, secretNotFound } from '../secrets/index.ts';
import { watchedSecretAt } from '../secrets/storage/index.ts';
import { isLive, vaultNotFound } from '../vaults/index.ts';
import { findVault } from '../vaults/storage/index.ts';
import { type Sample, sampleOf, weekHours, wholeDays } from './models/access-models.ts';
import { historyOf, periodUntil } from './models/resource-history.ts';
import { mean, quantile } from './models/statistics.ts';
import type { Baseline, ResourceHours } from './schemas.ts';
import { type Hours, unusualHours } from './unusual-hours.ts';

const SECRET = /^vault\/([A-Za-z0-9][A-Za-z0-9._-]{0,62})\/(.+)$/s;
const P95 = 0.95;
/** No vault has this id. It makes the same queries run whether the vault exists or not. */
const NO_VAULT = '';

/** What is usual for a secret: the hours of the last 30 days that a scan now would compare with, and for a newer one the hours before it as well. */
export async function readBaselines(ctx: Context, resource: string) {
  const [, name = '', path = ''] = SECRET.exec(resource) ?? [];
  if (!parseSecretPath(path).ok) {
    throw invalidField('/query/resource', 'must be a secret, as vault/{vault}/{path}');
  }
  ctx.access.refuseIfNeverAllowed(resource);
  const { read: db } = ctx.database;
  const row = await findVault(db, ctx.tenantId, name);
  const vault = isLive(row) ? row : undefined;
  const secret = await watchedSecretAt(db, ctx.tenantId, vault?.vault_id ?? NO_VAULT, path);
  ctx.access.authorize(resource, secret === undefined ? { environment: vault?.environment } : attributesOf(secret));
  if (vault === undefined) throw vaultNotFound();
  if (secret === undefined) throw secretNotFound();
  const period = periodUntil(ctx.now);
  const history = await historyOf(db, ctx.tenantId, period, resource);
  const unusual = await unusualHours(db, ctx.tenantId, [resource]);
  const sample = sampleOf(history, period.from, unusual.get(resource) ?? []);
  return {
    resource,
    from: timestamp(period.from),
    to: timestamp(period.windowFrom),
    baselines: baselinesOf(sample),
    hours: hoursOf(sample, unusual.get(resource) ?? []),
  };
}

/** Every hour of the history and of the window, beside what is usual at it. */
function hoursOf(sample: Sample, unusual: readonly Hours[]): ResourceHours {
  const { reads, denied, period } = sample.history;
  const { usual, limit, isJudged } = weekHours(sample);
  return {
    from: timestamp(period.from),
    reads: [...reads],
    denied: [...denied],
    usual,
    limit,
    judged: isJudged,
    unusual: unusual.map(({ from, to }) => ({ from: timestamp(from), to: timestamp(to) })),
  };
}

/** The window of the last 24 hours is what is compared with the baseline, and so not part of it; a day counts if all its hours do. */
function baselinesOf(sample: Sample): Baseline[] {
  const { reads, denied, actors, countries } = sample.history;
  const baseline = (metric: Baseline['metric'], counts: Float64Array, indexes: readonly number[]): Baseline => {
    const samples = indexes.length;
    if (samples === 0) return { metric, mean: 0, p95: 0, samples };
    const values = indexes.map((index) => counts[index] ?? 0);
    return { metric, mean: mean(values), p95: quantile(values, P95), samples };
  };
  const days = wholeDays(sample);
  return [
    baseline('reads_per_hour', reads, sample.baselineHours),
    baseline('denied_per_hour', denied, sample.baselineHours),
    baseline('distinct_actors_per_day', actors, days),
    baseline('distinct_countries_per_day', countries, days),
  ];
}
