import { sql } from 'kysely';
import type { SchemaBuilder } from '../src/kernel/storage/migrate.ts';

/**
 * Secrets of all vaults are searched in the order of path and vault, which is the position of a cursor. With `deleted_no` a search reads the index
 * alone on SQLite. Secrets to be rotated and rotations that failed are few, so partial indexes have them.
 */
export async function up(schema: SchemaBuilder): Promise<void> {
  await schema.dropIndex('secrets_path').execute();
  await schema
    .createIndex('secrets_path')
    .on('secrets')
    .expression(sql`tenant_id, (path || ''), vault_id, deleted_no`)
    .execute();
  await schema
    .createIndex('secrets_rotation_due')
    .on('secrets')
    .columns(['tenant_id', 'next_rotation_at', 'secret_id'])
    .where(sql.ref('next_rotation_at'), 'is not', null)
    .execute();
  await schema
    .createIndex('rotations_failed')
    .on('rotations')
    .columns(['tenant_id', 'rotation_id'])
    .where(sql<boolean>`status = 'failed'`)
    .execute();
}
