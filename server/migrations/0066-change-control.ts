import type { Columns, SchemaBuilder } from '../src/kernel/storage/migrate.ts';

export const isAdditive = true;

/** Whether changes of a vault's secrets wait for a second person: `review`, or null if they do not. */
export async function up(schema: SchemaBuilder, { text }: Columns): Promise<void> {
  await schema.alterTable('vaults').addColumn('change_control', text).execute();
}
