import type { ExpressionBuilder, Kysely } from 'kysely';
import type { Signed } from '../../../kernel/integrity/authenticated-table.ts';
import type { Reader, Tx } from '../../../kernel/storage/database.ts';
import { type Parameter, PreparedQuery, parametersFor } from '../../../kernel/storage/prepared-query.ts';
import type { Tables } from '../../../kernel/storage/tables.ts';
import { SECRETS, type SecretRow, type SecretTagRow, type StoredScores } from './tables.ts';

/** Statements of a change, prepared once. */

const KEY = ['tenant_id', 'secret_id', 'vault_id', 'deleted_no', 'path'] as const;
/** The columns that no version changes. */
const CONSTANT = ['secret_no', 'environment', 'created_at', 'deleted_at'] as const;
/** The columns that change with a version only if it changes the type, the protection, the schedule of rotations, or when the value expires. */
const SELDOM = [
  'type',
  'protection',
  'rotation',
  'rotation_id',
  'rotated_at',
  'next_rotation_at',
  'expires_at',
] as const;
/** The columns that change with every version. */
const CONTENT = [
  'version',
  'metadata',
  'tags',
  'updated_at',
  'fingerprint',
  'fingerprint_version',
  'data_key',
  'sealed_version',
  'sealed',
] as const;
interface AtPath {
  tenantId: string;
  vaultId: string;
  path: string;
}

function byPath(db: Kysely<Tables>, parameter: Parameter<AtPath>) {
  return db
    .selectFrom('secrets')
    .select([...KEY, ...CONSTANT, ...SELDOM, ...CONTENT, 'row_mac'])
    .where('tenant_id', '=', parameter('tenantId'))
    .where('vault_id', '=', parameter('vaultId'))
    .where('deleted_no', '=', 0)
    .where('path', '=', parameter('path'));
}

/** Selected beside the columns of a secret. */
export function storedScores(eb: ExpressionBuilder<Tables, 'secrets'>) {
  const stored = (score: 'score' | 'score_without_value') =>
    eb
      .selectFrom('secret_risks')
      .select(score)
      .whereRef('secret_risks.tenant_id', '=', 'secrets.tenant_id')
      .whereRef('secret_risks.secret_id', '=', 'secrets.secret_id');
  return [stored('score').as('risk_score'), stored('score_without_value').as('risk_score_without_value')] as const;
}

const FIND_SECRET = new PreparedQuery<AtPath, SecretRow & StoredScores>((db, parameter) =>
  byPath(db, parameter).select(storedScores).$castTo<SecretRow & StoredScores>(),
);

const LOCK_SECRET = new PreparedQuery<AtPath, SecretRow>((db, parameter) => byPath(db, parameter).forUpdate());

/** SQLite rewrites the entry in each index of a column that is set, even to the same value. So only those that change are set. */
function replaceColumns(columns: readonly (keyof SecretRow)[]) {
  return new PreparedQuery<Signed<SecretRow>, never>((db, parameter) =>
    db
      .updateTable('secrets')
      .set(parametersFor<Signed<SecretRow>, keyof Signed<SecretRow>>([...columns, 'row_mac'], parameter) as never)
      .where('tenant_id', '=', parameter('tenant_id'))
      .where('secret_id', '=', parameter('secret_id'))
      .$castTo<never>(),
  );
}

const REPLACE_CONTENT = replaceColumns(CONTENT);
const REPLACE_CONTENT_AND_SELDOM = replaceColumns([...CONTENT, ...SELDOM]);

export async function findSecret(
  db: Reader,
  tenantId: string,
  vaultId: string,
  path: string,
): Promise<(SecretRow & StoredScores) | undefined> {
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

/** Writes the columns that a version changes. */
export async function replaceSecret(tx: Tx, before: SecretRow, row: SecretRow): Promise<void> {
  const isSeldomChanged = SELDOM.some((column) => row[column] !== before[column]);
  const query = isSeldomChanged ? REPLACE_CONTENT_AND_SELDOM : REPLACE_CONTENT;
  query.send(tx, await SECRETS.signed(tx, row, before));
}

export async function insertSecret(tx: Tx, row: SecretRow): Promise<void> {
  await SECRETS.insert(tx, row);
}

/** Also finds a deleted secret. */
export async function findSecretById(db: Reader, tenantId: string, secretId: string): Promise<SecretRow | undefined> {
  const query = db.selectFrom('secrets').selectAll().where('tenant_id', '=', tenantId);
  return SECRETS.checked(db, await query.where('secret_id', '=', secretId).executeTakeFirst());
}

export async function findSecretByNo(db: Reader, tenantId: string, secretNo: number): Promise<SecretRow | undefined> {
  const query = db.selectFrom('secrets').selectAll().where('tenant_id', '=', tenantId);
  return SECRETS.checked(db, await query.where('secret_no', '=', secretNo).executeTakeFirst());
}

export async function lockSecretById(tx: Tx, tenantId: string, secretId: string): Promise<SecretRow | undefined> {
  const [row] = await SECRETS.lockedWhere(tx, (eb) => eb.and({ tenant_id: tenantId, secret_id: secretId }));
  return row;
}

export async function updateSecret(
  tx: Tx,
  { tenant_id, secret_id }: Pick<SecretRow, 'tenant_id' | 'secret_id'>,
  change: Partial<Omit<SecretRow, 'tenant_id' | 'secret_id'>>,
): Promise<void> {
  await SECRETS.updateWhere(tx, (eb) => eb.and({ tenant_id, secret_id }), change);
}

/** Updates the tag index of existing secrets; deleted secrets have no rows in it. */
export async function replaceTags(
  tx: Tx,
  { tenant_id, vault_id, path }: Omit<SecretTagRow, 'tag'>,
  from: readonly string[],
  to: readonly string[],
): Promise<void> {
  const gone = from.filter((tag) => !to.includes(tag));
  const added = to.filter((tag) => !from.includes(tag));
  if (gone.length > 0) {
    await tx
      .deleteFrom('secret_tags')
      .where('tenant_id', '=', tenant_id)
      .where('vault_id', '=', vault_id)
      .where('tag', 'in', gone)
      .where('path', '=', path)
      .execute();
  }
  if (added.length > 0) {
    await tx
      .insertInto('secret_tags')
      .values(added.map((tag) => ({ tenant_id, vault_id, path, tag })))
      .execute();
  }
}
