import { sql } from 'kysely';
import type { Columns, SchemaBuilder } from '../src/kernel/storage/migrate.ts';

/** The directory that regions share, what this region has of each origin, its clock, its contacts, and the promotions it has begun. */
export async function up(schema: SchemaBuilder, { text, bigint, blob, byPrimaryKey }: Columns): Promise<void> {
  await schema
    .createTable('region_cells')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('kind', text, (c) => c.notNull())
    .addColumn('cell_key', text, (c) => c.notNull())
    .addColumn('tag', text, (c) => c.notNull())
    .addColumn('origin', text, (c) => c.notNull())
    .addColumn('seq', bigint, (c) => c.notNull())
    .addColumn('ms', bigint, (c) => c.notNull())
    .addColumn('counter', 'integer', (c) => c.notNull())
    .addColumn('is_removed', 'integer', (c) => c.notNull())
    .addColumn('value', text, (c) => c.notNull())
    .addColumn('signature', text, (c) => c.notNull())
    .addColumn('expires_at', bigint)
    .addColumn('row_mac', blob)
    .addPrimaryKeyConstraint('region_cells_key', ['tenant_id', 'kind', 'cell_key', 'tag'])
    .modifyEnd(byPrimaryKey)
    .execute();
  await schema.createIndex('region_cells_origin').on('region_cells').columns(['tenant_id', 'origin', 'seq']).execute();
  await schema
    .createIndex('region_cells_expiry')
    .on('region_cells')
    .columns(['tenant_id', 'expires_at'])
    .where(sql.ref('expires_at'), 'is not', null)
    .execute();
  await schema
    .createTable('region_vectors')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('origin', text, (c) => c.notNull())
    .addColumn('seq', bigint, (c) => c.notNull())
    .addPrimaryKeyConstraint('region_vectors_key', ['tenant_id', 'origin'])
    .modifyEnd(byPrimaryKey)
    .execute();
  await schema
    .createTable('region_clocks')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('region', text, (c) => c.notNull())
    .addColumn('ms', bigint, (c) => c.notNull())
    .addColumn('counter', 'integer', (c) => c.notNull())
    .addColumn('seq', bigint, (c) => c.notNull())
    .addPrimaryKeyConstraint('region_clocks_key', ['tenant_id', 'region'])
    .modifyEnd(byPrimaryKey)
    .execute();
  await schema
    .createTable('region_contacts')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('region', text, (c) => c.notNull())
    .addColumn('contacted_at', bigint, (c) => c.notNull())
    .addColumn('failed_since', bigint)
    .addColumn('last_error', text)
    .addColumn('differences', 'integer', (c) => c.notNull())
    .addPrimaryKeyConstraint('region_contacts_key', ['tenant_id', 'region'])
    .modifyEnd(byPrimaryKey)
    .execute();
  await schema
    .createTable('region_promotions')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('promoted_id', text, (c) => c.notNull())
    .addColumn('epoch', bigint, (c) => c.notNull())
    .addColumn('previous', text)
    .addColumn('reason', text, (c) => c.notNull())
    .addColumn('replica', text)
    .addColumn('begun_at', bigint, (c) => c.notNull())
    .addColumn('noted_by', text, (c) => c.notNull())
    .addColumn('noted_at', bigint)
    .addColumn('active_at', bigint)
    .addColumn('row_mac', blob)
    .addPrimaryKeyConstraint('region_promotions_key', ['tenant_id', 'promoted_id'])
    .modifyEnd(byPrimaryKey)
    .execute();
}
