import type { Columns, SchemaBuilder } from '../../src/kernel/storage/migrate.ts';

/** Vaults, who is in them, their secrets with every version, and what was replaced by tokens. */
export async function createVaultsAndSecrets(schema: SchemaBuilder, columns: Columns): Promise<void> {
  await vaults(schema, columns);
  await secrets(schema, columns);
  await versions(schema, columns);
  await rotations(schema, columns);
  await tokenizedValues(schema, columns);
}

async function vaults(schema: SchemaBuilder, { text, integer, bigint, byPrimaryKey }: Columns): Promise<void> {
  await schema
    .createTable('vaults')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('name', text, (c) => c.notNull())
    .addColumn('vault_id', text, (c) => c.notNull())
    .addColumn('description', text, (c) => c.notNull())
    .addColumn('environment', text, (c) => c.notNull())
    .addColumn('tags', text, (c) => c.notNull())
    .addColumn('status', text, (c) => c.notNull())
    .addColumn('rotation_days', integer, (c) => c.notNull())
    .addColumn('log_reads', integer, (c) => c.notNull())
    .addColumn('audit_retention_days', integer)
    .addColumn('is_zero_knowledge', integer, (c) => c.notNull())
    .addColumn('secrets_count', bigint, (c) => c.notNull())
    .addColumn('approval_id', text)
    .addColumn('created_at', bigint, (c) => c.notNull())
    .addColumn('updated_at', bigint, (c) => c.notNull())
    .addColumn('deleted_at', bigint)
    .addColumn('purge_at', bigint)
    .addPrimaryKeyConstraint('vaults_key', ['tenant_id', 'name'])
    .modifyEnd(byPrimaryKey)
    .execute();
  await schema.createIndex('vaults_id').unique().on('vaults').columns(['tenant_id', 'vault_id']).execute();
  await schema.createIndex('vaults_purge').on('vaults').columns(['purge_at']).execute();

  await schema
    .createTable('vault_members')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('vault_id', text, (c) => c.notNull())
    .addColumn('principal_kind', text, (c) => c.notNull())
    .addColumn('principal_id', text, (c) => c.notNull())
    .addColumn('role', text, (c) => c.notNull())
    .addColumn('added_at', bigint, (c) => c.notNull())
    .addColumn('reviewed_at', bigint)
    .addColumn('reviewed_by', text)
    .addPrimaryKeyConstraint('vault_members_key', ['tenant_id', 'vault_id', 'principal_kind', 'principal_id'])
    .modifyEnd(byPrimaryKey)
    .execute();
  await schema
    .createIndex('vault_members_principal')
    .on('vault_members')
    .columns(['tenant_id', 'principal_kind', 'principal_id'])
    .execute();
}

/**
 * The row of a secret holds its newest version whole, so that reading it is one lookup. `deleted_no` is 0 for what exists and the secret's
 * number for what is soft-deleted: a path is used once, however many deleted secrets it had, and those do not lie among the living.
 */
async function secrets(schema: SchemaBuilder, { text, integer, bigint, blob, byPrimaryKey }: Columns): Promise<void> {
  await schema
    .createTable('secrets')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('vault_id', text, (c) => c.notNull())
    .addColumn('deleted_no', bigint, (c) => c.notNull())
    .addColumn('path', text, (c) => c.notNull())
    .addColumn('secret_id', text, (c) => c.notNull())
    .addColumn('secret_no', bigint, (c) => c.notNull())
    .addColumn('type', text, (c) => c.notNull())
    .addColumn('environment', text, (c) => c.notNull())
    .addColumn('protection', text, (c) => c.notNull())
    .addColumn('version', integer, (c) => c.notNull())
    .addColumn('metadata', text, (c) => c.notNull())
    .addColumn('tags', text, (c) => c.notNull())
    .addColumn('rotation', text)
    .addColumn('rotation_id', text)
    .addColumn('rotated_at', bigint)
    .addColumn('next_rotation_at', bigint)
    .addColumn('created_at', bigint, (c) => c.notNull())
    .addColumn('updated_at', bigint, (c) => c.notNull())
    .addColumn('deleted_at', bigint)
    .addColumn('fingerprint', blob)
    .addColumn('data_key', blob)
    .addColumn('sealed_version', integer, (c) => c.notNull())
    .addColumn('sealed', blob, (c) => c.notNull())
    .addPrimaryKeyConstraint('secrets_key', ['tenant_id', 'vault_id', 'deleted_no', 'path'])
    .execute();
  const index = (name: string) => schema.createIndex(`secrets_${name}`).on('secrets');
  await index('id').unique().columns(['tenant_id', 'secret_id']).execute();
  await index('number').unique().columns(['tenant_id', 'secret_no']).execute();
  await index('type').columns(['tenant_id', 'vault_id', 'deleted_no', 'type', 'path']).execute();
  await index('path').columns(['tenant_id', 'path']).execute();
  await index('fingerprint').columns(['tenant_id', 'fingerprint']).execute();
  await index('rotation').columns(['next_rotation_at']).execute();
  await index('deleted').columns(['deleted_at']).execute();

  await schema
    .createTable('secret_tags')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('vault_id', text, (c) => c.notNull())
    .addColumn('tag', text, (c) => c.notNull())
    .addColumn('path', text, (c) => c.notNull())
    .addPrimaryKeyConstraint('secret_tags_key', ['tenant_id', 'vault_id', 'tag', 'path'])
    .modifyEnd(byPrimaryKey)
    .execute();
}

