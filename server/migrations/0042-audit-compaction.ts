import type { Columns, SchemaBuilder } from '../src/kernel/storage/migrate.ts';

/** Compressed segments of the audit log, and how far each log was compacted and verified. */
export async function up(schema: SchemaBuilder, { text, integer, bigint, blob, byPrimaryKey }: Columns): Promise<void> {
  await schema.alterTable('audit_segments').addColumn('packed', blob).execute();

  await schema
    .createTable('audit_compaction')
    .addColumn('tenant_id', text, (c) => c.primaryKey())
    .addColumn('seq', bigint, (c) => c.notNull())
    .modifyEnd(byPrimaryKey)
    .execute();

  await schema
    .createTable('audit_verified')
    .addColumn('tenant_id', text, (c) => c.primaryKey())
    .addColumn('seq', bigint, (c) => c.notNull())
    .addColumn('hash', blob, (c) => c.notNull())
    .addColumn('checkpoint_no', bigint, (c) => c.notNull())
    .addColumn('verified_at', bigint, (c) => c.notNull())
    .addColumn('full_at', bigint, (c) => c.notNull())
    .addColumn('is_valid', integer, (c) => c.notNull())
    .addColumn('row_mac', blob)
    .modifyEnd(byPrimaryKey)
    .execute();
}
