import type { QuotaName } from '../limits/quotas.ts';
import type { Tx } from './database.ts';

/** What is counted; one list, so that two nouns can never share a counter. */
export type CounterName = 'environments' | 'federations';
/** Held, not counted with: rows are counted against a quota, and this row keeps others from adding one meanwhile. */
export type LockName = `quota ${QuotaName}`;

/** The next number of this kind in the tenant, from 1. Whoever asks at the same time waits until this transaction has ended. */
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

/** After a restore: numbers that were given out since the backup may still be in use elsewhere, so none of them is given out again. */
export async function raiseCounters(tx: Tx, tenantId: string): Promise<void> {
  await tx
    .updateTable('counters')
    .set((eb) => ({ value: eb('value', '+', RESTORED_STEP) }))
    .where('tenant_id', '=', tenantId)
    .execute();
}

/** Waits for whoever counts, and makes others wait, without counting. Of a counter that never counted there is nothing to hold. */
export async function holdCounter(tx: Tx, tenantId: string, name: CounterName): Promise<void> {
  await tx
    .selectFrom('counters')
    .select('value')
    .where('tenant_id', '=', tenantId)
    .where('name', '=', name)
    .forUpdate()
    .execute();
}

/** Waits for whoever holds it, and makes others wait until this transaction has ended; also the first time, when there is no row yet. */
export async function lockCounter(tx: Tx, tenantId: string, name: LockName): Promise<void> {
  await tx
    .insertInto('counters')
    .values({ tenant_id: tenantId, name, value: 0 })
    .onConflict((c) => c.columns(['tenant_id', 'name']).doUpdateSet((eb) => ({ value: eb.ref('counters.value') })))
    .execute();
}
