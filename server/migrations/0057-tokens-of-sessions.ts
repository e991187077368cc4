import type { Columns, SchemaBuilder } from '../src/kernel/storage/migrate.ts';

/**
 * A personal access token that a session created ends with the sessions of its owner: it stores their generation. The column is part of what
 * authenticates a row. Older tokens keep null: nobody wrote down what created them, so they end as before.
 */
export async function up(schema: SchemaBuilder, { integer }: Columns): Promise<void> {
  await schema.alterTable('tokens').addColumn('session_generation', integer).execute();
}
