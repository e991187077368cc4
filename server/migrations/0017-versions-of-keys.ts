import { sql } from 'kysely';
import type { Columns, MigrationData, SchemaBuilder } from '../src/kernel/storage/migrate.ts';

/**
 * Which key made a fingerprint, how the key of an answer was made, which key vouches for its successor and is destroyed with that, and a key for each
 * value of a fortress secret. Versions of one from before share one key, which each of them gets a copy of, still wrapped: the secret's own row has another one after its next change.
 */
export async function up(
  schema: SchemaBuilder,
  { integer, bigint, blob }: Columns,
  data: MigrationData,
): Promise<void> {
  await schema
    .alterTable('secrets')
    .addColumn('fingerprint_version', integer, (c) => c.defaultTo(0))
    .execute();
  await schema.dropIndex('secrets_fingerprint').execute();
  await schema
    .createIndex('secrets_fingerprint')
    .on('secrets')
    .columns(['tenant_id', 'fingerprint_version', 'fingerprint'])
    .where(sql.ref('fingerprint'), 'is not', null)
    .execute();

  await schema
    .alterTable('idempotency_keys')
    .addColumn('is_key_bound', integer, (c) => c.notNull().defaultTo(0))
    .execute();
  await schema.alterTable('pqc_keys').addColumn('endorsement', blob).execute();
  await schema.alterTable('pqc_keys').addColumn('destroyed_at', bigint).execute();
  await schema.alterTable('rotations').addColumn('data_key_next', blob).execute();
  await schema.alterTable('secret_versions').addColumn('data_key', blob).execute();
  await data.run(sql`
    update rotations set data_key_next = (
      select s.data_key from secrets s where s.tenant_id = rotations.tenant_id and s.secret_id = rotations.secret_id
    ) where sealed_next is not null`);
  await data.run(sql`
    update secret_versions set data_key = (
      select s.data_key from secrets s
      where s.tenant_id = secret_versions.tenant_id and s.secret_id = secret_versions.secret_id
    ) where exists (
      select 1 from secrets s
      where s.tenant_id = secret_versions.tenant_id and s.secret_id = secret_versions.secret_id and s.data_key is not null
    )`);
}
