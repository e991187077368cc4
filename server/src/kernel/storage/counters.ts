import type { Tx } from './database.ts';

/** What is counted; one list, so that two nouns can never share a counter. */
export type CounterName = 'environments' | 'app_connections' | 'federations';

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
