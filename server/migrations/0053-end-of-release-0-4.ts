import type { Columns, SchemaBuilder } from '../src/kernel/storage/migrate.ts';

/** The schema that the node knows which recorded or linked a segment; other names of columns, so that nodes of 0.4 can neither link entries, run jobs nor make keys. */
export async function up(schema: SchemaBuilder, { integer }: Columns): Promise<void> {
  await schema.alterTable('audit_segments').addColumn('schema_version', integer).execute();
  // They would link segments without counting them for their nodes, and authenticate the result by a key that they know.
  await schema.alterTable('audit_heads').renameColumn('mac_key_version', 'key_version').execute();
  // They would delete authenticated rows that are over without recording it.
  await schema.alterTable('job_leases').renameColumn('owner', 'node_id').execute();
  // They would wrap keys as this release does not open them.
  await schema.alterTable('keys').renameColumn('wrapped_by', 'wrapping_key').execute();
}
