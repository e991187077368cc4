import type { Columns, SchemaBuilder } from '../src/kernel/storage/migrate.ts';

/** Which node wrote a segment of the audit log that is not linked yet, as its how many-th, and the MAC that proves it; how far each node's were linked. */
export async function up(schema: SchemaBuilder, { text, integer, bigint, blob, byPrimaryKey }: Columns): Promise<void> {
  await schema.alterTable('audit_segments').addColumn('node_id', text).execute();
  await schema.alterTable('audit_segments').addColumn('node_no', bigint).execute();
  await schema.alterTable('audit_segments').addColumn('voids', text).execute();
  await schema.alterTable('audit_segments').addColumn('mac', blob).execute();
  await schema.alterTable('audit_segments').addColumn('mac_key_version', integer).execute();

  await schema
    .createTable('audit_nodes')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('node_id', text, (c) => c.notNull())
    .addColumn('linked_no', bigint, (c) => c.notNull())
    .addColumn('mac', blob, (c) => c.notNull())
    .addColumn('mac_key_version', integer, (c) => c.notNull())
    .addPrimaryKeyConstraint('audit_nodes_key', ['tenant_id', 'node_id'])
    .modifyEnd(byPrimaryKey)
    .execute();
}
