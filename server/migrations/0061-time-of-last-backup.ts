import type { Columns, SchemaBuilder } from '../src/kernel/storage/migrate.ts';

export const isAdditive = true;

/** When the last backup was made. With SQLite a file beside the database says it (last-backup.ts). */
export async function up(schema: SchemaBuilder, { bigint }: Columns): Promise<void> {
  await schema.alterTable('installation').addColumn('last_backup_at', bigint).execute();
}
