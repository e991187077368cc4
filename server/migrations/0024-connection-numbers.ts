import { sql } from 'kysely';
import type { Columns, SchemaBuilder } from '../src/kernel/storage/migrate.ts';

/**
 * Numbers of connections are unique in the installation. They were counted in each tenant, and are part of what authenticates a row: so the
 * number that another connection had first is replaced at the next start, which has the keys, by one in a column of its own. Null says
 * that the number a row was made with is its number. Those drawn from now on have nine digits, and the index keeps them apart.
 * Certificates are found by client id alone, to tell whose a client was that is gone.
 */
export async function up(schema: SchemaBuilder, { bigint }: Columns): Promise<void> {
  await schema.alterTable('app_connections').addColumn('number', bigint).execute();
  await schema
    .createIndex('app_connections_number')
    .on('app_connections')
    .expression(sql`coalesce(number, connection_no)`)
    .execute();
  await schema
    .createIndex('app_connections_drawn_number')
    .unique()
    .on('app_connections')
    .expression(sql`coalesce(number, connection_no)`)
    .where(sql<boolean>`coalesce(number, connection_no) >= 100000000`)
    .execute();
  await schema.createIndex('certificates_of_client').on('certificates').columns(['client_id']).execute();
}
