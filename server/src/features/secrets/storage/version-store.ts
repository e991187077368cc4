import type { Signed } from '../../../kernel/integrity/authenticated-table.ts';
import type { Reader, Tx } from '../../../kernel/storage/database.ts';
import { PreparedQuery, parametersFor } from '../../../kernel/storage/prepared-query.ts';
import { type Page, pageOf } from '../../../kernel/wire/cursor.ts';
import { type SecretRow, type SecretVersionRow, VERSION_SUMMARY, VERSIONS, type VersionSummaryRow } from './tables.ts';

const INSERT_VERSION = new PreparedQuery<Signed<SecretVersionRow>, never>((db, parameter) =>
  db
    .insertInto('secret_versions')
    .values(
      parametersFor<Signed<SecretVersionRow>, keyof Signed<SecretVersionRow>>(
        [...VERSION_SUMMARY, 'data_key', 'sealed', 'row_mac'],
        parameter,
      ),
    )
    .$castTo<never>(),
);

export async function insertVersion(tx: Tx, row: SecretVersionRow): Promise<void> {
  INSERT_VERSION.send(tx, await VERSIONS.signed(tx, row));
}

/** Finds nothing if the secret was moved to another vault meanwhile, because its values are then under another key. */
export async function findVersion(
  db: Reader,
  tenantId: string,
  { vault_id, secret_id }: Pick<SecretRow, 'vault_id' | 'secret_id'>,
  version: number,
): Promise<SecretVersionRow | undefined> {
  const query = db
    .selectFrom('secret_versions as n')
    .innerJoin('secrets as s', (join) =>
      join.onRef('s.tenant_id', '=', 'n.tenant_id').onRef('s.secret_id', '=', 'n.secret_id'),
    )
    .selectAll('n')
    .where('n.tenant_id', '=', tenantId)
    .where('n.secret_id', '=', secret_id)
    .where('n.version', '=', version)
    .where('s.vault_id', '=', vault_id);
  return VERSIONS.checked(db, await query.executeTakeFirst());
}

type SecretKey = Pick<SecretVersionRow, 'tenant_id' | 'secret_id'>;

/** Newest first. */
export async function versionPage(
  db: Reader,
  { tenant_id, secret_id }: SecretKey,
  { before, limit }: { before: number; limit: number },
): Promise<Page<VersionSummaryRow>> {
  const rows = await db
    .selectFrom('secret_versions')
    .select(VERSION_SUMMARY)
    .where('tenant_id', '=', tenant_id)
    .where('secret_id', '=', secret_id)
    .where('version', '<', before)
    .orderBy('version', 'desc')
    .limit(limit + 1)
    .execute();
  return pageOf(rows, limit, (row) => [String(row.version)]);
}

/** The distinct tag sets of all versions of the secret. */
export async function tagsOfVersions(db: Reader, tenantId: string, secretId: string): Promise<string[]> {
  const rows = await db
    .selectFrom('secret_versions')
    .select('tags')
    .distinct()
    .where('tenant_id', '=', tenantId)
    .where('secret_id', '=', secretId)
    .execute();
  return rows.map(({ tags }) => tags);
}

/** Versions with their values, oldest first, for resealing them under another vault's key. */
export async function versionsFrom(
  db: Reader,
  { tenant_id, secret_id }: SecretKey,
  { after, limit }: { after: number; limit: number },
): Promise<SecretVersionRow[]> {
  const rows = await db
    .selectFrom('secret_versions')
    .selectAll()
    .where('tenant_id', '=', tenant_id)
    .where('secret_id', '=', secret_id)
    .where('version', '>', after)
    .orderBy('version')
    .limit(limit)
    .execute();
  return VERSIONS.checkedAll(db, rows);
}

/** The row must have been read in this transaction. */
export async function replaceSealed(
  tx: Tx,
  row: SecretVersionRow,
  change: Partial<Pick<SecretVersionRow, 'sealed' | 'data_key'>>,
): Promise<void> {
  await VERSIONS.update(tx, row, change);
}
