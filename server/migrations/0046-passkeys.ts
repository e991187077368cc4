import type { Columns, SchemaBuilder } from '../src/kernel/storage/migrate.ts';

/** The passkeys of people, found by their credential id, and the challenges that were answered, each of which counts once. */
export async function up(schema: SchemaBuilder, { text, bigint, blob, byPrimaryKey }: Columns): Promise<void> {
  await schema
    .createTable('user_passkeys')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('passkey_id', text, (c) => c.notNull())
    .addColumn('user_id', text, (c) => c.notNull())
    .addColumn('name', text, (c) => c.notNull())
    .addColumn('credential_hash', blob, (c) => c.notNull())
    .addColumn('credential_id', blob, (c) => c.notNull())
    .addColumn('public_key', blob, (c) => c.notNull())
    .addColumn('rp_id', text, (c) => c.notNull())
    .addColumn('sign_count', bigint, (c) => c.notNull())
    .addColumn('transports', text, (c) => c.notNull())
    .addColumn('is_synced', 'integer', (c) => c.notNull())
    .addColumn('created_at', bigint, (c) => c.notNull())
    .addColumn('last_used_at', bigint)
    .addColumn('trusted_at', bigint)
    .addColumn('row_mac', blob)
    .addPrimaryKeyConstraint('user_passkeys_key', ['tenant_id', 'passkey_id'])
    .modifyEnd(byPrimaryKey)
    .execute();
  await schema.createIndex('user_passkeys_of_user').on('user_passkeys').columns(['tenant_id', 'user_id']).execute();
  await schema.createIndex('user_passkeys_credential').unique().on('user_passkeys').column('credential_hash').execute();
  await schema
    .createTable('answered_challenges')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('challenge_hash', blob, (c) => c.notNull())
    .addColumn('expires_at', bigint, (c) => c.notNull())
    .addPrimaryKeyConstraint('answered_challenges_key', ['tenant_id', 'challenge_hash'])
    .modifyEnd(byPrimaryKey)
    .execute();
  await schema.createIndex('answered_challenges_expiry').on('answered_challenges').column('expires_at').execute();
}
