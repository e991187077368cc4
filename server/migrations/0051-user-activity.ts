import type { Columns, SchemaBuilder } from '../src/kernel/storage/migrate.ts';

/** When each user was last seen in the audit log. */
export async function up(schema: SchemaBuilder, { text, bigint, byPrimaryKey }: Columns): Promise<void> {
  await schema
    .createTable('user_activity')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('user_id', text, (c) => c.notNull())
    .addColumn('last_seen_at', bigint, (c) => c.notNull())
    .addPrimaryKeyConstraint('user_activity_key', ['tenant_id', 'user_id'])
    .modifyEnd(byPrimaryKey)
    .execute();
}
