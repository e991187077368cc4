import type { Columns, SchemaBuilder } from '../src/kernel/storage/migrate.ts';

export const isAdditive = true;

/** How much happened in each hour, and who was active in it, counted from the audit log. Counting begins with the upgrade. */
export async function up(schema: SchemaBuilder, { text, bigint, byPrimaryKey }: Columns): Promise<void> {
  await schema
    .createTable('hourly_activity')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('hour_start', bigint, (c) => c.notNull())
    .addColumn('reads', bigint, (c) => c.notNull())
    .addColumn('changes', bigint, (c) => c.notNull())
    .addColumn('other', bigint, (c) => c.notNull())
    .addColumn('denied', bigint, (c) => c.notNull())
    .addColumn('failed', bigint, (c) => c.notNull())
    .addPrimaryKeyConstraint('hourly_activity_key', ['tenant_id', 'hour_start'])
    .modifyEnd(byPrimaryKey)
    .execute();
  await schema
    .createTable('hourly_actors')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('hour_start', bigint, (c) => c.notNull())
    .addColumn('actor_kind', text, (c) => c.notNull())
    .addColumn('actor_id', text, (c) => c.notNull())
    .addColumn('actor_name', text, (c) => c.notNull())
    .addColumn('reads', bigint, (c) => c.notNull())
    .addColumn('changes', bigint, (c) => c.notNull())
    .addColumn('denied', bigint, (c) => c.notNull())
    .addPrimaryKeyConstraint('hourly_actors_key', ['tenant_id', 'hour_start', 'actor_kind', 'actor_id'])
    .modifyEnd(byPrimaryKey)
    .execute();
}
