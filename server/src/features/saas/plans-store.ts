import { AuthenticatedTable } from '../../kernel/integrity/authenticated-table.ts';
import type { Plan } from '../../kernel/limits/rate-classes.ts';
import type { Reader, Tx } from '../../kernel/storage/database.ts';
import type { Authenticated } from '../../kernel/storage/tables.ts';

export interface SaasPlansTables {
  plan_limits: Authenticated<PlanLimitsRow>;
}

/** Where the operator's limits of a plan differ from those that come with the service, in the tenant of the operator. */
export interface PlanLimitsRow {
  tenant_id: string;
  plan: Plan;
  /** JSON. */
  quotas: string;
  /** JSON. */
  rates: string;
  updated_at: number;
}

export const PLAN_LIMITS_TABLE = new AuthenticatedTable<'plan_limits', PlanLimitsRow>('plan_limits', {
  key: ['plan'],
  covered: ['quotas', 'rates', 'updated_at'],
});

export async function listPlanLimits(db: Reader, operatorTenantId: string): Promise<PlanLimitsRow[]> {
  const rows = await db.selectFrom('plan_limits').selectAll().where('tenant_id', '=', operatorTenantId).execute();
  return PLAN_LIMITS_TABLE.checkedAll(db, rows);
}

export async function putPlanLimits(tx: Tx, row: PlanLimitsRow): Promise<void> {
  const { tenant_id, plan } = row;
  await PLAN_LIMITS_TABLE.deleteWhere(tx, (eb) => eb.and({ tenant_id, plan }));
  await PLAN_LIMITS_TABLE.insert(tx, row);
}
