import type { SchemaBuilder } from '../src/kernel/storage/migrate.ts';

/** The admins of a tenant, and its anomalies by status, are found without reading all its users or anomalies. */
export async function up(schema: SchemaBuilder): Promise<void> {
  await schema.createIndex('users_role').on('users').columns(['tenant_id', 'role', 'user_id']).execute();
  await schema
    .createIndex('anomalies_by_status')
    .on('anomalies')
    .columns(['tenant_id', 'status', 'anomaly_id'])
    .execute();
}
