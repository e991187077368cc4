/** Classes of requests that are counted together. `none` is not limited: health and metrics. */
export const RATE_CLASSES = ['read', 'write', 'rotate', 'aggregate', 'auth', 'none'] as const;
export type RateClass = (typeof RATE_CLASSES)[number];
export type LimitedClass = Exclude<RateClass, 'none' | 'auth'>;

export const PLANS = ['starter', 'professional', 'enterprise'] as const;
export type Plan = (typeof PLANS)[number];

/** Requests a minute. The figures of the spec; Enterprise is custom, so high that only an override limits it. */
const UNLIMITED_IN_PRACTICE = 6_000_000;
export const PLAN_LIMITS: Record<Plan, Record<LimitedClass, number>> = {
  starter: { read: 1000, write: 100, rotate: 10, aggregate: 500 },
  professional: { read: 10_000, write: 100, rotate: 10, aggregate: 500 },
  enterprise: {
    read: UNLIMITED_IN_PRACTICE,
    write: UNLIMITED_IN_PRACTICE,
    rotate: UNLIMITED_IN_PRACTICE,
    aggregate: UNLIMITED_IN_PRACTICE,
  },
};

/** Login and other public exchanges, a minute and address. */
export const AUTH_LIMIT_PER_ADDRESS = 60;
/** Failed authentications a minute and address, after which further ones answer 429. */
export const FAILED_AUTH_LIMIT_PER_ADDRESS = 300;

export type RateOverrides = Partial<Record<LimitedClass, number>>;

/** What both allow: a token made with another cannot be given more than that one has. */
export function tighter(a: RateOverrides, b: RateOverrides): RateOverrides {
  const result: RateOverrides = { ...a };
  for (const [cls, limit] of Object.entries(b) as [LimitedClass, number][]) {
    result[cls] = Math.min(limit, a[cls] ?? limit);
  }
  return result;
}

export function limitFor(cls: LimitedClass, plan: Plan, tenant: RateOverrides): number {
  return tenant[cls] ?? PLAN_LIMITS[plan][cls];
}
