import type { Columns, SchemaBuilder } from '../src/kernel/storage/migrate.ts';

/**
 * Revoking all sessions or tokens of a person counts up a number in the person's row, and each token says under which number it was made: one
 * that is made at that very moment is revoked too. Null counts as 0, so that rows from before are as they were.
 */
export async function up(schema: SchemaBuilder, { bigint }: Columns): Promise<void> {
  await schema.alterTable('users').addColumn('session_generation', bigint).execute();
  await schema.alterTable('users').addColumn('pat_generation', bigint).execute();
  await schema.alterTable('tokens').addColumn('generation', bigint).execute();
}
