import type { Columns, SchemaBuilder } from '../src/kernel/storage/migrate.ts';

/** What a region has of each origin, and its own clock, decide what it tells others, so their rows are authenticated. Regions find out both anew. */
export async function up(schema: SchemaBuilder, { text, bigint, blob, byPrimaryKey }: Columns): Promise<void> {
  await schema.dropTable('region_vectors').execute();
  await schema.dropTable('region_clocks').execute();
  await schema
    .createTable('region_vectors')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('origin', text, (c) => c.notNull())
    .addColumn('seq', bigint, (c) => c.notNull())
    .addColumn('row_mac', blob)
    .addPrimaryKeyConstraint('region_vectors_key', ['tenant_id', 'origin'])
    .modifyEnd(byPrimaryKey)
    .execute();
  await schema
    .createTable('region_clocks')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('region', text, (c) => c.notNull())
    .addColumn('ms', bigint, (c) => c.notNull())
    .addColumn('counter', 'integer', (c) => c.notNull())
    .addColumn('seq', bigint, (c) => c.notNull())
    .addColumn('row_mac', blob)
    .addPrimaryKeyConstraint('region_clocks_key', ['tenant_id', 'region'])
    .modifyEnd(byPrimaryKey)
    .execute();
}
