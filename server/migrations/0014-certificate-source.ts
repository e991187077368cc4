import type { Columns, SchemaBuilder } from '../src/kernel/storage/migrate.ts';

/** What a certificate was issued for, if not for the connection itself: it ends with that, and renews nothing. */
export async function up(schema: SchemaBuilder, { text }: Columns): Promise<void> {
  await schema.alterTable('certificates').addColumn('source', text).execute();
}
