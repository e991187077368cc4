import type { Columns, SchemaBuilder } from '../src/kernel/storage/migrate.ts';

export const isAdditive = true;

/** The root key, sealed under each seal that the operator added. Without any, it comes from its file, setting or passphrase as before. */
export async function up(schema: SchemaBuilder, { text, bigint, blob, byPrimaryKey }: Columns): Promise<void> {
  await schema
    .createTable('seals')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('reference', text, (c) => c.notNull())
    .addColumn('sealed', blob, (c) => c.notNull())
    .addColumn('root_key_id', text, (c) => c.notNull())
    .addColumn('sealed_at', bigint, (c) => c.notNull())
    .addColumn('checked_at', bigint)
    .addColumn('problem', text)
    .addPrimaryKeyConstraint('seals_key', ['tenant_id', 'reference'])
    .modifyEnd(byPrimaryKey)
    .execute();
}
