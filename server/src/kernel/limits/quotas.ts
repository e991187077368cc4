import type { Context } from '../context.ts';
import { CofferError } from '../errors.ts';
import { lockCounter } from '../storage/counters.ts';
import type { Tx } from '../storage/database.ts';
import type { Plan } from './rate-classes.ts';

/** Each quota, with its description and its remedy for the error message. */
const COUNTED = {
  policies: ['policies in the tenant', 'Delete one that is not used'],
  policy_bytes: ['bytes of policy documents in the tenant', 'Shorten or delete a policy'],
  attachments_per_principal: ['policies attached to one user, group or connection', 'Detach one, or merge policies'],
  tokens_per_user: ['personal access tokens of one user that can be used', 'Revoke one that is not used'],
  groups: ['groups in the tenant', 'Delete one that is not used'],
  groups_per_user: ['groups that one user is in', 'Take the user out of one'],
  members_per_group: ['members of one group', 'Remove one, or make a second group'],
  members_per_vault: ['members of one vault', 'Remove one, or let a group be the member'],
  app_connections: ['AppConnections in the tenant', 'Delete one that is not used'],
  federations_per_connection: ['federations of one AppConnection', 'Delete one that is not used'],
  workload_methods: ['workload identity methods in the tenant', 'Delete one that is not used'],
} as const satisfies Record<string, readonly [what: string, wayOut: string]>;

export type QuotaName = keyof typeof COUNTED;
export const QUOTAS = (Object.keys(COUNTED) as QuotaName[]).map((name) => ({ name, what: COUNTED[name][0] }));

/** The quotas by plan. Existing objects above a quota stay and keep working. */
export const PLAN_QUOTAS: Record<Plan, Record<QuotaName, number>> = {
  starter: {
    policies: 50,
    policy_bytes: 256 * 1024,
    attachments_per_principal: 10,
    tokens_per_user: 20,
    groups: 50,
    groups_per_user: 20,
    members_per_group: 100,
    members_per_vault: 25,
    app_connections: 20,
    federations_per_connection: 5,
    workload_methods: 5,
  },
  professional: {
    policies: 200,
    policy_bytes: 512 * 1024,
    attachments_per_principal: 20,
    tokens_per_user: 100,
    groups: 500,
    groups_per_user: 50,
    members_per_group: 1000,
    members_per_vault: 200,
    app_connections: 500,
    federations_per_connection: 10,
    workload_methods: 20,
  },
  enterprise: {
    policies: 500,
    policy_bytes: 1024 * 1024,
    attachments_per_principal: 50,
    tokens_per_user: 1000,
    groups: 5000,
    groups_per_user: 200,
    members_per_group: 10_000,
    members_per_vault: 2000,
    app_connections: 10_000,
    federations_per_connection: 20,
    workload_methods: 200,
  },
};

/**
 * Call this before counting a tenant's rows against a quota: concurrent changes of the same count wait until this transaction has ended. It must be
 * the first lock of a change, to avoid deadlocks. A count that concerns one row locks that row instead.
 */
export function lockQuota(tx: Tx, tenantId: string, name: QuotaName): Promise<void> {
  return lockCounter(tx, tenantId, `quota ${name}`);
}

/** Refuses to exceed the quota of the tenant's plan. `used` must be counted under a lock, in the transaction that adds. */
export function refuseBeyondQuota(ctx: Context, name: QuotaName, used: number, added = 1): void {
  const { plan } = ctx.principal;
  const limit = PLAN_QUOTAS[plan][name];
  if (used + added <= limit) return;
  const [what, wayOut] = COUNTED[name];
  const message = `The ${plan} plan has room for ${limit} ${what}, and ${used} are used. ${wayOut}, or change the plan.`;
  throw new CofferError('QUOTA_EXCEEDED', message, {
    details: { quota: name, limit, used },
    auditReason: `quota: ${name}`,
  });
}