async function versions(schema: SchemaBuilder, { text, integer, bigint, blob }: Columns): Promise<void> {
  await schema
    .createTable('secret_versions')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('secret_id', text, (c) => c.notNull())
    .addColumn('version', integer, (c) => c.notNull())
    .addColumn('operation', text, (c) => c.notNull())
    .addColumn('reason', text, (c) => c.notNull())
    .addColumn('restored_from', integer)
    .addColumn('author_kind', text, (c) => c.notNull())
    .addColumn('author_id', text, (c) => c.notNull())
    .addColumn('author_name', text, (c) => c.notNull())
    .addColumn('type', text, (c) => c.notNull())
    .addColumn('metadata', text, (c) => c.notNull())
    .addColumn('tags', text, (c) => c.notNull())
    .addColumn('created_at', bigint, (c) => c.notNull())
    .addColumn('sealed_version', integer, (c) => c.notNull())
    .addColumn('sealed', blob, (c) => c.notNull())
    .addPrimaryKeyConstraint('secret_versions_key', ['tenant_id', 'secret_id', 'version'])
    .execute();
}

async function rotations(schema: SchemaBuilder, { text, bigint, blob, byPrimaryKey }: Columns): Promise<void> {
  await schema
    .createTable('rotations')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('rotation_id', text, (c) => c.notNull())
    .addColumn('secret_id', text, (c) => c.notNull())
    .addColumn('status', text, (c) => c.notNull())
    .addColumn('backend', text, (c) => c.notNull())
    .addColumn('reason', text, (c) => c.notNull())
    .addColumn('author_kind', text, (c) => c.notNull())
    .addColumn('author_id', text, (c) => c.notNull())
    .addColumn('author_name', text, (c) => c.notNull())
    .addColumn('sealed_next', blob)
    .addColumn('failure', text, (c) => c.notNull())
    .addColumn('started_at', bigint, (c) => c.notNull())
    .addColumn('lease_until', bigint, (c) => c.notNull())
    .addColumn('finished_at', bigint)
    .addPrimaryKeyConstraint('rotations_key', ['tenant_id', 'rotation_id'])
    .modifyEnd(byPrimaryKey)
    .execute();
  await schema.createIndex('rotations_open').on('rotations').columns(['status', 'lease_until']).execute();
  await schema.createIndex('rotations_secret').on('rotations').columns(['tenant_id', 'secret_id']).execute();
}

async function tokenizedValues(schema: SchemaBuilder, { text, bigint, blob, byPrimaryKey }: Columns): Promise<void> {
  await schema
    .createTable('tokenized_values')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('vault_id', text, (c) => c.notNull())
    .addColumn('token_id', text, (c) => c.notNull())
    .addColumn('sealed', blob, (c) => c.notNull())
    .addColumn('created_at', bigint, (c) => c.notNull())
    .addColumn('expires_at', bigint)
    .addPrimaryKeyConstraint('tokenized_values_key', ['tenant_id', 'vault_id', 'token_id'])
    .modifyEnd(byPrimaryKey)
    .execute();
  await schema.createIndex('tokenized_values_expiry').on('tokenized_values').columns(['expires_at']).execute();
}
