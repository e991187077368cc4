import type { Columns, SchemaBuilder } from '../src/kernel/storage/migrate.ts';

export const isAdditive = true;

/** The commit that the release of a node was made from. Nodes of releases before this one do not say it. */
export async function up(schema: SchemaBuilder, { text }: Columns): Promise<void> {
  await schema.alterTable('nodes').addColumn('commit_id', text).execute();
}
