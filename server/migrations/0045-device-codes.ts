import type { Columns, SchemaBuilder } from '../src/kernel/storage/migrate.ts';

/** Command lines that wait until a person signs in elsewhere: found by the hash of either of their two codes. */
export async function up(schema: SchemaBuilder, { text, bigint, blob, byPrimaryKey }: Columns): Promise<void> {
  await schema
    .createTable('device_codes')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('device_hash', blob, (c) => c.notNull())
    .addColumn('user_code_hash', blob, (c) => c.notNull())
    .addColumn('address', text, (c) => c.notNull())
    .addColumn('state_hash', blob)
    .addColumn('sealed_decision', blob)
    .addColumn('polled_at', bigint, (c) => c.notNull())
    .addColumn('created_at', bigint, (c) => c.notNull())
    .addColumn('expires_at', bigint, (c) => c.notNull())
    .addPrimaryKeyConstraint('device_codes_key', ['tenant_id', 'device_hash'])
    .modifyEnd(byPrimaryKey)
    .execute();
  await schema.createIndex('device_codes_user_code').unique().on('device_codes').column('user_code_hash').execute();
  await schema.createIndex('device_codes_expiry').on('device_codes').column('expires_at').execute();
}
