import type { SchemaBuilder } from '../src/kernel/storage/migrate.ts';

/** Each node measures its own contacts, in memory: a lease must not depend on rows or clocks that somebody can change. */
export async function up(schema: SchemaBuilder): Promise<void> {
  await schema.dropTable('region_contacts').execute();
}
