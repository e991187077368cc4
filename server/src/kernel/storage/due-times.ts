import { type RawBuilder, type SqlBool, sql } from 'kysely';

/**
 * Whether the time until which a row waits is over. A time further ahead than it can have been set comes from a wrong clock, and would keep the row
 * waiting until then.
 */
export function isOver(column: string, now: number, aheadMaxMs: number): RawBuilder<SqlBool> {
  return sql<SqlBool>`(${sql.ref(column)} <= ${now} or ${sql.ref(column)} > ${now + aheadMaxMs})`;
}
