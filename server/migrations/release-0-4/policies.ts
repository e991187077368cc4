import type { Columns, SchemaBuilder } from '../../src/kernel/storage/migrate.ts';

/** Policies and what they are attached to. */
export async function createPolicies(schema: SchemaBuilder, { text, bigint, byPrimaryKey }: Columns): Promise<void> {
  await schema
    .createTable('policies')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('name', text, (c) => c.notNull())
    .addColumn('policy_id', text, (c) => c.notNull())
    .addColumn('description', text, (c) => c.notNull())
    .addColumn('document', text, (c) => c.notNull())
    .addColumn('version', bigint, (c) => c.notNull())
    .addColumn('created_at', bigint, (c) => c.notNull())
    .addColumn('updated_at', bigint, (c) => c.notNull())
    .addPrimaryKeyConstraint('policies_key', ['tenant_id', 'name'])
    .modifyEnd(byPrimaryKey)
    .execute();

  await schema
    .createTable('policy_attachments')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('principal_kind', text, (c) => c.notNull())
    .addColumn('principal_id', text, (c) => c.notNull())
    .addColumn('policy_name', text, (c) => c.notNull())
    .addColumn('attached_at', bigint, (c) => c.notNull())
    .addPrimaryKeyConstraint('policy_attachments_key', ['tenant_id', 'principal_kind', 'principal_id', 'policy_name'])
    .modifyEnd(byPrimaryKey)
    .execute();
  await schema
    .createIndex('policy_attachments_policy')
    .on('policy_attachments')
    .columns(['tenant_id', 'policy_name'])
    .execute();
}
