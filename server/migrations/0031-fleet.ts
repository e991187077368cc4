import type { Columns, SchemaBuilder } from '../src/kernel/storage/migrate.ts';

/** Clusters with their policies, states and apply log; hosts with their accounts and keys, and what drift needs to know. */
export async function up(schema: SchemaBuilder, columns: Columns): Promise<void> {
  await clusters(schema, columns);
  await hosts(schema, columns);
}

async function clusters(schema: SchemaBuilder, { text, bigint, blob, byPrimaryKey }: Columns): Promise<void> {
  await schema
    .createTable('clusters')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('cluster_id', text, (c) => c.notNull())
    .addColumn('name', text, (c) => c.notNull())
    .addColumn('kind', text, (c) => c.notNull())
    .addColumn('environment', text)
    .addColumn('token_hash', blob, (c) => c.notNull())
    .addColumn('token_created_at', bigint, (c) => c.notNull())
    .addColumn('former_token_hash', blob)
    .addColumn('former_token_until', bigint)
    .addColumn('created_by', text, (c) => c.notNull())
    .addColumn('created_at', bigint, (c) => c.notNull())
    .addColumn('row_mac', blob)
    .addPrimaryKeyConstraint('clusters_key', ['tenant_id', 'cluster_id'])
    .modifyEnd(byPrimaryKey)
    .execute();
  await schema.createIndex('clusters_name').unique().on('clusters').columns(['tenant_id', 'name']).execute();
  // A request shows its token before its tenant is known.
  await schema.createIndex('clusters_token').on('clusters').column('token_hash').execute();
  await schema.createIndex('clusters_former_token').on('clusters').column('former_token_hash').execute();
  await schema
    .createTable('cluster_policies')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('policy_id', text, (c) => c.notNull())
    .addColumn('cluster_id', text, (c) => c.notNull())
    .addColumn('namespace', text, (c) => c.notNull())
    .addColumn('secret_name', text, (c) => c.notNull())
    .addColumn('secret_type', text, (c) => c.notNull())
    .addColumn('vault_id', text)
    .addColumn('vault', text)
    .addColumn('mappings', text)
    .addColumn('prefix', text)
    .addColumn('environment_id', bigint)
    .addColumn('author_id', text, (c) => c.notNull())
    .addColumn('created_at', bigint, (c) => c.notNull())
    .addColumn('row_mac', blob)
    .addPrimaryKeyConstraint('cluster_policies_key', ['tenant_id', 'policy_id'])
    .modifyEnd(byPrimaryKey)
    .execute();
  await schema
    .createIndex('cluster_policies_secret')
    .unique()
    .on('cluster_policies')
    .columns(['tenant_id', 'cluster_id', 'namespace', 'secret_name'])
    .execute();
  await schema
    .createTable('cluster_states')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('cluster_id', text, (c) => c.notNull())
    .addColumn('generation', bigint, (c) => c.notNull())
    .addColumn('basis', text, (c) => c.notNull())
    .addColumn('content_mac', blob, (c) => c.notNull())
    .addColumn('mac_version', 'integer', (c) => c.notNull())
    .addColumn('applied_generation', bigint, (c) => c.notNull())
    .addColumn('last_report_at', bigint)
    .addColumn('last_report', text, (c) => c.notNull())
    .addColumn('failed', 'integer', (c) => c.notNull())
    .addPrimaryKeyConstraint('cluster_states_key', ['tenant_id', 'cluster_id'])
    .modifyEnd(byPrimaryKey)
    .execute();
  await schema
    .createTable('cluster_apply_log')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('cluster_id', text, (c) => c.notNull())
    .addColumn('apply_id', text, (c) => c.notNull())
    .addColumn('kind', text, (c) => c.notNull())
    .addColumn('generation', bigint, (c) => c.notNull())
    .addColumn('secrets', 'integer', (c) => c.notNull())
    .addColumn('withheld', 'integer', (c) => c.notNull())
    .addColumn('results', text, (c) => c.notNull())
    .addColumn('created_at', bigint, (c) => c.notNull())
    .addPrimaryKeyConstraint('cluster_apply_log_key', ['tenant_id', 'cluster_id', 'apply_id'])
    .modifyEnd(byPrimaryKey)
    .execute();
  await schema.createIndex('cluster_apply_log_age').on('cluster_apply_log').column('created_at').execute();
}

