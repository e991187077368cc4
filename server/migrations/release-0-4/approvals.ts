import { sql } from 'kysely';
import type { Columns, SchemaBuilder } from '../../src/kernel/storage/migrate.ts';

/** Requests that wait for somebody else, and who decided on them. */
export async function createApprovals(
  schema: SchemaBuilder,
  { text, integer, bigint, blob, byPrimaryKey }: Columns,
): Promise<void> {
  await schema
    .createTable('approvals')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('approval_id', text, (c) => c.notNull())
    .addColumn('kind', text, (c) => c.notNull())
    .addColumn('operation', text, (c) => c.notNull())
    .addColumn('resource', text, (c) => c.notNull())
    .addColumn('details', text, (c) => c.notNull())
    .addColumn('status', text, (c) => c.notNull())
    .addColumn('requester_id', text, (c) => c.notNull())
    .addColumn('requester_name', text, (c) => c.notNull())
    .addColumn('requester_credential_id', text, (c) => c.notNull())
    .addColumn('input_mac', blob, (c) => c.notNull())
    .addColumn('sealed_input', blob)
    .addColumn('self_approved', integer, (c) => c.notNull())
    .addColumn('failure_code', text, (c) => c.notNull())
    .addColumn('failure_message', text, (c) => c.notNull())
    .addColumn('created_at', bigint, (c) => c.notNull())
    .addColumn('expires_at', bigint, (c) => c.notNull())
    .addColumn('decided_at', bigint)
    .addPrimaryKeyConstraint('approvals_key', ['tenant_id', 'approval_id'])
    .modifyEnd(byPrimaryKey)
    .execute();
  await schema
    .createIndex('approvals_status')
    .on('approvals')
    .columns(['tenant_id', 'status', 'approval_id'])
    .execute();
  await schema
    .createIndex('approvals_expiry')
    .on('approvals')
    .column('expires_at')
    .where(sql<boolean>`status = 'pending'`)
    .execute();

  await schema
    .createTable('approval_decisions')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('approval_id', text, (c) => c.notNull())
    .addColumn('level_index', integer, (c) => c.notNull())
    .addColumn('level', text, (c) => c.notNull())
    .addColumn('approver_id', text, (c) => c.notNull())
    .addColumn('approver_name', text, (c) => c.notNull())
    .addColumn('decision', text, (c) => c.notNull())
    .addColumn('reason', text, (c) => c.notNull())
    .addColumn('decided_at', bigint, (c) => c.notNull())
    .addPrimaryKeyConstraint('approval_decisions_key', ['tenant_id', 'approval_id', 'level_index'])
    .modifyEnd(byPrimaryKey)
    .execute();
}
