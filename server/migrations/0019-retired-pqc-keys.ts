import type { Columns, SchemaBuilder } from '../src/kernel/storage/migrate.ts';

/** When a version of a key was retired, because a rekey came after it. */
export async function up(schema: SchemaBuilder, { bigint }: Columns): Promise<void> {
  await schema.alterTable('pqc_keys').addColumn('retired_at', bigint).execute();
}
