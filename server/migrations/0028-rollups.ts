import type { Columns, SchemaBuilder } from '../src/kernel/storage/migrate.ts';

/** Reads and refusals by hour, counted from the audit log, and how far the counting has come. */
export async function up(schema: SchemaBuilder, { text, bigint, byPrimaryKey }: Columns): Promise<void> {
  await schema
    .createTable('hourly_counts')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('resource', text, (c) => c.notNull())
    .addColumn('hour_start', bigint, (c) => c.notNull())
    .addColumn('actor_kind', text, (c) => c.notNull())
    .addColumn('actor_id', text, (c) => c.notNull())
    .addColumn('country', text, (c) => c.notNull())
    .addColumn('reads', bigint, (c) => c.notNull())
    .addColumn('denied', bigint, (c) => c.notNull())
    .addPrimaryKeyConstraint('hourly_counts_key', [
      'tenant_id',
      'resource',
      'hour_start',
      'actor_kind',
      'actor_id',
      'country',
    ])
    .modifyEnd(byPrimaryKey)
    .execute();
  await schema.createIndex('hourly_counts_hour').on('hourly_counts').columns(['tenant_id', 'hour_start']).execute();
  await schema
    .createTable('rollup_progress')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('cursor_seq', bigint, (c) => c.notNull())
    .addColumn('first_entry_at', bigint)
    .addColumn('due_at', bigint, (c) => c.notNull())
    .addColumn('lease_owner', text)
    .addColumn('lease_until', bigint, (c) => c.notNull())
    .addPrimaryKeyConstraint('rollup_progress_key', ['tenant_id'])
    .modifyEnd(byPrimaryKey)
    .execute();
}
