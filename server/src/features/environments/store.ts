import { type ExpressionBuilder, sql } from 'kysely';
import { AuthenticatedTable } from '../../kernel/integrity/authenticated-table.ts';
import type { Reader, Tx } from '../../kernel/storage/database.ts';
import type { Authenticated, Tables } from '../../kernel/storage/tables.ts';
import { type Page, pageOf } from '../../kernel/wire/cursor.ts';
import { SECRETS } from '../secrets/storage/index.ts';
import { findVaultById, type VaultRow } from '../vaults/storage/index.ts';

export interface EnvironmentsTables {
  environments: Authenticated<EnvironmentRow>;
  environment_secrets: Authenticated<BindingRow>;
}

export interface EnvironmentRow {
  tenant_id: string;
  environment_id: number;
  name: string;
  parent_id: number | null;
  description: string;
  created_at: number;
  updated_at: number;
}

export interface BindingRow {
  tenant_id: string;
  environment_id: number;
  key_name: string;
  secret_id: string;
  /** The same secret as an integer. Neither id ever changes. */
  secret_no: number;
  bound_at: number;
}

export const ENVIRONMENTS = new AuthenticatedTable<'environments', EnvironmentRow>('environments', {
  key: ['environment_id'],
  covered: ['name', 'parent_id', 'description', 'created_at', 'updated_at'],
});

export const BINDINGS = new AuthenticatedTable<'environment_secrets', BindingRow>('environment_secrets', {
  key: ['environment_id', 'key_name'],
  covered: ['secret_id', 'secret_no', 'bound_at'],
});

/** Either of the two ids of a secret. */
export type SecretRef = Pick<BindingRow, 'secret_id'> | Pick<BindingRow, 'secret_no'>;

/** Part of the cursor, so that a cursor of another numbered list is refused. */
export const CURSOR_KIND = 'environment';

export async function insertEnvironment(tx: Tx, row: EnvironmentRow): Promise<void> {
  await ENVIRONMENTS.insert(tx, row);
}

export async function findEnvironment(
  db: Reader,
  tenantId: string,
  environmentId: number,
): Promise<EnvironmentRow | undefined> {
  const query = db.selectFrom('environments').selectAll().where('tenant_id', '=', tenantId);
  return ENVIRONMENTS.checked(db, await query.where('environment_id', '=', environmentId).executeTakeFirst());
}

/** Not checked: anyone who uses it loads the row and compares the name. */
export async function numberOf(
  db: Reader,
  tenantId: string,
  { number, name }: { number: number | null; name: string },
): Promise<number | undefined> {
  const rows = await db
    .selectFrom('environments')
    .select('environment_id')
    .where('tenant_id', '=', tenantId)
    .where((eb) =>
      number === null ? eb('name', '=', name) : eb.or([eb('name', '=', name), eb('environment_id', '=', number)]),
    )
    .execute();
  return (rows.find(({ environment_id }) => environment_id === number) ?? rows[0])?.environment_id;
}

export async function findEnvironmentNamed(
  db: Reader,
  tenantId: string,
  name: string,
): Promise<EnvironmentRow | undefined> {
  const query = db.selectFrom('environments').selectAll().where('tenant_id', '=', tenantId);
  return ENVIRONMENTS.checked(db, await query.where('name', '=', name).executeTakeFirst());
}

export async function listEnvironments(
  db: Reader,
  tenantId: string,
  after: number,
  limit: number,
): Promise<Page<EnvironmentRow>> {
  const rows = await db
    .selectFrom('environments')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('environment_id', '>', after)
    .orderBy('environment_id')
    .limit(limit + 1)
    .execute();
  return pageOf(rows, limit, (row) => [CURSOR_KIND, String(row.environment_id)]);
}

export async function updateEnvironment(tx: Tx, row: EnvironmentRow): Promise<void> {
  const { tenant_id, environment_id, name, parent_id, description, updated_at } = row;
  const change = { name, parent_id, description, updated_at };
  await ENVIRONMENTS.updateWhere(tx, (eb) => eb.and({ tenant_id, environment_id }), change);
}

export async function deleteEnvironment(tx: Tx, tenantId: string, environmentId: number): Promise<void> {
  await BINDINGS.deleteWhere(tx, (eb) => eb.and({ tenant_id: tenantId, environment_id: environmentId }));
  await ENVIRONMENTS.deleteWhere(tx, (eb) => eb.and({ tenant_id: tenantId, environment_id: environmentId }));
}

export async function hasChildren(tx: Tx, tenantId: string, environmentId: number): Promise<boolean> {
  const child = await tx
    .selectFrom('environments')
    .select('environment_id')
    .where('tenant_id', '=', tenantId)
    .where('parent_id', '=', environmentId)
    .limit(1)
    .executeTakeFirst();
  return child !== undefined;
}

