import type { Kysely } from 'kysely';
import type { Signed } from '../../kernel/integrity/authenticated-table.ts';
import type { Reader, Tx } from '../../kernel/storage/database.ts';
import { type Parameter, PreparedQuery } from '../../kernel/storage/prepared-query.ts';
import type { Tables } from '../../kernel/storage/tables.ts';
import { SECRETS, type SecretRow, type SecretVersionRow, VERSION_SUMMARY, VERSIONS } from './store.ts';

/** Statements of a change, prepared once. */

const KEY = ['tenant_id', 'secret_id', 'vault_id', 'deleted_no', 'path'] as const;
/** The columns that may change with a version. */
const CONTENT = [
  'secret_no',
  'type',
  'environment',
  'protection',
  'version',
  'metadata',
  'tags',
  'rotation',
  'rotation_id',
  'rotated_at',
  'next_rotation_at',
  'created_at',
  'updated_at',
  'deleted_at',
  'fingerprint',
  'fingerprint_version',
  'data_key',
  'sealed_version',
  'sealed',
] as const;
interface Place {
  tenantId: string;
  vaultId: string;
  path: string;
}

function byPath(db: Kysely<Tables>, parameter: Parameter<Place>) {
  return db
    .selectFrom('secrets')
    .select([...KEY, ...CONTENT, 'row_mac'])
    .where('tenant_id', '=', parameter('tenantId'))
    .where('vault_id', '=', parameter('vaultId'))
    .where('deleted_no', '=', 0)
    .where('path', '=', parameter('path'));
}

const FIND_SECRET = new PreparedQuery<Place, SecretRow>(byPath);

const LOCK_SECRET = new PreparedQuery<Place, SecretRow>((db, parameter) => byPath(db, parameter).forUpdate());

const REPLACE_SECRET = new PreparedQuery<Signed<SecretRow>, never>((db, parameter) =>
  db
    .updateTable('secrets')
    .set(valuesOf<Signed<SecretRow>, keyof Signed<SecretRow>>([...CONTENT, 'row_mac'], parameter) as never)
    .where('tenant_id', '=', parameter('tenant_id'))
    .where('secret_id', '=', parameter('secret_id'))
    .$castTo<never>(),
);

const INSERT_VERSION = new PreparedQuery<Signed<SecretVersionRow>, never>((db, parameter) =>
  db
    .insertInto('secret_versions')
    .values(
      valuesOf<Signed<SecretVersionRow>, keyof Signed<SecretVersionRow>>(
        [...VERSION_SUMMARY, 'data_key', 'sealed', 'row_mac'],
        parameter,
      ),
    )
    .$castTo<never>(),
);

function valuesOf<R, K extends keyof R & string>(columns: readonly K[], parameter: Parameter<R>): Pick<R, K> {
  return Object.fromEntries(columns.map((column) => [column, parameter(column)])) as Pick<R, K>;
}

export async function findSecret(
  db: Reader,
  tenantId: string,
  vaultId: string,
  path: string,
): Promise<SecretRow | undefined> {
  return SECRETS.checked(db, (await FIND_SECRET.run(db, { tenantId, vaultId, path }))[0]);
}

export async function lockSecret(
  tx: Tx,
  tenantId: string,
  vaultId: string,
  path: string,
): Promise<SecretRow | undefined> {
  return SECRETS.checked(tx, (await LOCK_SECRET.run(tx, { tenantId, vaultId, path }))[0]);
}

/** Writes every column that can change with a version. */
export async function replaceSecret(tx: Tx, before: SecretRow, row: SecretRow): Promise<void> {
  await REPLACE_SECRET.run(tx, await SECRETS.signed(tx, row, before));
}

export async function insertVersion(tx: Tx, row: SecretVersionRow): Promise<void> {
  await INSERT_VERSION.run(tx, await VERSIONS.signed(tx, row));
}
