import type { Columns, SchemaBuilder } from '../src/kernel/storage/migrate.ts';

/** Certificates that a connection no longer accepts, from any issuer. Null is none, so that rows from before are as they were. */
export async function up(schema: SchemaBuilder, { text }: Columns): Promise<void> {
  await schema.alterTable('app_connections').addColumn('denied_thumbprints', text).execute();
}