async function hosts(schema: SchemaBuilder, { text, bigint, byPrimaryKey }: Columns): Promise<void> {
  await schema
    .createTable('endpoint_hosts')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('cluster_id', text, (c) => c.notNull())
    .addColumn('host_id', text, (c) => c.notNull())
    .addColumn('hostname', text)
    .addColumn('flags', text, (c) => c.notNull())
    .addColumn('scanned_at', bigint, (c) => c.notNull())
    .addColumn('received_at', bigint, (c) => c.notNull())
    .addColumn('report_digest', text, (c) => c.notNull())
    .addColumn('accounts', 'integer', (c) => c.notNull())
    .addColumn('excluded', 'integer', (c) => c.notNull())
    .addColumn('ssh_keys', 'integer', (c) => c.notNull())
    .addPrimaryKeyConstraint('endpoint_hosts_key', ['tenant_id', 'cluster_id', 'host_id'])
    .modifyEnd(byPrimaryKey)
    .execute();
  await schema
    .createTable('endpoint_accounts')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('account_id', text, (c) => c.notNull())
    .addColumn('cluster_id', text, (c) => c.notNull())
    .addColumn('host_id', text, (c) => c.notNull())
    .addColumn('username', text, (c) => c.notNull())
    .addColumn('uid', bigint, (c) => c.notNull())
    .addColumn('gid', bigint)
    .addColumn('home', text)
    .addColumn('shell', text, (c) => c.notNull())
    .addColumn('flags', text, (c) => c.notNull())
    .addColumn('ssh_keys', 'integer', (c) => c.notNull())
    .addColumn('user_id', text)
    .addColumn('first_seen_at', bigint, (c) => c.notNull())
    // Null while the last scan of the host has it: the time of that scan is when it was last seen.
    .addColumn('gone_since', bigint)
    .addColumn('last_seen_at', bigint, (c) => c.notNull())
    .addPrimaryKeyConstraint('endpoint_accounts_key', ['tenant_id', 'account_id'])
    .modifyEnd(byPrimaryKey)
    .execute();
  await schema
    .createIndex('endpoint_accounts_name')
    .unique()
    .on('endpoint_accounts')
    .columns(['tenant_id', 'cluster_id', 'host_id', 'username'])
    .execute();
  await schema.createIndex('endpoint_accounts_gone').on('endpoint_accounts').column('gone_since').execute();
  await schema
    .createTable('endpoint_keys')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('account_id', text, (c) => c.notNull())
    .addColumn('key_no', 'integer', (c) => c.notNull())
    .addColumn('type', text, (c) => c.notNull())
    .addColumn('fingerprint', text, (c) => c.notNull())
    .addColumn('comment', text, (c) => c.notNull())
    .addColumn('flags', text, (c) => c.notNull())
    .addColumn('first_seen_at', bigint, (c) => c.notNull())
    .addPrimaryKeyConstraint('endpoint_keys_key', ['tenant_id', 'account_id', 'key_no'])
    .modifyEnd(byPrimaryKey)
    .execute();
  await schema
    .createTable('former_users')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('user_id', text, (c) => c.notNull())
    .addColumn('email', text, (c) => c.notNull())
    .addColumn('left_at', bigint, (c) => c.notNull())
    .addPrimaryKeyConstraint('former_users_key', ['tenant_id', 'user_id'])
    .modifyEnd(byPrimaryKey)
    .execute();
  await schema
    .createTable('drift_notices')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('notified_at', bigint, (c) => c.notNull())
    .addPrimaryKeyConstraint('drift_notices_key', ['tenant_id'])
    .modifyEnd(byPrimaryKey)
    .execute();
}
