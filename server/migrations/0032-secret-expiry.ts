import { sql } from 'kysely';
import type { Columns, MigrationData, SchemaBuilder } from '../src/kernel/storage/migrate.ts';

/**
 * When the certificate in a secret ends, and which ends were announced. Values are sealed, so a job fills in the end of each certificate that is
 * stored already: -1 marks those, and is no real end, because ends are whole seconds.
 */
export async function up(
  schema: SchemaBuilder,
  { text, bigint, byPrimaryKey }: Columns,
  data: MigrationData,
): Promise<void> {
  await schema.alterTable('secrets').addColumn('expires_at', bigint).execute();
  await data.run(sql`update secrets set expires_at = -1 where type = 'certificate'`);
  await schema
    .createIndex('secrets_expiry')
    .on('secrets')
    .columns(['tenant_id', 'expires_at', 'secret_id'])
    .where(sql.ref('expires_at'), 'is not', null)
    .execute();
  await schema
    .createTable('secret_expiry_announcements')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('secret_id', text, (c) => c.notNull())
    .addColumn('expires_at', bigint, (c) => c.notNull())
    .addColumn('announced_at', bigint, (c) => c.notNull())
    .addPrimaryKeyConstraint('secret_expiry_announcements_key', ['tenant_id', 'secret_id', 'expires_at'])
    .modifyEnd(byPrimaryKey)
    .execute();
}
