/** Classes of requests that share a limit. `none` is not limited: health and metrics. */
export const RATE_CLASSES = ['read', 'write', 'rotate', 'aggregate', 'auth', 'none'] as const;
export type RateClass = (typeof RATE_CLASSES)[number];
export type LimitedClass = Exclude<RateClass, 'none' | 'auth'>;

export const PLANS = ['starter', 'professional', 'enterprise'] as const;
export type Plan = (typeof PLANS)[number];

/** Requests a minute. Enterprise is so high that only an override limits it. */
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

/** Logins and other public exchanges per minute and address. */
export const AUTH_LIMIT_PER_ADDRESS = 60;
/** Failed authentications per minute and address, after which further ones get 429. */
export const FAILED_AUTH_LIMIT_PER_ADDRESS = 300;

export type RateOverrides = Partial<Record<LimitedClass, number>>;

/** The lower limit of both: a token created with another one cannot have higher limits than that one. */
export function tighter(a: RateOverrides, b: RateOverrides): RateOverrides {
  const result: RateOverrides = { ...a };
  for (const [cls, limit] of Object.entries(b) as [LimitedClass, number][]) {
    result[cls] = Math.min(limit, a[cls] ?? limit);
  }
  return result;
}
