import type { Columns, SchemaBuilder } from '../src/kernel/storage/migrate.ts';

export const isAdditive = true;

/** Roles in vaults that people have until a time, because they requested them and somebody approved. */
export async function up(schema: SchemaBuilder, { text, bigint, blob, byPrimaryKey }: Columns): Promise<void> {
  await schema
    .createTable('timed_access')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('access_id', text, (c) => c.notNull())
    .addColumn('vault_id', text, (c) => c.notNull())
    .addColumn('user_id', text, (c) => c.notNull())
    .addColumn('role', text, (c) => c.notNull())
    .addColumn('path', text)
    .addColumn('reason', text, (c) => c.notNull())
    .addColumn('approval_id', text, (c) => c.notNull())
    .addColumn('granted_at', bigint, (c) => c.notNull())
    .addColumn('expires_at', bigint, (c) => c.notNull())
    .addColumn('ended_at', bigint)
    .addColumn('ended_by', text)
    .addColumn('row_mac', blob)
    .addPrimaryKeyConstraint('timed_access_key', ['tenant_id', 'access_id'])
    .modifyEnd(byPrimaryKey)
    .execute();
  await schema.createIndex('timed_access_of_user').on('timed_access').columns(['tenant_id', 'user_id']).execute();
  await schema.createIndex('timed_access_in_vault').on('timed_access').columns(['tenant_id', 'vault_id']).execute();
  await schema.createIndex('timed_access_end').on('timed_access').columns(['ended_at', 'expires_at']).execute();
}
