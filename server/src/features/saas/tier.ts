import { timestamp } from '../../kernel/base/clock.ts';
import type { LimitedClass } from '../../kernel/limits/rate-classes.ts';
import type { Context } from '../../kernel/request/context.ts';
import { countConnections } from '../app-connections/storage/index.ts';
import { countClusters } from '../clusters/index.ts';
import { countUsers } from '../users/storage/index.ts';
import { countLive } from '../vaults/storage/index.ts';
import type { SaasParts } from './links.ts';
import { finite } from './plans.ts';
import type { Tier } from './schemas.ts';

export async function readTier(ctx: Context, ports: Pick<SaasParts, 'graceUntil'>): Promise<Tier> {
  const { tenantId, principal, now, kernel } = ctx;
  const { read } = ctx.database;
  const limits = kernel.plans.of(principal.plan);
  const use = (limit: number, used: number) => ({ limit: finite(limit), used });
  const rate = (cls: LimitedClass) => {
    const state = kernel.rates.peek(`${tenantId} ${cls}`, principal.tenantRates[cls] ?? limits.rates[cls], now);
    return use(state.limit, state.limit - state.remaining);
  };
  const live = await countLive(read, tenantId);
  const until = await ports.graceUntil(read, tenantId, now);
  return {
    tier: principal.plan,
    quotas: {
      vaults: use(limits.quotas.vaults, live.vaults),
      secrets: use(limits.quotas.secrets, live.secrets),
      users: use(limits.quotas.users, await countUsers(read, tenantId)),
      app_connections: use(limits.quotas.app_connections, await countConnections(read, tenantId)),
      clusters: use(limits.quotas.clusters, await countClusters(read, tenantId)),
      requests_per_minute: {
        read: rate('read'),
        write: rate('write'),
        rotate: rate('rotate'),
        aggregate: rate('aggregate'),
      },
    },
    grace_period: until === null ? null : { until: timestamp(until), reason: 'past_due' },
  };
}
