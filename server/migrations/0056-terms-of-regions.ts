import type { Columns, SchemaBuilder } from '../src/kernel/storage/migrate.ts';

/** Which regions were the primary one of a tenant before: what they said about it counts on. */
export async function up(schema: SchemaBuilder, { text, blob, byPrimaryKey }: Columns): Promise<void> {
  await schema
    .createTable('region_terms')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('served_id', text, (c) => c.notNull())
    .addColumn('region', text, (c) => c.notNull())
    .addColumn('row_mac', blob)
    .addPrimaryKeyConstraint('region_terms_key', ['tenant_id', 'served_id', 'region'])
    .modifyEnd(byPrimaryKey)
    .execute();
}
