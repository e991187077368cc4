import { sql } from 'kysely';
import type { Columns, SchemaBuilder } from '../../src/kernel/storage/migrate.ts';

/** The kernel's tables. */
export async function createKernelTables(
  schema: SchemaBuilder,
  { text, integer, bigint, blob, byPrimaryKey }: Columns,
): Promise<void> {
  await schema
    .createTable('installation')
    .addColumn('tenant_id', text, (c) => c.primaryKey())
    .addColumn('installation_id', text, (c) => c.notNull())
    .addColumn('root_key_id', text, (c) => c.notNull())
    .addColumn('root_key_salt', blob, (c) => c.notNull())
    .addColumn('created_at', bigint, (c) => c.notNull())
    .modifyEnd(byPrimaryKey)
    .execute();

  await schema
    .createTable('tenants')
    .addColumn('tenant_id', text, (c) => c.primaryKey())
    .addColumn('name', text, (c) => c.notNull().unique())
    .addColumn('status', text, (c) => c.notNull())
    .addColumn('is_operator', integer, (c) => c.notNull())
    .addColumn('plan', text, (c) => c.notNull())
    .addColumn('rate_overrides', text, (c) => c.notNull())
    .addColumn('epoch', bigint, (c) => c.notNull())
    .addColumn('created_at', bigint, (c) => c.notNull())
    .modifyEnd(byPrimaryKey)
    .execute();

  await schema
    .createTable('keys')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('purpose', text, (c) => c.notNull())
    .addColumn('version', integer, (c) => c.notNull())
    .addColumn('wrapped_by', text, (c) => c.notNull())
    .addColumn('wrapped', blob, (c) => c.notNull())
    .addColumn('uses', bigint, (c) => c.notNull())
    .addColumn('created_at', bigint, (c) => c.notNull())
    .addPrimaryKeyConstraint('keys_key', ['tenant_id', 'purpose', 'version'])
    .modifyEnd(byPrimaryKey)
    .execute();

  await schema
    .createTable('signing_keys')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('kid', text, (c) => c.notNull())
    .addColumn('public_jwk', text, (c) => c.notNull())
    .addColumn('sealed_private', blob, (c) => c.notNull())
    .addColumn('signs_from', bigint, (c) => c.notNull())
    .addColumn('verifies_until', bigint, (c) => c.notNull())
    .addColumn('created_at', bigint, (c) => c.notNull())
    .addPrimaryKeyConstraint('signing_keys_key', ['tenant_id', 'kid'])
    .modifyEnd(byPrimaryKey)
    .execute();

  await schema
    .createTable('audit_segments')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('id', text, (c) => c.notNull())
    .addColumn('entries', text, (c) => c.notNull())
    .addColumn('first_seq', bigint)
    .addColumn('hashes', blob)
    .addPrimaryKeyConstraint('audit_segments_key', ['tenant_id', 'id'])
    .modifyEnd(byPrimaryKey)
    .execute();
  await schema
    .createIndex('audit_segments_chain')
    .on('audit_segments')
    .columns(['tenant_id', 'first_seq'])
    .where(sql.ref('first_seq'), 'is not', null)
    .execute();
  await schema
    .createIndex('audit_segments_unsealed')
    .on('audit_segments')
    .columns(['tenant_id', 'id'])
    .where(sql.ref('first_seq'), 'is', null)
    .execute();

  await schema
    .createTable('audit_heads')
    .addColumn('tenant_id', text, (c) => c.primaryKey())
    .addColumn('seq', bigint, (c) => c.notNull())
    .addColumn('hash', blob, (c) => c.notNull())
    .addColumn('mac', blob, (c) => c.notNull())
    .addColumn('mac_key_version', integer, (c) => c.notNull())
    .modifyEnd(byPrimaryKey)
    .execute();

  await schema
    .createTable('idempotency_keys')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('actor_id', text, (c) => c.notNull())
    .addColumn('key_hash', blob, (c) => c.notNull())
    .addColumn('status', integer, (c) => c.notNull())
    .addColumn('sealed_body', blob, (c) => c.notNull())
    .addColumn('expires_at', bigint, (c) => c.notNull())
    .addPrimaryKeyConstraint('idempotency_keys_key', ['tenant_id', 'actor_id', 'key_hash'])
    .modifyEnd(byPrimaryKey)
    .execute();
  await schema.createIndex('idempotency_keys_expiry').on('idempotency_keys').column('expires_at').execute();

  await schema
    .createTable('rate_windows')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('subject', text, (c) => c.notNull())
    .addColumn('rate_class', text, (c) => c.notNull())
    .addColumn('window_start', bigint, (c) => c.notNull())
    .addColumn('node_id', text, (c) => c.notNull())
    .addColumn('used', bigint, (c) => c.notNull())
    .addPrimaryKeyConstraint('rate_windows_key', ['tenant_id', 'subject', 'rate_class', 'window_start', 'node_id'])
    .modifyEnd(byPrimaryKey)
    .execute();
  await schema.createIndex('rate_windows_start').on('rate_windows').column('window_start').execute();

  await schema
    .createTable('job_leases')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('job', text, (c) => c.notNull())
    .addColumn('owner', text, (c) => c.notNull())
    .addColumn('lease_until', bigint, (c) => c.notNull())
    .addColumn('next_run_at', bigint, (c) => c.notNull())
    .addColumn('last_started_at', bigint)
    .addColumn('last_finished_at', bigint)
    .addColumn('last_outcome', text, (c) => c.notNull())
    .addColumn('runs', bigint, (c) => c.notNull())
    .addPrimaryKeyConstraint('job_leases_key', ['tenant_id', 'job'])
    .modifyEnd(byPrimaryKey)
    .execute();
}
