import type { Columns, SchemaBuilder } from '../src/kernel/storage/migrate.ts';

export const isAdditive = true;

/** What the last run of a job that failed said, and when, so that another node can list it. */
export async function up(schema: SchemaBuilder, { text, bigint }: Columns): Promise<void> {
  await schema.alterTable('job_leases').addColumn('last_error', text).execute();
  await schema.alterTable('job_leases').addColumn('last_failed_at', bigint).execute();
}
