import type { Columns, SchemaBuilder } from '../src/kernel/storage/migrate.ts';

/** Which nodes run on this database, with their releases, and the oldest schema whose releases may still use it. */
export async function up(
  schema: SchemaBuilder,
  { text, integer, bigint, byPrimaryKey }: Columns,
  _data: unknown,
  version: number,
): Promise<void> {
  await schema
    .alterTable('schema_version')
    .addColumn('oldest', integer, (c) => c.notNull().defaultTo(version))
    .execute();
  await schema
    .createTable('nodes')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('node_id', text, (c) => c.notNull())
    .addColumn('release', text, (c) => c.notNull())
    .addColumn('schema_version', integer, (c) => c.notNull())
    .addColumn('region', text)
    .addColumn('started_at', bigint, (c) => c.notNull())
    .addColumn('seen_at', bigint, (c) => c.notNull())
    .addPrimaryKeyConstraint('nodes_key', ['node_id'])
    .modifyEnd(byPrimaryKey)
    .execute();
  await schema.createIndex('nodes_seen').on('nodes').columns(['seen_at']).execute();
}
