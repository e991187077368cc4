import type { Columns, SchemaBuilder } from '../../src/kernel/storage/migrate.ts';

/** Machines: their connections, the sessions and tokens of these, and DPoP proofs that were used. */
export async function createAppConnections(
  schema: SchemaBuilder,
  { text, bigint, blob, byPrimaryKey }: Columns,
): Promise<void> {
  await schema
    .createTable('app_connections')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('connection_no', bigint, (c) => c.notNull())
    .addColumn('client_id', text, (c) => c.notNull())
    .addColumn('name', text, (c) => c.notNull())
    .addColumn('description', text, (c) => c.notNull())
    .addColumn('status', text, (c) => c.notNull())
    .addColumn('vault_ids', text, (c) => c.notNull())
    .addColumn('allowed_paths', text, (c) => c.notNull())
    .addColumn('scopes', text, (c) => c.notNull())
    .addColumn('ip_allowlist', text)
    .addColumn('environment', text)
    .addColumn('mtls_required', bigint, (c) => c.notNull())
    .addColumn('require_dpop', bigint, (c) => c.notNull())
    .addColumn('dpop_jkt', text)
    .addColumn('external_ca_pem', text)
    .addColumn('session_limit', bigint)
    .addColumn('session_action', text, (c) => c.notNull())
    .addColumn('session_ttl_seconds', bigint, (c) => c.notNull())
    .addColumn('secret_hash', blob, (c) => c.notNull())
    .addColumn('secret_made_at', bigint, (c) => c.notNull())
    .addColumn('former_secret_hash', blob)
    .addColumn('former_secret_until', bigint)
    .addColumn('created_by', text, (c) => c.notNull())
    .addColumn('created_at', bigint, (c) => c.notNull())
    .addColumn('updated_at', bigint, (c) => c.notNull())
    .addPrimaryKeyConstraint('app_connections_key', ['tenant_id', 'connection_no'])
    .modifyEnd(byPrimaryKey)
    .execute();
  await schema
    .createIndex('app_connections_name')
    .unique()
    .on('app_connections')
    .columns(['tenant_id', 'name'])
    .execute();
  // Before it is known whose it is, all that is known of a connection is its client id.
  await schema.createIndex('app_connections_client').unique().on('app_connections').columns(['client_id']).execute();

  await schema
    .createTable('connection_sessions')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('connection_no', bigint, (c) => c.notNull())
    .addColumn('session', text, (c) => c.notNull())
    .addColumn('started_at', bigint, (c) => c.notNull())
    .addColumn('seen_at', bigint, (c) => c.notNull())
    .addColumn('evicted_at', bigint)
    .addPrimaryKeyConstraint('connection_sessions_key', ['tenant_id', 'connection_no', 'session'])
    .modifyEnd(byPrimaryKey)
    .execute();

  await schema
    .createTable('connection_tokens')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('token_id', text, (c) => c.notNull())
    .addColumn('connection_no', bigint, (c) => c.notNull())
    .addColumn('kind', text, (c) => c.notNull())
    .addColumn('source', text, (c) => c.notNull())
    .addColumn('subject', text, (c) => c.notNull())
    .addColumn('token_hash', blob, (c) => c.notNull())
    .addColumn('dpop_jkt', text)
    .addColumn('certificate_thumbprint', text)
    .addColumn('created_at', bigint, (c) => c.notNull())
    .addColumn('expires_at', bigint, (c) => c.notNull())
    .addColumn('revoked_at', bigint)
    .addPrimaryKeyConstraint('connection_tokens_key', ['tenant_id', 'token_id'])
    .modifyEnd(byPrimaryKey)
    .execute();
  await schema
    .createIndex('connection_tokens_connection')
    .on('connection_tokens')
    .columns(['tenant_id', 'connection_no'])
    .execute();

  await schema
    .createTable('dpop_proofs')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('proof', text, (c) => c.notNull())
    .addColumn('expires_at', bigint, (c) => c.notNull())
    .addPrimaryKeyConstraint('dpop_proofs_key', ['tenant_id', 'proof'])
    .modifyEnd(byPrimaryKey)
    .execute();
  await schema.createIndex('dpop_proofs_expiry').on('dpop_proofs').columns(['expires_at']).execute();
}
