import { sql } from 'kysely';
import type { Reader } from '../../../kernel/storage/database.ts';
import type { SecretRow } from './tables.ts';

/** The secret's id, location and the attributes policies decide on. Thousands of these rows are compared at a time, so they hold no more. */
const LOCATED = ['secret_id', 'vault_id', 'path', 'environment', 'tags'] as const;
export type LocatedRow = Pick<SecretRow, (typeof LOCATED)[number]>;

/** The expression of the index `secrets_path`. */
export const PATH = sql<string>`path || ''`;

/** Secrets of the whole tenant, ordered by path. */
export function secretsByPath(db: Reader, tenantId: string, after: string, limit: number): Promise<LocatedRow[]> {
  return everywhere(db, tenantId).where(PATH, '>', after).orderBy(PATH).limit(limit).execute();
}

export function everywhere(db: Reader, tenantId: string) {
  return db.selectFrom('secrets').select(LOCATED).where('tenant_id', '=', tenantId).where('deleted_no', '=', 0);
}

/** Names of the vaults that hold a fortress secret. Deleted secrets and vaults count too, because they can be restored. */
export async function fortressVaults(db: Reader, tenantId: string): Promise<string[]> {
  const rows = await db
    .selectFrom('vaults')
    .select('name')
    .where('tenant_id', '=', tenantId)
    .where('vault_id', 'in', (eb) =>
      eb
        .selectFrom('secrets')
        .select('vault_id')
        .where('tenant_id', '=', tenantId)
        .where('protection', '=', 'fortress'),
    )
    .execute();
  return rows.map((row) => row.name);
}

/** Where a secret is, and what policies decide on. */
type LocatedByName = Pick<SecretRow, 'vault_id' | 'path' | 'environment' | 'tags'> & { vault: string };

/** Where secrets are, by the names that requests use; without those that were deleted, or whose vault was. */
export async function locateSecrets(
  db: Reader,
  tenantId: string,
  secretIds: readonly string[],
): Promise<Map<string, LocatedByName>> {
  if (secretIds.length === 0) return new Map();
  const rows = await db
    .selectFrom('secrets as s')
    .innerJoin('vaults as v', (join) =>
      join.onRef('v.tenant_id', '=', 's.tenant_id').onRef('v.vault_id', '=', 's.vault_id'),
    )
    .select(['s.secret_id', 's.vault_id', 's.path', 's.environment', 's.tags', 'v.name as vault'])
    .where('s.tenant_id', '=', tenantId)
    .where('s.secret_id', 'in', secretIds)
    .where('s.deleted_no', '=', 0)
    .where('v.status', '!=', 'deleted')
    .execute();
  return new Map(rows.map(({ secret_id, ...located }) => [secret_id, located]));
}

/** The ids of secrets in a vault by their paths. */
export async function idsByPath(
  db: Reader,
  tenantId: string,
  vaultId: string,
  paths: readonly string[],
): Promise<Map<string, string>> {
  if (paths.length === 0) return new Map();
  const query = everywhere(db, tenantId).where('vault_id', '=', vaultId).where('path', 'in', paths);
  return new Map((await query.execute()).map(({ path, secret_id }) => [path, secret_id]));
}
