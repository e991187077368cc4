import type { Columns, SchemaBuilder } from '../src/kernel/storage/migrate.ts';

/**
 * A session says how and from where it was opened, and which second factor was shown: a factor that was added yesterday must not borrow the trust of
 * an older one. An owner can be the one who gets in when the identity provider does not work.
 */
export async function up(schema: SchemaBuilder, { text, bigint }: Columns): Promise<void> {
  await schema.alterTable('tokens').addColumn('factor', text).execute();
  await schema.alterTable('tokens').addColumn('factor_trusted_from', bigint).execute();
  await schema.alterTable('tokens').addColumn('method', text).execute();
  await schema.alterTable('tokens').addColumn('address', text).execute();
  await schema.alterTable('user_recovery_codes').addColumn('trusted_from', bigint).execute();
  await schema.alterTable('users').addColumn('break_glass', 'integer').execute();
}
