import type { Columns, SchemaBuilder } from '../src/kernel/storage/migrate.ts';

/** What an approver was shown, who acted alone, and why a request was cancelled. */
export async function up(schema: SchemaBuilder, { text, integer }: Columns): Promise<void> {
  await schema.alterTable('approvals').addColumn('shown', text).execute();
  await schema.alterTable('approvals').addColumn('single_approver', integer).execute();
  await schema.alterTable('approvals').addColumn('cancel_reason', text).execute();
}
