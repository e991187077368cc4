import type { Columns, SchemaBuilder } from '../../src/kernel/storage/migrate.ts';

/** One row: how far the journal of audit entries has been moved into the log. Used on SQLite alone. */
export async function createAuditJournal(
  schema: SchemaBuilder,
  { text, integer, bigint, blob, byPrimaryKey }: Columns,
): Promise<void> {
  await schema
    .createTable('audit_journal')
    .addColumn('tenant_id', text, (c) => c.primaryKey())
    .addColumn('journal_id', blob, (c) => c.notNull())
    .addColumn('moved', bigint, (c) => c.notNull())
    .addColumn('is_open', integer, (c) => c.notNull())
    .addColumn('mac', blob, (c) => c.notNull())
    .addColumn('mac_key_version', integer, (c) => c.notNull())
    .modifyEnd(byPrimaryKey)
    .execute();
}
