import type { Columns, SchemaBuilder } from '../../src/kernel/storage/migrate.ts';

/** Keys that encrypt for callers who hold none. Their material is among the keyring's keys, each under a purpose of its own. */
export async function createEncryptionKeys(
  schema: SchemaBuilder,
  { text, bigint, byPrimaryKey }: Columns,
): Promise<void> {
  await schema
    .createTable('eaas_keys')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('name', text, (c) => c.notNull())
    .addColumn('key_id', text, (c) => c.notNull())
    .addColumn('description', text, (c) => c.notNull())
    .addColumn('delete_protection', bigint, (c) => c.notNull())
    .addColumn('latest_version', bigint, (c) => c.notNull())
    .addColumn('approval_id', text)
    .addColumn('created_by', text, (c) => c.notNull())
    .addColumn('created_at', bigint, (c) => c.notNull())
    .addColumn('updated_at', bigint, (c) => c.notNull())
    .addColumn('rotated_at', bigint)
    .addPrimaryKeyConstraint('eaas_keys_key', ['tenant_id', 'name'])
    .modifyEnd(byPrimaryKey)
    .execute();
}
