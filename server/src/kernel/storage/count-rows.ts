import type { SelectQueryBuilder } from 'kysely';
import type { Tables } from './tables.ts';

/** Counts the rows of a query, which has a table and conditions but no selection yet. */
export async function countRows<T extends keyof Tables>(
  query: SelectQueryBuilder<Tables, T, Record<never, never>>,
): Promise<number> {
  const row = await query.select((eb) => eb.fn.countAll().as('n')).executeTakeFirst();
  return Number(row?.n ?? 0);
}
