import type { Columns, SchemaBuilder } from '../src/kernel/storage/migrate.ts';

/**
 * A user says whether an identity provider made the account, so that an owner can disable it at once, and an approval says who loses rights by it,
 * so that they do not decide it. Both columns are part of what authenticates a row, so older rows keep null.
 */
export async function up(schema: SchemaBuilder, { integer, text }: Columns): Promise<void> {
  await schema.alterTable('users').addColumn('made_by_provider', integer).execute();
  await schema.alterTable('approvals').addColumn('takes_from', text).execute();
}
