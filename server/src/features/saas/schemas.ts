import Type, { type Static } from 'typebox';
import { PlanName, RateLimits } from '../../kernel/limits/limit-schemas.ts';
import { QUOTAS } from '../../kernel/limits/plan-quotas.ts';
import { described, named } from '../../kernel/wire/named-schemas.ts';
import { nullable, object, oneOf, record, timestampText } from '../../kernel/wire/wire.ts';

const QUOTA_MAX = 1_000_000_000;
const quotaNames = `^(?:${QUOTAS.map(({ name }) => name).join('|')})$`;

export const PlanQuotas = named(
  'PlanQuotas',
  'How many of each a tenant of the plan may have, by the name of the quota; null: no limit.',
  record(quotaNames, Type.Union([Type.Integer({ minimum: 0, maximum: QUOTA_MAX }), Type.Null()]), {
    maxProperties: QUOTAS.length,
  }),
);

export const PlanWithLimits = named(
  'PlanWithLimits',
  'A plan and its limits.',
  object({
    plan: PlanName,
    quotas: PlanQuotas,
    requests_per_minute: described('Requests a minute, by class.', RateLimits),
    updated_at: nullable(
      timestampText,
      'When the operator last set the limits; null if they are those of the service.',
    ),
  }),
);
export type PlanWithLimits = Static<typeof PlanWithLimits>;

const QuotaUse = named(
  'QuotaUse',
  'A quota and what is used of it.',
  object({
    limit: nullable(Type.Integer({ minimum: 0 }), 'Null: no limit.'),
    used: Type.Integer({ minimum: 0, description: 'More than the limit after a change to a smaller plan.' }),
  }),
);

const RateUse = named(
  'RateUse',
  'Requests of the last minute, by class.',
  object({ read: QuotaUse, write: QuotaUse, rotate: QuotaUse, aggregate: QuotaUse }),
);

const GracePeriod = named(
  'GracePeriod',
  'A payment is overdue. Until this time the tenant keeps its plan; then the limits of its plan without subscription apply to new things.',
  object({ until: timestampText, reason: oneOf(['past_due'], 'Why it runs.') }),
);

export const Tier = named(
  'Tier',
  'The plan of a tenant, and what it uses of it.',
  object({
    tier: PlanName,
    quotas: described(
      'What the plan limits.',
      object({
        vaults: QuotaUse,
        secrets: QuotaUse,
        users: QuotaUse,
        app_connections: QuotaUse,
        clusters: QuotaUse,
        requests_per_minute: RateUse,
      }),
    ),
    grace_period: nullable(GracePeriod, 'Null unless a payment is overdue.'),
  }),
);
export type Tier = Static<typeof Tier>;
