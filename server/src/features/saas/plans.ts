import { SECOND_MS, timestampOrNull } from '../../kernel/base/clock.ts';
import { invalidField } from '../../kernel/base/errors.ts';
import type { Body } from '../../kernel/endpoint/declaration.ts';
import { lockTenantRow } from '../../kernel/integrity/tenant-rows.ts';
import { PLAN_QUOTAS, QUOTAS, type QuotaName } from '../../kernel/limits/plan-quotas.ts';
import { limitsOf, type PlanOverrides } from '../../kernel/limits/plans.ts';
import { type LimitedClass, PLANS, type Plan } from '../../kernel/limits/rate-classes.ts';
import type { Context } from '../../kernel/request/context.ts';
import type * as contract from './contract.ts';
import type { SaasKernel } from './links.ts';
import * as store from './plans-store.ts';
import type { PlanWithLimits } from './schemas.ts';

/** Other nodes use new limits after this time. */
const RELOAD_MS = 5 * SECOND_MS;

/** Quotas that a plan may have as many of as its operator likes. The others bound what one tenant costs, whatever its plan. */
export const SOLD_QUOTAS = ['vaults', 'secrets', 'users', 'app_connections', 'clusters'] as const satisfies QuotaName[];

const isSold = (name: QuotaName) => (SOLD_QUOTAS as readonly QuotaName[]).includes(name);

/** Keeps the limits in memory that every request looks up, as they are stored. */
export class PlanSettings {
  readonly #kernel: SaasKernel;
  #timer: NodeJS.Timeout | undefined;
  #loading: Promise<void> = Promise.resolve();

  constructor(kernel: SaasKernel) {
    this.#kernel = kernel;
  }

  async load(): Promise<void> {
    const { database, operatorTenantId, plans } = this.#kernel;
    const rows = await store.listPlanLimits(database.read, operatorTenantId);
    plans.use(Object.fromEntries(rows.map((row) => [row.plan, overridesOf(row)])));
  }

  /** A row that the service did not write, or a database that is away, leaves the limits as they are. */
  reload(): Promise<void> {
    const { log } = this.#kernel;
    this.#loading = this.load().catch((error) =>
      log.warn({ err: error }, 'the limits of plans were not loaded; retrying'),
    );
    return this.#loading;
  }

  start(): void {
    this.#timer = setInterval(() => void this.reload(), RELOAD_MS);
    this.#timer.unref();
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#loading;
  }
}

function overridesOf({ quotas, rates }: store.PlanLimitsRow): PlanOverrides {
  return { quotas: JSON.parse(quotas), rates: JSON.parse(rates) };
}

export async function listPlans(ctx: Context): Promise<{ plans: PlanWithLimits[] }> {
  const rows = await store.listPlanLimits(ctx.database.read, ctx.tenantId);
  return {
    plans: PLANS.map((plan) =>
      toWire(
        plan,
        rows.find((row) => row.plan === plan),
      ),
    ),
  };
}

export async function putPlan(
  ctx: Context,
  settings: PlanSettings,
  plan: Plan,
  body: Body<typeof contract.putPlan>,
): Promise<PlanWithLimits> {
  const quotas = (body.quotas ?? {}) as PlanOverrides['quotas'];
  const rates = (body.requests_per_minute ?? {}) as Partial<Record<LimitedClass, number>>;
  for (const { name } of QUOTAS) {
    const [limit, most] = [quotas[name], PLAN_QUOTAS.enterprise[name]];
    if (limit === undefined || isSold(name) || (limit !== null && limit <= most)) continue;
    throw invalidField(`/body/quotas/${name}`, `must be at most ${most}, which bounds what one tenant costs`);
  }
  ctx.record.describe({ plan, quotas, requests_per_minute: rates });
  const row: store.PlanLimitsRow = {
    tenant_id: ctx.tenantId,
    plan,
    quotas: JSON.stringify(quotas),
    rates: JSON.stringify(rates),
    updated_at: ctx.now,
  };
  const response = await ctx.change(async (tx) => {
    await lockTenantRow(tx, ctx.tenantId);
    await store.putPlanLimits(tx, row);
    return toWire(plan, row);
  });
  await settings.reload();
  return response;
}

function toWire(plan: Plan, row: store.PlanLimitsRow | undefined): PlanWithLimits {
  const { quotas, rates } = limitsOf(plan, row && overridesOf(row));
  return {
    plan,
    quotas: Object.fromEntries(QUOTAS.map(({ name }) => [name, finite(quotas[name])])),
    requests_per_minute: { ...rates },
    updated_at: timestampOrNull(row?.updated_at ?? null),
  };
}

/** JSON has no infinity. */
export function finite(limit: number): number | null {
  return limit === Infinity ? null : limit;
}
