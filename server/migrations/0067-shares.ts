import type { Columns, SchemaBuilder } from '../src/kernel/storage/migrate.ts';

export const isAdditive = true;

/** Values that people share by a link, sealed by the client. The key is only in the link. */
export async function up(schema: SchemaBuilder, { text, integer, bigint, blob, byPrimaryKey }: Columns): Promise<void> {
  await schema
    .createTable('shares')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('share_id', text, (c) => c.notNull())
    .addColumn('created_by', text, (c) => c.notNull())
    .addColumn('envelope', text)
    .addColumn('views', integer, (c) => c.notNull())
    .addColumn('views_left', integer, (c) => c.notNull())
    .addColumn('created_at', bigint, (c) => c.notNull())
    .addColumn('expires_at', bigint, (c) => c.notNull())
    .addColumn('opened_at', bigint)
    .addColumn('revoked_at', bigint)
    .addColumn('row_mac', blob)
    .addPrimaryKeyConstraint('shares_key', ['tenant_id', 'share_id'])
    .modifyEnd(byPrimaryKey)
    .execute();
  await schema.createIndex('shares_by_id').on('shares').columns(['share_id', 'tenant_id']).unique().execute();
  await schema.createIndex('shares_end').on('shares').column('expires_at').execute();
  await schema.createIndex('shares_of_user').on('shares').columns(['tenant_id', 'created_by']).execute();
}
