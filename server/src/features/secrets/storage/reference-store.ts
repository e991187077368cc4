import type { Reader, Tx } from '../../../kernel/storage/database.ts';
import { parseTemplate } from '../value/reference-text.ts';
import type { SecretReferenceRow, SecretRow } from './tables.ts';

/** Templates that one change or page reads, if very many refer to the same secret. */
const REFERRING_MAX = 100;

/** The value is that of the row, which is sealed there. */
export async function insertReferences(
  tx: Tx,
  { tenant_id, secret_id }: Pick<SecretRow, 'tenant_id' | 'secret_id'>,
  value: string,
): Promise<void> {
  const named = parseTemplate(value).references.map(({ vault, path }) => ({ tenant_id, secret_id, vault, path }));
  const rows = new Map(named.map((row) => [`${row.vault}/${row.path}`, row]));
  if (rows.size > 0)
    await tx
      .insertInto('secret_references')
      .values([...rows.values()])
      .execute();
}

export async function deleteReferences(tx: Tx, tenantId: string, secretIds: readonly string[]): Promise<void> {
  if (secretIds.length === 0) return;
  await tx
    .deleteFrom('secret_references')
    .where('tenant_id', '=', tenantId)
    .where('secret_id', 'in', secretIds)
    .execute();
}

/** What these templates refer to. */
export async function referencesOf(
  db: Reader,
  tenantId: string,
  secretIds: readonly string[],
): Promise<SecretReferenceRow[]> {
  if (secretIds.length === 0) return [];
  return db
    .selectFrom('secret_references')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('secret_id', 'in', secretIds)
    .orderBy('secret_id')
    .orderBy('vault')
    .orderBy('path')
    .execute();
}

/** A template that refers to a secret, with what policies decide on. */
export type ReferringRow = Pick<SecretRow, 'secret_id' | 'path' | 'version' | 'environment' | 'tags'> & {
  vault: string;
};

/** Templates that refer to what is at this path, without those that were deleted. */
export function templatesReferringTo(
  db: Reader,
  tenantId: string,
  { vault, path }: { vault: string; path: string },
): Promise<ReferringRow[]> {
  return (
    db
      .selectFrom('secret_references as r')
      .innerJoin('secrets as s', (join) =>
        join.onRef('s.tenant_id', '=', 'r.tenant_id').onRef('s.secret_id', '=', 'r.secret_id'),
      )
      .innerJoin('vaults as v', (join) =>
        join.onRef('v.tenant_id', '=', 's.tenant_id').onRef('v.vault_id', '=', 's.vault_id'),
      )
      .select(['s.secret_id', 's.path', 's.version', 's.environment', 's.tags', 'v.name as vault'])
      .where('r.tenant_id', '=', tenantId)
      .where('r.vault', '=', vault)
      .where('r.path', '=', path)
      .where('s.deleted_no', '=', 0)
      .where('v.status', '!=', 'deleted')
      // Those beside it first: many templates in the vaults of others do not hide them.
      .orderBy((eb) => eb.case().when('v.name', '=', vault).then(0).else(1).end())
      .orderBy('s.secret_id')
      .limit(REFERRING_MAX)
      .execute()
  );
}
