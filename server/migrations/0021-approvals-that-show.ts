import { sql } from 'kysely';
import type { Columns, SchemaBuilder } from '../src/kernel/storage/migrate.ts';

/**
 * What an approver was shown, who acted alone, and why a request was cancelled; since when a second factor is trusted before its first day
 * is over; whether a tenant requires one; which vaults hold fortress secrets; and what an operator did past the approvals of a tenant.
 */
export async function up(schema: SchemaBuilder, { text, integer, bigint, byPrimaryKey }: Columns): Promise<void> {
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
  await schema
    .createTable('break_glass_uses')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('use_id', text, (c) => c.notNull())
    .addColumn('action', text, (c) => c.notNull())
    .addColumn('resource', text, (c) => c.notNull())
    .addColumn('at', bigint, (c) => c.notNull())
    .addPrimaryKeyConstraint('break_glass_uses_key', ['tenant_id', 'use_id'])
    .modifyEnd(byPrimaryKey)
    .execute();
}
