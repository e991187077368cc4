import { type ExpressionBuilder, type ExpressionWrapper, type SelectQueryBuilder, type SqlBool, sql } from 'kysely';
import type { Tables } from '../../kernel/storage/tables.ts';
import { type Filter, isTextComparison } from './filter.ts';

/** The tables that providers list, each under the alias `s`. */
type Listed = 'scim_users' | 'scim_groups';
type Aliased<T extends Listed> = Tables & { s: Tables[T] };
export type Expressions<T extends Listed> = ExpressionBuilder<Aliased<T>, 's'>;
export type Condition<T extends Listed> = ExpressionWrapper<Aliased<T>, 's', SqlBool>;

/** A comparison of one attribute, which each resource turns into a condition on its own columns. */
export type Comparison = Exclude<Filter, { kind: 'and' | 'or' | 'not' }>;
export type Compare<T extends Listed> = (eb: Expressions<T>, comparison: Comparison) => Condition<T>;

export interface Window {
  offset: number;
  limit: number;
}

/** SCIM counts pages by index, so rows before the page are skipped, not sought. `key` is the column that orders them. */
export async function listPage<T extends Listed, Row>(
  owned: SelectQueryBuilder<Aliased<T>, 's', object>,
  key: string,
  { filter, compare }: { filter: Filter | null; compare: Compare<T> },
  { offset, limit }: Window,
): Promise<{ total: number; rows: Row[] }> {
  const matching = filter === null ? owned : owned.where((eb) => conditionOf(eb, filter, compare));
  const count = await matching.select((eb) => eb.fn.countAll().as('n')).executeTakeFirst();
  const total = Number((count as { n?: number | string | bigint } | undefined)?.n ?? 0);
  if (limit === 0 || offset >= total) return { total, rows: [] };
  const page = matching
    .selectAll()
    .orderBy(sql.ref(`s.${key}`))
    .offset(offset)
    .limit(limit);
  return { total, rows: (await page.execute()) as Row[] };
}

/**
 * The condition of a comparison of one column of text. A column of keys is in lower case, and so is `keyed` text compared with it. LIKE would mean
 * something else on each database.
 */
export function textCondition<T extends Listed>(
  eb: Expressions<T>,
  column: string,
  comparison: Exclude<Comparison, { kind: 'some' }>,
  { textOf, isKey = false }: { textOf(value: unknown): string; isKey?: boolean },
): Condition<T> {
  const ref = sql.ref(column);
  const isPresent = sql<SqlBool>`(${ref} is not null and ${ref} <> '')`;
  const condition = (): ReturnType<typeof sql<SqlBool>> => {
    if (comparison.kind === 'pr') return isPresent;
    const text = isKey ? textOf(comparison.value).toLowerCase() : textOf(comparison.value);
    if (!isTextComparison(comparison)) return sql<SqlBool>`(${ref} is not null and ${ref} = ${text})`;
    const length = [...text].length;
    if (comparison.kind === 'co') return sql<SqlBool>`(${isPresent} and replace(${ref}, ${text}, '') <> ${ref})`;
    const from = comparison.kind === 'sw' ? sql`1` : sql`length(${ref}) - ${sql.lit(length)} + 1`;
    return sql<SqlBool>`(${isPresent} and length(${ref}) >= ${sql.lit(length)} and substr(${ref}, ${from}, ${sql.lit(length)}) = ${text})`;
  };
  return eb.and([condition()]) as Condition<T>;
}

/** The condition of a filter, whose comparisons are joined by `and`, `or` and `not`. */
export function conditionOf<T extends Listed>(eb: Expressions<T>, filter: Filter, compare: Compare<T>): Condition<T> {
  if (filter.kind === 'and') return eb.and(filter.parts.map((part) => conditionOf(eb, part, compare)));
  if (filter.kind === 'or') return eb.or(filter.parts.map((part) => conditionOf(eb, part, compare)));
  if (filter.kind === 'not') return eb.not(conditionOf(eb, filter.filter, compare));
  return compare(eb, filter);
}
