import type { Columns, SchemaBuilder } from '../src/kernel/storage/migrate.ts';

/** SCIM: the tokens of providers, and which users and groups belong to which issuer. */
export async function up(schema: SchemaBuilder, columns: Columns): Promise<void> {
  await tokens(schema, columns);
  await users(schema, columns);
  await groups(schema, columns);
  // The claim that says who somebody is. Providers from before use the subject.
  await schema.alterTable('sso_providers').addColumn('subject_claim', columns.text).execute();
}

async function tokens(schema: SchemaBuilder, { text, bigint, blob, byPrimaryKey }: Columns): Promise<void> {
  await schema
    .createTable('scim_tokens')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('token_id', text, (c) => c.notNull())
    .addColumn('provider', text, (c) => c.notNull())
    .addColumn('issuer_hash', blob, (c) => c.notNull())
    .addColumn('description', text, (c) => c.notNull())
    .addColumn('token_hash', blob, (c) => c.notNull())
    .addColumn('former_token_hash', blob)
    .addColumn('former_token_until', bigint)
    .addColumn('expires_at', bigint, (c) => c.notNull())
    .addColumn('created_by', text, (c) => c.notNull())
    .addColumn('created_at', bigint, (c) => c.notNull())
    .addColumn('row_mac', blob)
    .addPrimaryKeyConstraint('scim_tokens_key', ['tenant_id', 'token_id'])
    .modifyEnd(byPrimaryKey)
    .execute();
  await schema.createIndex('scim_tokens_provider').on('scim_tokens').columns(['tenant_id', 'provider']).execute();
  // A request shows its token before its tenant is known.
  await schema.createIndex('scim_tokens_token').on('scim_tokens').column('token_hash').execute();
  await schema.createIndex('scim_tokens_former_token').on('scim_tokens').column('former_token_hash').execute();
}

async function users(schema: SchemaBuilder, { text, bigint, blob, byPrimaryKey }: Columns): Promise<void> {
  await schema
    .createTable('scim_users')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('user_id', text, (c) => c.notNull())
    .addColumn('issuer_hash', blob, (c) => c.notNull())
    .addColumn('user_name', text, (c) => c.notNull())
    .addColumn('user_name_key', text, (c) => c.notNull())
    .addColumn('external_id', text)
    .addColumn('display_name', text, (c) => c.notNull())
    .addColumn('formatted_name', text, (c) => c.notNull())
    .addColumn('given_name', text, (c) => c.notNull())
    .addColumn('family_name', text, (c) => c.notNull())
    .addColumn('is_suspended', 'integer', (c) => c.notNull())
    .addColumn('created_at', bigint, (c) => c.notNull())
    .addColumn('updated_at', bigint, (c) => c.notNull())
    .addColumn('row_mac', blob)
    .addPrimaryKeyConstraint('scim_users_key', ['tenant_id', 'user_id'])
    .modifyEnd(byPrimaryKey)
    .execute();
  await schema
    .createIndex('scim_users_name')
    .unique()
    .on('scim_users')
    .columns(['tenant_id', 'issuer_hash', 'user_name_key'])
    .execute();
  await schema
    .createIndex('scim_users_external')
    .on('scim_users')
    .columns(['tenant_id', 'issuer_hash', 'external_id'])
    .execute();
}

async function groups(schema: SchemaBuilder, { text, bigint, blob, byPrimaryKey }: Columns): Promise<void> {
  await schema
    .createTable('scim_groups')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('group_id', text, (c) => c.notNull())
    .addColumn('issuer_hash', blob, (c) => c.notNull())
    .addColumn('display_name', text, (c) => c.notNull())
    .addColumn('display_name_key', text, (c) => c.notNull())
    .addColumn('external_id', text)
    .addColumn('revision', 'integer', (c) => c.notNull())
    .addColumn('created_at', bigint, (c) => c.notNull())
    .addColumn('updated_at', bigint, (c) => c.notNull())
    .addColumn('row_mac', blob)
    .addPrimaryKeyConstraint('scim_groups_key', ['tenant_id', 'group_id'])
    .modifyEnd(byPrimaryKey)
    .execute();
  await schema
    .createIndex('scim_groups_name')
    .unique()
    .on('scim_groups')
    .columns(['tenant_id', 'issuer_hash', 'display_name_key'])
    .execute();
  await schema
    .createIndex('scim_groups_external')
    .on('scim_groups')
    .columns(['tenant_id', 'issuer_hash', 'external_id'])
    .execute();
}
