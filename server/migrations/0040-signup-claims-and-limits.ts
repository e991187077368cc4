import type { Columns, SchemaBuilder } from '../src/kernel/storage/migrate.ts';

/**
 * Whose a subscription will be, if it was bought before the sign-up of its tenant was verified. Mail of sign-ups is counted by mailbox elsewhere.
 */
export async function up(schema: SchemaBuilder, { text }: Columns): Promise<void> {
  await schema.alterTable('subscriptions').addColumn('claimed_tenant_id', text).execute();
  // The job that ends grace periods reads all subscriptions, since it verifies them.
  await schema.dropIndex('subscriptions_grace').execute();
  await schema.createIndex('subscriptions_claimed').on('subscriptions').columns(['claimed_tenant_id']).execute();
  await schema.alterTable('signups').dropColumn('mails').execute();
  await schema.alterTable('signups').dropColumn('mails_since').execute();
}
