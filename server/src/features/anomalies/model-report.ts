import { DAY_MS } from '../../kernel/base/clock.ts';
import type { Context } from '../../kernel/request/context.ts';
import { countVotes, type VoteCount } from './model-store.ts';
import { findScan } from './scan-store.ts';
import { MODELS, type ModelReport } from './schemas.ts';
import { scanState } from './service.ts';
import { anomalySettings } from './settings.ts';

export const VOTES_RETENTION_DAYS = 35;

/** What each model said in the scans that ran more than one. */
export async function readModels(ctx: Context) {
  const { read } = ctx.database;
  const votes = await countVotes(read, ctx.tenantId, ctx.now - VOTES_RETENTION_DAYS * DAY_MS);
  return {
    active: ctx.kernel.config.of(anomalySettings).model,
    compared: total(votes),
    both: total(votes.filter(({ v1, v2 }) => v1 === 1 && v2 === 1)),
    models: MODELS.map((model) => reportOf(model, votes)),
    ...scanState(await findScan(read, ctx.tenantId)),
  };
}

function reportOf(model: ModelReport['model'], votes: readonly VoteCount[]): ModelReport {
  const raised = votes.filter((vote) => vote[model] === 1);
  const others = MODELS.filter((other) => other !== model);
  return {
    model,
    raised: total(raised),
    alone: total(raised.filter((vote) => others.every((other) => vote[other] !== 1))),
    dismissed: total(raised.filter(({ isDismissed }) => isDismissed)),
  };
}

function total(votes: readonly VoteCount[]): number {
  return votes.reduce((sum, { count }) => sum + count, 0);
}
