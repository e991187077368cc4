import { sql } from 'kysely';
import type { SchemaBuilder } from '../src/kernel/storage/migrate.ts';

/**
 * A secret is looked up by its vault and path. No index but the primary key may begin with columns of that look-up: without statistics PostgreSQL
 * takes such an index for as good, and reads all secrets of a vault, or all secrets with the same path. So the type comes before the vault here,
 * and the path is an expression, which only a statement that names the expression can use.
 */
export async function up(schema: SchemaBuilder): Promise<void> {
  await schema.dropIndex('secrets_type').execute();
  await schema
    .createIndex('secrets_type')
    .on('secrets')
    .columns(['tenant_id', 'type', 'vault_id', 'deleted_no', 'path'])
    .execute();
  await schema.dropIndex('secrets_path').execute();
  await schema.createIndex('secrets_path').on('secrets').expression(sql`tenant_id, (path || '')`).execute();
}
