import type { Columns, SchemaBuilder } from '../src/kernel/storage/migrate.ts';

/** Anomalies, the scans that find them, what people dismissed, and what models would have raised. */
export async function up(schema: SchemaBuilder, { text, bigint, byPrimaryKey }: Columns): Promise<void> {
  await schema
    .createTable('anomalies')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('anomaly_id', text, (c) => c.notNull())
    .addColumn('type', text, (c) => c.notNull())
    .addColumn('severity', text, (c) => c.notNull())
    .addColumn('resource', text, (c) => c.notNull())
    .addColumn('vault_id', text)
    .addColumn('secret_id', text)
    .addColumn('connection_no', bigint)
    .addColumn('status', text, (c) => c.notNull())
    .addColumn('open_key', text)
    .addColumn('detected_at', bigint, (c) => c.notNull())
    .addColumn('last_seen_at', bigint, (c) => c.notNull())
    .addColumn('occurrences', 'integer', (c) => c.notNull())
    .addColumn('scan_no', bigint, (c) => c.notNull())
    .addColumn('baseline', text, (c) => c.notNull())
    .addColumn('observed', text, (c) => c.notNull())
    .addColumn('training_class', text, (c) => c.notNull())
    .addColumn('features', text, (c) => c.notNull())
    .addColumn('window_from', bigint)
    .addColumn('window_to', bigint)
    .addColumn('acted_at', bigint)
    .addColumn('acted_by', text)
    .addColumn('note', text)
    .addColumn('ended_at', bigint)
    .addPrimaryKeyConstraint('anomalies_key', ['tenant_id', 'anomaly_id'])
    .modifyEnd(byPrimaryKey)
    .execute();
  // Null for anomalies that are not open, so that only one of a type and resource can be.
  await schema.createIndex('anomalies_open').unique().on('anomalies').columns(['tenant_id', 'open_key']).execute();
  await schema.createIndex('anomalies_of').on('anomalies').columns(['tenant_id', 'resource', 'type']).execute();
  await schema.createIndex('anomalies_of_secret').on('anomalies').columns(['tenant_id', 'secret_id']).execute();
  await schema.createIndex('anomalies_status').on('anomalies').columns(['status', 'detected_at']).execute();
  await schema.createIndex('anomalies_ended').on('anomalies').column('ended_at').execute();
  await schema
    .createTable('anomaly_scans')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('scan_no', bigint, (c) => c.notNull())
    .addColumn('last_scanned_at', bigint)
    .addColumn('requested_at', bigint)
    .addColumn('retry_at', bigint, (c) => c.notNull())
    .addColumn('lease_owner', text)
    .addColumn('lease_until', bigint, (c) => c.notNull())
    .addPrimaryKeyConstraint('anomaly_scans_key', ['tenant_id'])
    .modifyEnd(byPrimaryKey)
    .execute();
  await schema
    .createTable('anomaly_training')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('training_class', text, (c) => c.notNull())
    .addColumn('anomaly_id', text, (c) => c.notNull())
    .addColumn('features', text, (c) => c.notNull())
    .addColumn('dismissed_at', bigint, (c) => c.notNull())
    .addPrimaryKeyConstraint('anomaly_training_key', ['tenant_id', 'training_class', 'anomaly_id'])
    .modifyEnd(byPrimaryKey)
    .execute();
  await schema.createIndex('anomaly_training_age').on('anomaly_training').column('dismissed_at').execute();
  await schema
    .createTable('anomaly_model_votes')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('resource', text, (c) => c.notNull())
    .addColumn('scan_no', bigint, (c) => c.notNull())
    .addColumn('mode', text, (c) => c.notNull())
    .addColumn('v1', 'integer', (c) => c.notNull())
    .addColumn('v2', 'integer', (c) => c.notNull())
    .addColumn('forest', 'integer')
    .addColumn('anomaly_id', text)
    .addColumn('voted_at', bigint, (c) => c.notNull())
    .addPrimaryKeyConstraint('anomaly_model_votes_key', ['tenant_id', 'resource', 'scan_no'])
    .modifyEnd(byPrimaryKey)
    .execute();
  await schema.createIndex('anomaly_model_votes_age').on('anomaly_model_votes').column('voted_at').execute();
  await schema
    .createTable('connection_uses')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('client_id', text, (c) => c.notNull())
    .addColumn('last_used_at', bigint, (c) => c.notNull())
    .addPrimaryKeyConstraint('connection_uses_key', ['tenant_id', 'client_id'])
    .modifyEnd(byPrimaryKey)
    .execute();
  await schema.alterTable('tenants').addColumn('anomaly_thresholds', text).execute();
}
