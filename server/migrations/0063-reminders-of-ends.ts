import type { Columns, SchemaBuilder } from '../src/kernel/storage/migrate.ts';

export const isAdditive = true;

/** The shortest time before its end, in days, at which the end of a secret was announced. Null stands for 30 days, the only one until now. */
export async function up(schema: SchemaBuilder, { integer }: Columns): Promise<void> {
  await schema.alterTable('secret_expiry_announcements').addColumn('announced_days', integer).execute();
}
