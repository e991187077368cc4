import type { Columns, SchemaBuilder } from '../src/kernel/storage/migrate.ts';

/** What an operator allowed from the command line: a job to remove more than its share once, or a clock to be behind old records. */
export async function up(schema: SchemaBuilder, { text, bigint, byPrimaryKey }: Columns): Promise<void> {
  await schema
    .createTable('operator_words')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('subject', text, (c) => c.notNull())
    .addColumn('given_at', bigint, (c) => c.notNull())
    .addColumn('valid_until', bigint, (c) => c.notNull())
    .addPrimaryKeyConstraint('operator_words_key', ['tenant_id', 'subject'])
    .modifyEnd(byPrimaryKey)
    .execute();
}
