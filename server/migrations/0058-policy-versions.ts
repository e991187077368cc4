import type { Columns, SchemaBuilder } from '../src/kernel/storage/migrate.ts';

/** The former versions of a policy. The current one is in `policies`, so a policy from before has none until it changes. */
export async function up(schema: SchemaBuilder, { text, integer, bigint, blob, byPrimaryKey }: Columns): Promise<void> {
  await schema
    .createTable('policy_versions')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('policy_id', text, (c) => c.notNull())
    .addColumn('version', integer, (c) => c.notNull())
    .addColumn('description', text, (c) => c.notNull())
    .addColumn('document', text, (c) => c.notNull())
    .addColumn('written_at', bigint, (c) => c.notNull())
    .addColumn('row_mac', blob)
    .addPrimaryKeyConstraint('policy_versions_key', ['tenant_id', 'policy_id', 'version'])
    .modifyEnd(byPrimaryKey)
    .execute();
}
