import { sql } from 'kysely';
import type { Columns, SchemaBuilder } from '../src/kernel/storage/migrate.ts';

/** A session says at which provider, by which subject and in which session there it began, so that the provider can end it. */
export async function up(schema: SchemaBuilder, { text, bigint, blob, byPrimaryKey }: Columns): Promise<void> {
  await schema.alterTable('tokens').addColumn('provider', text).execute();
  await schema.alterTable('tokens').addColumn('provider_subject', blob).execute();
  await schema.alterTable('tokens').addColumn('provider_session', blob).execute();
  for (const column of ['provider_subject', 'provider_session']) {
    await schema
      .createIndex(`tokens_${column}`)
      .on('tokens')
      .columns(['tenant_id', column])
      .where(sql.ref(column), 'is not', null)
      .execute();
  }
  await schema
    .createTable('sso_logouts')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('token_hash', blob, (c) => c.notNull())
    .addColumn('provider', text, (c) => c.notNull())
    .addColumn('provider_subject', blob)
    .addColumn('provider_session', blob)
    .addColumn('received_at', bigint, (c) => c.notNull())
    .addColumn('expires_at', bigint, (c) => c.notNull())
    .addPrimaryKeyConstraint('sso_logouts_key', ['tenant_id', 'token_hash'])
    .modifyEnd(byPrimaryKey)
    .execute();
  await schema
    .createIndex('sso_logouts_provider')
    .on('sso_logouts')
    .columns(['tenant_id', 'provider', 'received_at'])
    .execute();
  await schema.createIndex('sso_logouts_expiry').on('sso_logouts').column('expires_at').execute();
}
