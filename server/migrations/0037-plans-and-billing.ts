import type { Columns, SchemaBuilder } from '../src/kernel/storage/migrate.ts';

/** Limits of plans as the operator set them, subscriptions of tenants, and the events of the payment processor. */
export async function up(schema: SchemaBuilder, { text, bigint, blob, byPrimaryKey }: Columns): Promise<void> {
  await schema
    .createTable('plan_limits')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('plan', text, (c) => c.notNull())
    .addColumn('quotas', text, (c) => c.notNull())
    .addColumn('rates', text, (c) => c.notNull())
    .addColumn('updated_at', bigint, (c) => c.notNull())
    .addColumn('row_mac', blob)
    .addPrimaryKeyConstraint('plan_limits_key', ['tenant_id', 'plan'])
    .modifyEnd(byPrimaryKey)
    .execute();
  await schema
    .createTable('subscriptions')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('subscription_id', text, (c) => c.notNull())
    .addColumn('customer_id', text, (c) => c.notNull())
    .addColumn('status', text, (c) => c.notNull())
    .addColumn('plan', text)
    .addColumn('state_at', bigint, (c) => c.notNull())
    .addColumn('grace_until', bigint)
    .addColumn('updated_at', bigint, (c) => c.notNull())
    .addColumn('row_mac', blob)
    .addPrimaryKeyConstraint('subscriptions_key', ['tenant_id', 'subscription_id'])
    .modifyEnd(byPrimaryKey)
    .execute();
  await schema.createIndex('subscriptions_id').on('subscriptions').columns(['subscription_id']).execute();
  await schema.createIndex('subscriptions_grace').on('subscriptions').columns(['grace_until']).execute();
  await schema
    .createTable('billing_events')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('event_id', text, (c) => c.notNull())
    .addColumn('type', text, (c) => c.notNull())
    .addColumn('subject_tenant_id', text)
    .addColumn('outcome', text, (c) => c.notNull())
    .addColumn('event_at', bigint, (c) => c.notNull())
    .addColumn('received_at', bigint, (c) => c.notNull())
    .addPrimaryKeyConstraint('billing_events_key', ['tenant_id', 'event_id'])
    .modifyEnd(byPrimaryKey)
    .execute();
  await schema.createIndex('billing_events_received').on('billing_events').columns(['received_at']).execute();
  await schema.alterTable('tenants').addColumn('base_plan', text).execute();
}
