import type { Columns, SchemaBuilder } from '../../src/kernel/storage/migrate.ts';

/** Hybrid and composite keys of tenants (those of the installation sign audit checkpoints), and the checkpoints. */
export async function createPostQuantumKeys(
  schema: SchemaBuilder,
  { text, bigint, blob, byPrimaryKey }: Columns,
): Promise<void> {
  await schema
    .createTable('pqc_keys')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('algorithm', text, (c) => c.notNull())
    .addColumn('version', bigint, (c) => c.notNull())
    .addColumn('key_id', text, (c) => c.notNull())
    .addColumn('public_key', blob, (c) => c.notNull())
    .addColumn('sealed_private', blob, (c) => c.notNull())
    .addColumn('created_at', bigint, (c) => c.notNull())
    .addPrimaryKeyConstraint('pqc_keys_key', ['tenant_id', 'algorithm', 'version'])
    .modifyEnd(byPrimaryKey)
    .execute();
  await schema.createIndex('pqc_keys_id').unique().on('pqc_keys').columns(['tenant_id', 'key_id']).execute();

  await schema
    .createTable('audit_checkpoints')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('checkpoint_no', bigint, (c) => c.notNull())
    .addColumn('seq', bigint, (c) => c.notNull())
    .addColumn('hash', blob, (c) => c.notNull())
    .addColumn('signed_at', bigint, (c) => c.notNull())
    .addColumn('key_id', text, (c) => c.notNull())
    .addColumn('signature', blob, (c) => c.notNull())
    .addPrimaryKeyConstraint('audit_checkpoints_key', ['tenant_id', 'checkpoint_no'])
    .modifyEnd(byPrimaryKey)
    .execute();
}
