import type { Columns, SchemaBuilder } from '../src/kernel/storage/migrate.ts';

export const isAdditive = true;

/** What an approved request found changed, for users who may see the approval. */
export async function up(schema: SchemaBuilder, { text }: Columns): Promise<void> {
  await schema.alterTable('approvals').addColumn('failure_details', text).execute();
}
