import type { Columns, SchemaBuilder } from '../../src/kernel/storage/migrate.ts';

/** Numbers that are counted up for each tenant; environments, and the secrets bound to them under a name. */
export async function createEnvironments(
  schema: SchemaBuilder,
  { text, bigint, byPrimaryKey }: Columns,
): Promise<void> {
  await schema
    .createTable('counters')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('name', text, (c) => c.notNull())
    .addColumn('value', bigint, (c) => c.notNull())
    .addPrimaryKeyConstraint('counters_key', ['tenant_id', 'name'])
    .modifyEnd(byPrimaryKey)
    .execute();

  await schema
    .createTable('environments')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('environment_id', bigint, (c) => c.notNull())
    .addColumn('name', text, (c) => c.notNull())
    .addColumn('parent_id', bigint)
    .addColumn('description', text, (c) => c.notNull())
    .addColumn('created_at', bigint, (c) => c.notNull())
    .addColumn('updated_at', bigint, (c) => c.notNull())
    .addPrimaryKeyConstraint('environments_key', ['tenant_id', 'environment_id'])
    .modifyEnd(byPrimaryKey)
    .execute();
  await schema.createIndex('environments_name').unique().on('environments').columns(['tenant_id', 'name']).execute();
  await schema.createIndex('environments_parent').on('environments').columns(['tenant_id', 'parent_id']).execute();

  await schema
    .createTable('environment_secrets')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('environment_id', bigint, (c) => c.notNull())
    .addColumn('key_name', text, (c) => c.notNull())
    .addColumn('secret_id', text, (c) => c.notNull())
    .addColumn('secret_no', bigint, (c) => c.notNull())
    .addColumn('bound_at', bigint, (c) => c.notNull())
    .addPrimaryKeyConstraint('environment_secrets_key', ['tenant_id', 'environment_id', 'key_name'])
    .modifyEnd(byPrimaryKey)
    .execute();
  // By the secret first: when one is destroyed, its bindings are found by it alone.
  await schema
    .createIndex('environment_secrets_secret')
    .unique()
    .on('environment_secrets')
    .columns(['tenant_id', 'secret_id', 'environment_id'])
    .execute();
}
