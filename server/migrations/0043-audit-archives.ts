import { sql } from 'kysely';
import type { Columns, SchemaBuilder } from '../src/kernel/storage/migrate.ts';

/** Ranges of the audit log that were written to an archive, and those of them that were pruned from the database. */
export async function up(schema: SchemaBuilder, { text, bigint, blob, byPrimaryKey }: Columns): Promise<void> {
  await schema
    .createTable('audit_archives')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('archive_no', bigint, (c) => c.notNull())
    .addColumn('first_seq', bigint, (c) => c.notNull())
    .addColumn('last_seq', bigint, (c) => c.notNull())
    .addColumn('entries', bigint, (c) => c.notNull())
    .addColumn('previous_hash', blob, (c) => c.notNull())
    .addColumn('last_hash', blob, (c) => c.notNull())
    .addColumn('first_at', bigint, (c) => c.notNull())
    .addColumn('last_at', bigint, (c) => c.notNull())
    .addColumn('object', text, (c) => c.notNull())
    .addColumn('digest', text, (c) => c.notNull())
    .addColumn('archived_at', bigint, (c) => c.notNull())
    .addColumn('pruned_at', bigint)
    .addColumn('kept', blob)
    .addColumn('restored_until', bigint)
    .addColumn('row_mac', blob)
    .addPrimaryKeyConstraint('audit_archives_key', ['tenant_id', 'archive_no'])
    .modifyEnd(byPrimaryKey)
    .execute();
  await schema.createIndex('audit_archives_chain').on('audit_archives').columns(['tenant_id', 'last_seq']).execute();
  await schema
    .createIndex('audit_archives_pruned')
    .on('audit_archives')
    .columns(['tenant_id', 'last_seq'])
    .where(sql.ref('pruned_at'), 'is not', null)
    .execute();
  await schema
    .createIndex('audit_archives_here')
    .on('audit_archives')
    .columns(['tenant_id', 'last_at'])
    .where(sql.ref('pruned_at'), 'is', null)
    .execute();
  await schema.createIndex('audit_checkpoints_seq').on('audit_checkpoints').columns(['tenant_id', 'seq']).execute();
}
