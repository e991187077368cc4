import type { Columns, SchemaBuilder } from '../src/kernel/storage/migrate.ts';

/**
 * A token says whether it was handed out with its tenant or by an operator, instead of being recognized by its name, which a person can choose too.
 * The column is part of what authenticates a row, so older rows keep null, which their other columns decide: see `usableHandedOut`.
 */
export async function up(schema: SchemaBuilder, { integer }: Columns): Promise<void> {
  await schema.alterTable('tokens').addColumn('handed_out', integer).execute();
}
