import type { Columns, SchemaBuilder } from '../src/kernel/storage/migrate.ts';

/** Webhook subscriptions, each delivery of an event to one of them, and which certificates were announced as expiring. */
export async function up(schema: SchemaBuilder, { text, bigint, blob, byPrimaryKey }: Columns): Promise<void> {
  await schema
    .createTable('webhooks')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('webhook_id', text, (c) => c.notNull())
    .addColumn('url', text, (c) => c.notNull())
    .addColumn('events', text, (c) => c.notNull())
    .addColumn('min_severity', text, (c) => c.notNull())
    .addColumn('format', text, (c) => c.notNull())
    .addColumn('sealed_secrets', blob, (c) => c.notNull())
    .addColumn('enabled', 'integer', (c) => c.notNull())
    .addColumn('disabled_reason', text)
    .addColumn('created_by', text, (c) => c.notNull())
    .addColumn('created_at', bigint, (c) => c.notNull())
    .addColumn('updated_at', bigint, (c) => c.notNull())
    .addColumn('row_mac', blob)
    .addPrimaryKeyConstraint('webhooks_key', ['tenant_id', 'webhook_id'])
    .modifyEnd(byPrimaryKey)
    .execute();
  await schema
    .createTable('webhook_deliveries')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('delivery_id', text, (c) => c.notNull())
    .addColumn('webhook_id', text, (c) => c.notNull())
    .addColumn('event', text, (c) => c.notNull())
    .addColumn('message', text, (c) => c.notNull())
    .addColumn('status', text, (c) => c.notNull())
    .addColumn('attempts', 'integer', (c) => c.notNull())
    .addColumn('next_attempt_at', bigint)
    .addColumn('lease_until', bigint, (c) => c.notNull())
    .addColumn('response_status', 'integer')
    .addColumn('duration_ms', 'integer')
    .addColumn('last_error', text)
    .addColumn('created_at', bigint, (c) => c.notNull())
    .addColumn('ended_at', bigint)
    .addPrimaryKeyConstraint('webhook_deliveries_key', ['tenant_id', 'delivery_id'])
    .modifyEnd(byPrimaryKey)
    .execute();
  await schema
    .createIndex('webhook_deliveries_of_webhook')
    .on('webhook_deliveries')
    .columns(['tenant_id', 'webhook_id', 'delivery_id'])
    .execute();
  await schema
    .createTable('certificate_announcements')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('announced_until', bigint, (c) => c.notNull())
    .addPrimaryKeyConstraint('certificate_announcements_key', ['tenant_id'])
    .modifyEnd(byPrimaryKey)
    .execute();
  // Deliveries that have ended have no next attempt, so the index holds only those that wait.
  await schema.createIndex('webhook_deliveries_due').on('webhook_deliveries').column('next_attempt_at').execute();
}
