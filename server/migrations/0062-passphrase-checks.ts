import type { Columns, SchemaBuilder } from '../src/kernel/storage/migrate.ts';

export const isAdditive = true;

/** A sealed text by which the clients of a zero-knowledge vault recognize its passphrase. A vault has none until one is stored. */
export async function up(schema: SchemaBuilder, { text, integer, bigint, blob, byPrimaryKey }: Columns): Promise<void> {
  await schema
    .createTable('passphrase_checks')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('vault_id', text, (c) => c.notNull())
    .addColumn('version', integer, (c) => c.notNull())
    .addColumn('current_check', text, (c) => c.notNull())
    .addColumn('former_check', text)
    .addColumn('updated_at', bigint, (c) => c.notNull())
    .addColumn('row_mac', blob)
    .addPrimaryKeyConstraint('passphrase_checks_key', ['tenant_id', 'vault_id'])
    .modifyEnd(byPrimaryKey)
    .execute();
}
