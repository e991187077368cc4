import type { Columns, SchemaBuilder } from '../src/kernel/storage/migrate.ts';

/** How many requests each tenant has sent to the assistant on its last day. */
export async function up(schema: SchemaBuilder, { text, bigint, byPrimaryKey }: Columns): Promise<void> {
  await schema
    .createTable('copilot_usage')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('day_start', bigint, (c) => c.notNull())
    .addColumn('requests', 'integer', (c) => c.notNull())
    .addPrimaryKeyConstraint('copilot_usage_key', ['tenant_id'])
    .modifyEnd(byPrimaryKey)
    .execute();
}
