import type { Tx } from '../storage/database.ts';
import type { QuotaName } from './plan-quotas.ts';

/** All counters in one list, so that two nouns can never share one. */
export type CounterName = 'environments' | 'federations';
/**
 * Used only as locks: rows are counted against a quota, and its lock prevents others from inserting one in the meantime; events of the payment
 * processor are applied one after the other.
 */
export type LockName = `quota ${QuotaName}` | 'billing events' | 'sso providers';

/** The next number of this kind in the tenant, from 1. Concurrent callers wait until this transaction has ended. */
export async function nextNumber(tx: Tx, tenantId: string, name: CounterName): Promise<number> {
  const { value } = await tx
    .insertInto('counters')
    .values({ tenant_id: tenantId, name, value: 1 })
    .onConflict((c) =>
      c.columns(['tenant_id', 'name']).doUpdateSet((eb) => ({ value: eb(eb.ref('counters.value'), '+', 1) })),
    )
    .returning('value')
    .executeTakeFirstOrThrow();
  return value;
}

/** More than a tenant counts between two backups. */
export const RESTORED_STEP = 100_000;

/** Called after a restore. Numbers assigned since the backup may still be in use elsewhere, so none of them is assigned again. */
export async function raiseCounters(tx: Tx, tenantId: string): Promise<void> {
  await tx
    .updateTable('counters')
    .set((eb) => ({ value: eb('value', '+', RESTORED_STEP) }))
    .where('tenant_id', '=', tenantId)
    .execute();
}

/** Locks a counter without incrementing it. A counter that was never incremented has no row to lock. */
export async function holdCounter(tx: Tx, tenantId: string, name: CounterName): Promise<void> {
  await tx
    .selectFrom('counters')
    .select('value')
    .where('tenant_id', '=', tenantId)
    .where('name', '=', name)
    .forUpdate()
    .execute();
}

/** Locks the row until this transaction has ended, and creates it if it does not exist yet. */
export async function lockCounter(tx: Tx, tenantId: string, name: LockName): Promise<void> {
  await tx
    .insertInto('counters')
    .values({ tenant_id: tenantId, name, value: 0 })
    .onConflict((c) => c.columns(['tenant_id', 'name']).doUpdateSet((eb) => ({ value: eb.ref('counters.value') })))
    .execute();
}
