import type { Columns, SchemaBuilder } from '../src/kernel/storage/migrate.ts';

/** People who were invited choose their own password. One invitation for each at most, found by the hash of its token. */
export async function up(schema: SchemaBuilder, { text, bigint, blob, byPrimaryKey }: Columns): Promise<void> {
  await schema
    .createTable('invitations')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('user_id', text, (c) => c.notNull())
    .addColumn('token_hash', blob, (c) => c.notNull())
    .addColumn('invited_by', text, (c) => c.notNull())
    .addColumn('created_at', bigint, (c) => c.notNull())
    .addColumn('expires_at', bigint, (c) => c.notNull())
    .addColumn('row_mac', blob)
    .addPrimaryKeyConstraint('invitations_key', ['tenant_id', 'user_id'])
    .modifyEnd(byPrimaryKey)
    .execute();
  await schema.createIndex('invitations_token').unique().on('invitations').column('token_hash').execute();
}
