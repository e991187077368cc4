import type { Reader, Tx } from '../../kernel/storage/database.ts';

export interface AttackPathsTables {
  attack_paths: AttackPathRow;
}

/** Without a MAC: it says what was found, and decides about nobody's access. */
export interface AttackPathRow {
  tenant_id: string;
  path_id: string;
  score: number;
  weakness: number;
  principal_id: string;
  grant_id: string;
  secret_id: string;
  /** JSON. */
  steps: string;
  first_seen_at: number;
  computed_at: number;
}

/** All paths of a tenant, the worst first. There are at most 100. */
export function listPaths(db: Reader, tenantId: string): Promise<AttackPathRow[]> {
  return db
    .selectFrom('attack_paths')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .orderBy('score', 'desc')
    .orderBy('path_id')
    .execute();
}

export function findPath(db: Reader, tenantId: string, pathId: string): Promise<AttackPathRow | undefined> {
  return db
    .selectFrom('attack_paths')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('path_id', '=', pathId)
    .executeTakeFirst();
}

/** Replaces all paths of a tenant. Those that were known stay known since then. */
export async function replacePaths(tx: Tx, tenantId: string, rows: readonly AttackPathRow[]): Promise<void> {
  const known = new Map((await listPaths(tx, tenantId)).map(({ path_id, first_seen_at }) => [path_id, first_seen_at]));
  await tx.deleteFrom('attack_paths').where('tenant_id', '=', tenantId).execute();
  if (rows.length === 0) return;
  await tx
    .insertInto('attack_paths')
    .values(rows.map((row) => ({ ...row, first_seen_at: known.get(row.path_id) ?? row.first_seen_at })))
    .execute();
}

/** Deletes the paths of a user, group or connection that is removed. */
export async function deletePathsBy(
  tx: Tx,
  tenantId: string,
  column: 'principal_id' | 'grant_id' | 'secret_id',
  ids: readonly string[],
): Promise<void> {
  if (ids.length === 0) return;
  await tx.deleteFrom('attack_paths').where('tenant_id', '=', tenantId).where(column, 'in', ids).execute();
}
