import type { Columns, SchemaBuilder } from '../src/kernel/storage/migrate.ts';

/** Rotations that are under way name their requester, and are authenticated like the versions that they make. */
export async function up(schema: SchemaBuilder, { blob }: Columns): Promise<void> {
  await schema.alterTable('rotations').addColumn('row_mac', blob).execute();
}