/** Recurses from the environment, at height 0, up to its root. The depth is limited in case the rows ever form a cycle. */
function lineOf(db: Reader, tenantId: string, environmentId: number, levelsMax: number) {
  return db.withRecursive('line(environment_id, name, parent_id, height)', (qb) =>
    qb
      .selectFrom('environments as e')
      .select((eb) => ['e.environment_id', 'e.name', 'e.parent_id', eb.lit(0).as('height')])
      .where('e.tenant_id', '=', tenantId)
      .where('e.environment_id', '=', environmentId)
      .unionAll(
        qb
          .selectFrom('line')
          .innerJoin('environments as e', 'e.environment_id', 'line.parent_id')
          .select((eb) => ['e.environment_id', 'e.name', 'e.parent_id', eb('line.height', '+', eb.lit(1)).as('height')])
          .where('e.tenant_id', '=', tenantId)
          .where('line.height', '<', levelsMax - 1),
      ),
  );
}

/** An environment and all it inherits from, with the number of secrets that each has itself. Empty if it does not exist. */
export function lineage(
  tx: Tx,
  tenantId: string,
  environmentId: number,
  levelsMax: number,
): Promise<{ environment_id: number; secrets: number }[]> {
  return lineOf(tx, tenantId, environmentId, levelsMax)
    .selectFrom('line')
    .innerJoin('environments as e', (join) =>
      join.on('e.tenant_id', '=', tenantId).onRef('e.environment_id', '=', 'line.environment_id'),
    )
    .select((eb) => ['e.environment_id', ownSecrets(eb).as('secrets')])
    .execute();
}

/** The length of the longest path down from an environment, itself included, and the most secrets on any path down. */
export function extentBelow(
  tx: Tx,
  tenantId: string,
  environmentId: number,
  levelsMax: number,
): Promise<{ levels: number; secrets: number }> {
  return tx
    .withRecursive('below(environment_id, levels, secrets)', (qb) =>
      qb
        .selectFrom('environments as e')
        .select((eb) => ['e.environment_id', eb.lit(1).as('levels'), ownSecrets(eb).as('secrets')])
        .where('e.tenant_id', '=', tenantId)
        .where('e.environment_id', '=', environmentId)
        .unionAll(
          qb
            .selectFrom('below')
            .innerJoin('environments as e', 'e.parent_id', 'below.environment_id')
            .select((eb) => [
              'e.environment_id',
              eb('below.levels', '+', eb.lit(1)).as('levels'),
              eb('below.secrets', '+', ownSecrets(eb)).as('secrets'),
            ])
            .where('e.tenant_id', '=', tenantId)
            .where('below.levels', '<', levelsMax),
        ),
    )
    .selectFrom('below')
    .select((eb) => [eb.fn.max('below.levels').as('levels'), eb.fn.max('below.secrets').as('secrets')])
    .$castTo<{ levels: number; secrets: number }>()
    .executeTakeFirstOrThrow();
}

function ownSecrets(eb: ExpressionBuilder<Tables & { e: Tables['environments'] }, 'e'>) {
  return eb
    .selectFrom('environment_secrets as b')
    .select((b) => b.fn.countAll<number>().as('n'))
    .whereRef('b.tenant_id', '=', 'e.tenant_id')
    .whereRef('b.environment_id', '=', 'e.environment_id')
    .$asScalar();
}

/** Locks an existing secret, so that it is not deleted while it is being bound, and returns its location. */
export async function lockSecretToBind(tx: Tx, tenantId: string, ref: SecretRef) {
  const [secret] = await SECRETS.lockedWhere(tx, (eb) => eb.and({ tenant_id: tenantId, deleted_no: 0, ...ref }));
  // The vault is queried even if the secret does not exist, so that the response time reveals nothing.
  const vault = await findVaultById(tx, tenantId, secret?.vault_id ?? '');
  if (secret === undefined || vault === undefined || vault.status === 'deleted') return undefined;
  const { secret_id, secret_no, path, environment, tags } = secret;
  return { secret_id, secret_no, path, environment, tags, vault: vault.name };
}

/** Bindings of the environment that conflict with this one: the same secret or the same name. */
export function bindingsLike(tx: Tx, row: BindingRow): Promise<Pick<BindingRow, 'secret_id' | 'key_name'>[]> {
  return tx
    .selectFrom('environment_secrets')
    .select(['secret_id', 'key_name'])
    .where('tenant_id', '=', row.tenant_id)
    .where('environment_id', '=', row.environment_id)
    .where((eb) => eb.or([eb('secret_id', '=', row.secret_id), eb('key_name', '=', row.key_name)]))
    .execute();
}

export async function insertBinding(tx: Tx, row: BindingRow): Promise<void> {
  await BINDINGS.insert(tx, row);
}

export async function listBindings(
  db: Reader,
  tenantId: string,
  environmentId: number,
  { after, limit }: { after: string; limit: number },
): Promise<Page<BindingRow>> {
  const rows = await db
    .selectFrom('environment_secrets')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('environment_id', '=', environmentId)
    .where('key_name', '>', after)
    .orderBy('key_name')
    .limit(limit + 1)
    .execute();
  return pageOf(rows, limit, (row) => [String(environmentId), row.key_name]);
}

