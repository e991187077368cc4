import { DAY_MS } from '../../kernel/clock.ts';
import type { Plan } from '../../kernel/limits/rate-classes.ts';

/** How long deleted secrets and superseded versions are kept. */
const KEPT_DAYS: Record<Plan, number> = { starter: 30, professional: 90, enterprise: 365 };

export function keptMs(plan: Plan): number {
  return KEPT_DAYS[plan] * DAY_MS;
}
