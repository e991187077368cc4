import type { Columns, SchemaBuilder } from '../../src/kernel/storage/migrate.ts';

/** Who from outside may act as a connection: methods of workload identity, and federations of CI systems. */
export async function createExternalIdentities(
  schema: SchemaBuilder,
  { text, bigint, blob, byPrimaryKey }: Columns,
): Promise<void> {
  await schema
    .createTable('workload_methods')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('method_no', bigint, (c) => c.notNull())
    .addColumn('connection_no', bigint, (c) => c.notNull())
    .addColumn('name', text, (c) => c.notNull())
    .addColumn('type', text, (c) => c.notNull())
    .addColumn('config', text, (c) => c.notNull())
    .addColumn('sealed_secrets', blob)
    .addColumn('revision', bigint, (c) => c.notNull())
    .addColumn('created_by', text, (c) => c.notNull())
    .addColumn('created_at', bigint, (c) => c.notNull())
    .addColumn('updated_at', bigint, (c) => c.notNull())
    .addPrimaryKeyConstraint('workload_methods_key', ['tenant_id', 'method_no'])
    .modifyEnd(byPrimaryKey)
    .execute();
  await schema
    .createIndex('workload_methods_name')
    .unique()
    .on('workload_methods')
    .columns(['tenant_id', 'name'])
    .execute();
  // Before it is known whose it is, all that is known of a method is its number.
  await schema.createIndex('workload_methods_number').unique().on('workload_methods').columns(['method_no']).execute();
  await schema
    .createIndex('workload_methods_connection')
    .on('workload_methods')
    .columns(['tenant_id', 'connection_no'])
    .execute();

  await schema
    .createTable('federations')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('connection_no', bigint, (c) => c.notNull())
    .addColumn('federation_no', bigint, (c) => c.notNull())
    .addColumn('name', text, (c) => c.notNull())
    .addColumn('provider', text, (c) => c.notNull())
    .addColumn('issuer', text, (c) => c.notNull())
    .addColumn('jwks_url', text)
    .addColumn('audience', text)
    .addColumn('subject_pattern', text, (c) => c.notNull())
    .addColumn('claims', text, (c) => c.notNull())
    .addColumn('token_ttl_seconds', bigint, (c) => c.notNull())
    .addColumn('enabled', bigint, (c) => c.notNull())
    .addColumn('revision', bigint, (c) => c.notNull())
    .addColumn('created_by', text, (c) => c.notNull())
    .addColumn('created_at', bigint, (c) => c.notNull())
    .addColumn('updated_at', bigint, (c) => c.notNull())
    .addPrimaryKeyConstraint('federations_key', ['tenant_id', 'connection_no', 'federation_no'])
    .modifyEnd(byPrimaryKey)
    .execute();
  await schema
    .createIndex('federations_name')
    .unique()
    .on('federations')
    .columns(['tenant_id', 'connection_no', 'name'])
    .execute();
}