/** Returns the deleted binding, or undefined. */
export async function deleteBinding(
  tx: Tx,
  tenantId: string,
  environmentId: number,
  ref: SecretRef,
): Promise<BindingRow | undefined> {
  const [row] = await BINDINGS.deleteWhere(tx, (eb) =>
    eb.and({ tenant_id: tenantId, environment_id: environmentId, ...ref }),
  );
  return row;
}

export async function deleteBindingsOfSecrets(tx: Tx, tenantId: string, secretIds: readonly string[]): Promise<void> {
  await BINDINGS.deleteWhere(tx, (eb) => eb.and([eb('tenant_id', '=', tenantId), eb('secret_id', 'in', secretIds)]));
}

/** An environment on the path with one of its bindings. A missing binding, secret or vault is null. */
export interface ComposedRow {
  environment_id: number;
  name: string;
  key_name: string | null;
  vault_id: string | null;
  vault: string | null;
  log_reads: number | null;
  is_zero_knowledge: number | null;
  secret_id: string | null;
  secret_no: number | null;
  path: string | null;
  type: string | null;
  environment: string | null;
  tags: string | null;
  protection: 'standard' | 'fortress' | null;
  version: number | null;
  sealed_bytes: number | null;
}

/**
 * Verifies the MACs of the rows that the composition depends on: the environments of the path, their bindings, and the vaults. Values that changed
 * since the query are taken as they are now. The secrets are verified when their values are read.
 */
async function checkedComposition(db: Reader, tenantId: string, rows: readonly ReadRow[]): Promise<ComposedRow[]> {
  const environments = new Map<number, EnvironmentRow | undefined>();
  const vaults = new Map<string, VaultRow | undefined>();
  const checked: ComposedRow[] = [];
  for (const row of rows) {
    await checkBinding(db, tenantId, row);
    const { environment_id, vault_id } = row;
    if (!environments.has(environment_id)) {
      environments.set(environment_id, await findEnvironment(db, tenantId, environment_id));
    }
    if (vault_id !== null && !vaults.has(vault_id)) vaults.set(vault_id, await findVaultById(db, tenantId, vault_id));
    const vault = vaults.get(vault_id ?? '');
    const isLive = vault !== undefined && vault.status !== 'deleted';
    checked.push({
      ...row,
      name: environments.get(environment_id)?.name ?? row.name,
      vault_id: isLive ? vault.vault_id : null,
      vault: isLive ? vault.name : null,
      log_reads: isLive ? vault.log_reads : null,
      is_zero_knowledge: isLive ? vault.is_zero_knowledge : null,
    });
  }
  return checked;
}

async function checkBinding(db: Reader, tenantId: string, row: ReadRow): Promise<void> {
  const { environment_id, key_name, bound_at, row_mac } = row;
  if (key_name === null || bound_at === null) return;
  const bound = { secret_id: row.bound_secret_id ?? '', secret_no: row.bound_secret_no ?? 0 };
  await BINDINGS.checked(db, {
    tenant_id: tenantId,
    environment_id,
    key_name,
    ...bound,
    bound_at,
    row_mac,
  } as BindingRow);
}

/** The row as queried, without the columns that are taken from the vault's own row. */
type ReadRow = Omit<ComposedRow, 'vault' | 'log_reads' | 'is_zero_knowledge'> & {
  bound_secret_id: string | null;
  bound_secret_no: number | null;
  bound_at: number | null;
  row_mac: Uint8Array | null;
};

/** The whole path, root first, with all its bindings. It is one query, so that all of it is from the same moment. */
export async function composition(
  db: Reader,
  tenantId: string,
  environmentId: number,
  levelsMax: number,
): Promise<ComposedRow[]> {
  const rows = await lineOf(db, tenantId, environmentId, levelsMax)
    .selectFrom('line')
    .leftJoin('environment_secrets as b', (join) =>
      join.on('b.tenant_id', '=', tenantId).onRef('b.environment_id', '=', 'line.environment_id'),
    )
    .leftJoin('secrets as s', (join) =>
      join.onRef('s.tenant_id', '=', 'b.tenant_id').onRef('s.secret_id', '=', 'b.secret_id').on('s.deleted_no', '=', 0),
    )
    .leftJoin('vaults as v', (join) =>
      join
        .onRef('v.tenant_id', '=', 's.tenant_id')
        .onRef('v.vault_id', '=', 's.vault_id')
        .on('v.status', '<>', 'deleted'),
    )
    .select([
      'line.environment_id',
      'line.name',
      'b.key_name',
      'b.secret_id as bound_secret_id',
      'b.secret_no as bound_secret_no',
      'b.bound_at',
      'b.row_mac',
      'v.vault_id',
      's.secret_id',
      's.secret_no',
      's.path',
      's.type',
      's.environment',
      's.tags',
      's.protection',
      's.version',
      sql<number | null>`length(s.sealed)`.as('sealed_bytes'),
    ])
    .orderBy('line.height', 'desc')
    .orderBy('b.key_name')
    .execute();
  return checkedComposition(db, tenantId, rows);
}
