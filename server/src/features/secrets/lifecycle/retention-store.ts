import { countRows } from '../../../kernel/storage/count-rows.ts';
import type { Reader, Tx } from '../../../kernel/storage/database.ts';
import type { Cutoff } from '../../../kernel/time/cutoff.ts';
import { SECRETS, type SecretRow } from '../storage/tables.ts';

export function countDeletedBefore(db: Reader, tenantId: string, before: Cutoff): Promise<number> {
  return countRows(db.selectFrom('secrets').where('tenant_id', '=', tenantId).where('deleted_at', '<=', before));
}

export function countSecrets(db: Reader): Promise<number> {
  return countRows(db.selectFrom('secrets'));
}

export function countVersions(db: Reader): Promise<number> {
  return countRows(db.selectFrom('secret_versions'));
}

export type DeletedRow = Pick<SecretRow, 'secret_id' | 'vault_id' | 'path' | 'deleted_no'> & { vault: string };

/** Locked, so that a concurrent restore either comes first or finds nothing. */
export function lockDeletedBefore(tx: Tx, tenantId: string, before: Cutoff, limit: number): Promise<DeletedRow[]> {
  return tx
    .selectFrom('secrets as s')
    .innerJoin('vaults as v', (join) =>
      join.onRef('v.tenant_id', '=', 's.tenant_id').onRef('v.vault_id', '=', 's.vault_id'),
    )
    .select(['s.secret_id', 's.vault_id', 's.path', 's.deleted_no', 'v.name as vault'])
    .where('s.deleted_at', '<=', before)
    .where('s.tenant_id', '=', tenantId)
    .orderBy('s.deleted_at')
    .limit(limit)
    .forUpdate()
    .execute();
}

/** Secrets with older versions, ordered by id. `scannedTo` is where to continue, or null at the end. */
export async function changedSecrets(
  db: Reader,
  tenantId: string,
  after: string,
  limit: number,
): Promise<{ ids: string[]; scannedTo: string | null }> {
  const rows = await db
    .selectFrom('secrets')
    .select(['secret_id', 'version'])
    .where('tenant_id', '=', tenantId)
    .where('secret_id', '>', after)
    .orderBy('secret_id')
    .limit(limit)
    .execute();
  const ids = rows.filter((row) => row.version > 1).map((row) => row.secret_id);
  return { ids, scannedTo: rows.length < limit ? null : (rows.at(-1)?.secret_id ?? null) };
}

export interface OldVersions {
  secret_id: string;
  vault: string;
  path: string;
  /** The version that was newest at the cutoff: all before it were replaced earlier. */
  newest_then: number;
  /** The oldest version still stored. */
  oldest: number;
}

export async function versionsReplacedBefore(
  db: Reader,
  tenantId: string,
  secretIds: readonly string[],
  before: Cutoff,
): Promise<OldVersions[]> {
  if (secretIds.length === 0) return [];
  const rows = await db
    .selectFrom('secret_versions as n')
    .innerJoin('secrets as s', (join) =>
      join.onRef('s.tenant_id', '=', 'n.tenant_id').onRef('s.secret_id', '=', 'n.secret_id'),
    )
    .innerJoin('vaults as v', (join) =>
      join.onRef('v.tenant_id', '=', 's.tenant_id').onRef('v.vault_id', '=', 's.vault_id'),
    )
    .select((eb) => [
      'n.secret_id',
      'v.name as vault',
      's.path',
      eb.fn.max('n.version').as('newest_then'),
      eb.fn.min('n.version').as('oldest'),
    ])
    .where('n.tenant_id', '=', tenantId)
    .where('n.secret_id', 'in', secretIds)
    .where('n.created_at', '<=', before)
    .groupBy(['n.secret_id', 'v.name', 's.path'])
    .execute();
  return rows.filter((row) => row.newest_then > row.oldest);
}

export async function deleteVersionsBelow(
  tx: Tx,
  tenantId: string,
  secretId: string,
  version: number,
): Promise<number> {
  const { numDeletedRows } = await tx
    .deleteFrom('secret_versions')
    .where('tenant_id', '=', tenantId)
    .where('secret_id', '=', secretId)
    .where('version', '<', version)
    .executeTakeFirst();
  return Number(numDeletedRows);
}

export type DoomedRow = Pick<SecretRow, 'secret_id' | 'path' | 'deleted_no'>;

/** Some of a vault's secrets, deleted or not. They are locked before their versions are deleted. */
export function lockSomeOfVault(tx: Tx, tenantId: string, vaultId: string, limit: number): Promise<DoomedRow[]> {
  return tx
    .selectFrom('secrets')
    .select(['secret_id', 'path', 'deleted_no'])
    .where('tenant_id', '=', tenantId)
    .where('vault_id', '=', vaultId)
    .limit(limit)
    .forUpdate()
    .execute();
}

/** Deletes the secrets with all their versions. */
export async function deleteSecrets(
  tx: Tx,
  tenantId: string,
  vaultId: string,
  rows: readonly DoomedRow[],
): Promise<void> {
  const ids = rows.map((row) => row.secret_id);
  const paths = rows.filter((row) => row.deleted_no === 0).map((row) => row.path);
  await tx.deleteFrom('secret_versions').where('tenant_id', '=', tenantId).where('secret_id', 'in', ids).execute();
  for (const table of ['rotations', 'secret_expiry_announcements', 'secret_references'] as const) {
    await tx.deleteFrom(table).where('tenant_id', '=', tenantId).where('secret_id', 'in', ids).execute();
  }
  if (paths.length > 0) {
    await tx
      .deleteFrom('secret_tags')
      .where('tenant_id', '=', tenantId)
      .where('vault_id', '=', vaultId)
      .where('path', 'in', paths)
      .execute();
  }
  await SECRETS.deleteWhere(tx, (eb) => eb.and([eb('tenant_id', '=', tenantId), eb('secret_id', 'in', ids)]));
}
