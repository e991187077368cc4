import type { Columns, SchemaBuilder } from '../src/kernel/storage/migrate.ts';

/** Mail that waits to be sent, sign-ups that wait for their address to be verified, and what a tenant has mail sent for. */
export async function up(schema: SchemaBuilder, { text, bigint, blob, byPrimaryKey }: Columns): Promise<void> {
  await schema
    .createTable('outgoing_mail')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('mail_id', text, (c) => c.notNull())
    .addColumn('kind', text, (c) => c.notNull())
    .addColumn('sealed_message', blob, (c) => c.notNull())
    .addColumn('attempts', 'integer', (c) => c.notNull())
    .addColumn('next_attempt_at', bigint, (c) => c.notNull())
    .addColumn('lease_until', bigint, (c) => c.notNull())
    .addColumn('last_error', text)
    .addColumn('created_at', bigint, (c) => c.notNull())
    .addPrimaryKeyConstraint('outgoing_mail_key', ['tenant_id', 'mail_id'])
    .modifyEnd(byPrimaryKey)
    .execute();
  await schema.createIndex('outgoing_mail_due').on('outgoing_mail').column('next_attempt_at').execute();
  await schema
    .createTable('signups')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('address_hash', blob, (c) => c.notNull())
    .addColumn('token_hash', blob, (c) => c.notNull())
    .addColumn('sealed_signup', blob, (c) => c.notNull())
    .addColumn('mails', 'integer', (c) => c.notNull())
    .addColumn('mails_since', bigint, (c) => c.notNull())
    .addColumn('created_at', bigint, (c) => c.notNull())
    .addPrimaryKeyConstraint('signups_key', ['tenant_id', 'address_hash'])
    .modifyEnd(byPrimaryKey)
    .execute();
  await schema.createIndex('signups_token').unique().on('signups').columns(['token_hash']).execute();
  await schema.createIndex('signups_created').on('signups').columns(['created_at']).execute();
  // Whether an address has an account anywhere.
  await schema.createIndex('users_address').on('users').columns(['email']).execute();
  await schema.alterTable('tenants').addColumn('mail_notices', text).execute();
}
