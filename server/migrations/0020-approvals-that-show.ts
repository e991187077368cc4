import { sql } from 'kysely';
import type { Columns, SchemaBuilder } from '../src/kernel/storage/migrate.ts';

/**
 * What an approver was shown, who acted alone, and why a request was cancelled; since when a second factor is trusted before its first day
 * is over; whether a tenant requires one; and which vaults hold fortress secrets.
 */
export async function up(schema: SchemaBuilder, { text, integer, bigint }: Columns): Promise<void> {
  await schema.alterTable('approvals').addColumn('shown', text).execute();
  await schema.alterTable('approvals').addColumn('single_approver', integer).execute();
  await schema.alterTable('approvals').addColumn('cancel_reason', text).execute();
  await schema.alterTable('user_totp').addColumn('trusted_at', bigint).execute();
  await schema.alterTable('tenants').addColumn('require_mfa', integer).execute();
  await schema
    .createIndex('secrets_fortress')
    .on('secrets')
    .columns(['tenant_id', 'vault_id'])
    .where(sql<boolean>`protection = 'fortress'`)
    .execute();
}
