import type { Reader } from '../../../kernel/storage/database.ts';
import type { SecretRow } from './tables.ts';

type DescribedRow = Pick<SecretRow, 'secret_id' | 'environment' | 'tags'>;

/** What policies may ask about secrets; of deleted ones too. */
export function secretsById(db: Reader, tenantId: string, ids: readonly string[]): Promise<DescribedRow[]> {
  return db
    .selectFrom('secrets')
    .select(['secret_id', 'environment', 'tags'])
    .where('tenant_id', '=', tenantId)
    .where('secret_id', 'in', ids)
    .execute();
}

/** What detectors of anomalies need to know about a secret. */
const WATCHED = [
  'secret_id',
  'secret_no',
  'vault_id',
  'path',
  'environment',
  'tags',
  'protection',
  'rotation',
  'rotated_at',
  'created_at',
] as const;
export type WatchedRow = Pick<SecretRow, (typeof WATCHED)[number]>;

/** Secrets of the whole tenant, in the order in which they were created. */
export function watchedSecrets(db: Reader, tenantId: string, afterNo: number, limit: number): Promise<WatchedRow[]> {
  return db
    .selectFrom('secrets')
    .select(WATCHED)
    .where('tenant_id', '=', tenantId)
    .where('deleted_no', '=', 0)
    .where('secret_no', '>', afterNo)
    .orderBy('secret_no')
    .limit(limit)
    .execute();
}

export function watchedSecretAt(
  db: Reader,
  tenantId: string,
  vaultId: string,
  path: string,
): Promise<WatchedRow | undefined> {
  return db
    .selectFrom('secrets')
    .select(WATCHED)
    .where('tenant_id', '=', tenantId)
    .where('vault_id', '=', vaultId)
    .where('deleted_no', '=', 0)
    .where('path', '=', path)
    .executeTakeFirst();
}
