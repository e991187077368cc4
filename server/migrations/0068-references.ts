import type { Columns, SchemaBuilder } from '../src/kernel/storage/migrate.ts';

export const isAdditive = true;

/** What templates refer to, so that the templates that refer to a secret are found by its name. */
export async function up(schema: SchemaBuilder, { text, byPrimaryKey }: Columns): Promise<void> {
  await schema
    .createTable('secret_references')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('secret_id', text, (c) => c.notNull())
    .addColumn('vault', text, (c) => c.notNull())
    .addColumn('path', text, (c) => c.notNull())
    .addPrimaryKeyConstraint('secret_references_key', ['tenant_id', 'secret_id', 'vault', 'path'])
    .modifyEnd(byPrimaryKey)
    .execute();
  await schema
    .createIndex('secret_references_to')
    .on('secret_references')
    .columns(['tenant_id', 'vault', 'path'])
    .execute();
}
