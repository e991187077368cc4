import type { Columns, SchemaBuilder } from '../src/kernel/storage/migrate.ts';

/** Exporters of the audit log, how far each has come, and what its receiver did not take. */
export async function up(schema: SchemaBuilder, { text, bigint, blob, byPrimaryKey }: Columns): Promise<void> {
  await schema
    .createTable('exporters')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('exporter_id', text, (c) => c.notNull())
    .addColumn('name', text, (c) => c.notNull())
    .addColumn('type', text, (c) => c.notNull())
    .addColumn('format', text, (c) => c.notNull())
    .addColumn('filter', text, (c) => c.notNull())
    .addColumn('endpoint', text, (c) => c.notNull())
    .addColumn('ca_pem', text)
    .addColumn('sealed_credentials', blob)
    .addColumn('enabled', 'integer', (c) => c.notNull())
    .addColumn('created_by', text, (c) => c.notNull())
    .addColumn('created_at', bigint, (c) => c.notNull())
    .addColumn('updated_at', bigint, (c) => c.notNull())
    .addColumn('row_mac', blob)
    .addPrimaryKeyConstraint('exporters_key', ['tenant_id', 'exporter_id'])
    .modifyEnd(byPrimaryKey)
    .execute();
  await schema.createIndex('exporters_name').unique().on('exporters').columns(['tenant_id', 'name']).execute();
  await schema
    .createTable('exporter_progress')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('exporter_id', text, (c) => c.notNull())
    .addColumn('begin_seq', bigint, (c) => c.notNull())
    .addColumn('cursor_seq', bigint, (c) => c.notNull())
    .addColumn('checkpoint_no', bigint, (c) => c.notNull())
    .addColumn('revision', bigint, (c) => c.notNull())
    .addColumn('delivered', bigint, (c) => c.notNull())
    .addColumn('rejected', bigint, (c) => c.notNull())
    .addColumn('skipped', bigint, (c) => c.notNull())
    .addColumn('last_success_at', bigint)
    .addColumn('last_error', text)
    .addColumn('last_error_at', bigint)
    .addColumn('failures', 'integer', (c) => c.notNull())
    .addColumn('next_attempt_at', bigint, (c) => c.notNull())
    .addColumn('lease_owner', text)
    .addColumn('lease_until', bigint, (c) => c.notNull())
    .addPrimaryKeyConstraint('exporter_progress_key', ['tenant_id', 'exporter_id'])
    .modifyEnd(byPrimaryKey)
    .execute();
  await schema
    .createTable('exporter_losses')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('exporter_id', text, (c) => c.notNull())
    .addColumn('from_seq', bigint, (c) => c.notNull())
    .addColumn('to_seq', bigint, (c) => c.notNull())
    .addColumn('kind', text, (c) => c.notNull())
    .addColumn('reason', text, (c) => c.notNull())
    .addColumn('lost_at', bigint, (c) => c.notNull())
    .addPrimaryKeyConstraint('exporter_losses_key', ['tenant_id', 'exporter_id', 'from_seq', 'kind'])
    .modifyEnd(byPrimaryKey)
    .execute();
}
