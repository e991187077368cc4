import { PLAN_QUOTAS, type QuotaName } from './plan-quotas.ts';
import { type LimitedClass, PLAN_LIMITS, PLANS, type Plan } from './rate-classes.ts';

/** What the tenants of a plan may have and send. Infinity: no limit. */
export interface PlanLimits {
  readonly quotas: Readonly<Record<QuotaName, number>>;
  /** Requests a minute. */
  readonly rates: Readonly<Record<LimitedClass, number>>;
}

/** Where the operator's limits differ from those that come with the service. Null: no limit. */
export interface PlanOverrides {
  readonly quotas: Readonly<Partial<Record<QuotaName, number | null>>>;
  readonly rates: Readonly<Partial<Record<LimitedClass, number>>>;
}

/** The limits of each plan as this node knows them. Requests look them up without waiting; a feature loads what the operator set. */
export class Plans {
  readonly #limits = new Map<Plan, PlanLimits>();

  constructor() {
    this.use({});
  }

  of(plan: Plan): PlanLimits {
    return this.#limits.get(plan) ?? limitsOf(plan, undefined);
  }

  /** Replaces all overrides. */
  use(overrides: Partial<Record<Plan, PlanOverrides>>): void {
    for (const plan of PLANS) this.#limits.set(plan, limitsOf(plan, overrides[plan]));
  }
}

export function limitsOf(plan: Plan, overrides: PlanOverrides | undefined): PlanLimits {
  const quotas = Object.entries(overrides?.quotas ?? {}).map(([name, limit]) => [name, limit ?? Infinity]);
  return Object.freeze({
    quotas: Object.freeze({ ...PLAN_QUOTAS[plan], ...Object.fromEntries(quotas) }),
    rates: Object.freeze({ ...PLAN_LIMITS[plan], ...overrides?.rates }),
  });
}
