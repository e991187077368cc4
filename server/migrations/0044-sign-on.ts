import type { Columns, SchemaBuilder } from '../src/kernel/storage/migrate.ts';

/** The OpenID providers of a tenant, and which of its people signed in by which subject of which issuer. */
export async function up(schema: SchemaBuilder, { text, bigint, blob, byPrimaryKey }: Columns): Promise<void> {
  await schema
    .createTable('sso_providers')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('name', text, (c) => c.notNull())
    .addColumn('issuer', text, (c) => c.notNull())
    .addColumn('client_id', text, (c) => c.notNull())
    .addColumn('sealed_secret', blob)
    .addColumn('scopes', text, (c) => c.notNull())
    .addColumn('groups_claim', text, (c) => c.notNull())
    .addColumn('role_mapping', text, (c) => c.notNull())
    .addColumn('group_mapping', text, (c) => c.notNull())
    .addColumn('default_role', text)
    .addColumn('required', 'integer', (c) => c.notNull())
    .addColumn('enabled', 'integer', (c) => c.notNull())
    .addColumn('revision', 'integer', (c) => c.notNull())
    .addColumn('created_by', text, (c) => c.notNull())
    .addColumn('created_at', bigint, (c) => c.notNull())
    .addColumn('updated_at', bigint, (c) => c.notNull())
    .addColumn('row_mac', blob)
    .addPrimaryKeyConstraint('sso_providers_key', ['tenant_id', 'name'])
    .modifyEnd(byPrimaryKey)
    .execute();
  await schema
    .createTable('sso_identities')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('identity_hash', blob, (c) => c.notNull())
    .addColumn('issuer', text, (c) => c.notNull())
    .addColumn('subject', text, (c) => c.notNull())
    .addColumn('user_id', text, (c) => c.notNull())
    .addColumn('created_at', bigint, (c) => c.notNull())
    .addColumn('row_mac', blob)
    .addPrimaryKeyConstraint('sso_identities_key', ['tenant_id', 'identity_hash'])
    .modifyEnd(byPrimaryKey)
    .execute();
  await schema.createIndex('sso_identities_of_user').on('sso_identities').columns(['tenant_id', 'user_id']).execute();
}
