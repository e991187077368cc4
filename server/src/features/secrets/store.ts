import { type ExpressionBuilder, type SelectQueryBuilder, type SqlBool, sql } from 'kysely';
import type { PathRange } from '../../kernel/authz/path-ranges.ts';
import { AuthenticatedTable } from '../../kernel/integrity/authenticated-table.ts';
import { type Page, pageOf } from '../../kernel/storage/cursor.ts';
import type { Reader, Tx } from '../../kernel/storage/database.ts';
import type { Authenticated, Tables } from '../../kernel/storage/tables.ts';

declare module '../../kernel/storage/tables.ts' {
  interface Tables {
    secrets: Authenticated<SecretRow, 'fingerprint' | 'fingerprint_version'>;
    secret_tags: SecretTagRow;
    secret_versions: Authenticated<SecretVersionRow>;
    rotations: Authenticated<RotationRow, 'failure' | 'lease_until' | 'finished_at'>;
  }
}

/** A secret with its newest version. */
export interface SecretRow {
  tenant_id: string;
  vault_id: string;
  /** 0 while the secret exists; its own `secret_no` once it is deleted, so that the path is free again. */
  deleted_no: number;
  path: string;
  secret_id: string;
  secret_no: number;
  type: string;
  environment: string;
  protection: 'standard' | 'fortress';
  version: number;
  /** JSON object of strings, without the tags. */
  metadata: string;
  /** JSON array. */
  tags: string;
  /** JSON, or null. */
  rotation: string | null;
  /** The backend rotation in progress, or null. */
  rotation_id: string | null;
  rotated_at: number | null;
  next_rotation_at: number | null;
  created_at: number;
  updated_at: number;
  deleted_at: number | null;
  /** Keyed digest of the value: finds equal values without revealing them. */
  fingerprint: Uint8Array | null;
  /** Version of the key that made the fingerprint, since fingerprints under two keys cannot be compared; 0 if a release before 0.5.0 made it. */
  fingerprint_version: number | null;
  /** The data key of a fortress secret's newest value, wrapped by the vault's key. */
  data_key: Uint8Array | null;
  /** The version the value was sealed for: a change of metadata creates a version but does not reseal the value. */
  sealed_version: number;
  sealed: Uint8Array;
}

export interface SecretTagRow {
  tenant_id: string;
  vault_id: string;
  tag: string;
  path: string;
}

export interface SecretVersionRow {
  tenant_id: string;
  secret_id: string;
  version: number;
  operation: 'create' | 'update' | 'rotate' | 'rollback' | 'promote' | 'copy';
  reason: string;
  restored_from: number | null;
  author_kind: string;
  author_id: string;
  author_name: string;
  type: string;
  metadata: string;
  tags: string;
  created_at: number;
  /** Only of a fortress secret: each version has its own data key. */
  data_key: Uint8Array | null;
  sealed_version: number;
  sealed: Uint8Array;
}

/** A rotation through a backend. The candidate value is stored until the outcome is known. */
export interface RotationRow {
  tenant_id: string;
  rotation_id: string;
  secret_id: string;
  status: 'in_progress' | 'completed' | 'failed';
  backend: string;
  reason: string;
  author_kind: string;
  author_id: string;
  author_name: string;
  /** The new value, sealed; null once the outcome is known. */
  sealed_next: Uint8Array | null;
  /** Of a fortress secret: the data key of the new value, wrapped. */
  data_key_next: Uint8Array | null;
  failure: string;
  started_at: number;
  lease_until: number;
  finished_at: number | null;
}

/** The columns that lists load: everything but the value and its keys. */
export const SUMMARY = [
  'secret_id',
  'secret_no',
  'path',
  'type',
  'environment',
  'protection',
  'version',
  'metadata',
  'tags',
  'created_at',
  'updated_at',
  'rotated_at',
  'next_rotation_at',
] as const;
export type SummaryRow = Pick<SecretRow, (typeof SUMMARY)[number]>;

/** A secret in a list, with the size of its sealed value, which is about the memory needed to open it. */
export type ListedRow = SummaryRow & { sealed_bytes: number };

export const VERSION_SUMMARY = [
  'tenant_id',
  'secret_id',
  'version',
  'operation',
  'reason',
  'restored_from',
  'author_kind',
  'author_id',
  'author_name',
  'type',
  'metadata',
  'tags',
  'created_at',
  'sealed_version',
] as const satisfies readonly (keyof SecretVersionRow)[];
export type VersionSummaryRow = Pick<SecretVersionRow, (typeof VERSION_SUMMARY)[number]>;

/** The seal binds a value to its secret and version. The MAC binds the rest of the row: the secret's location, and which version is current. */
export const SECRETS = new AuthenticatedTable<'secrets', SecretRow>('secrets', {
  key: ['secret_id'],
  covered: [
    'vault_id',
    'deleted_no',
    'path',
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
    'data_key',
    'sealed_version',
    'sealed',
  ],
  sealed: ['data_key', 'sealed'],
  uncovered: {
    fingerprint: 'finds equal values; it opens nothing and is told to nobody',
    fingerprint_version: 'says which key made the fingerprint',
  },
  isListedAtUpgrade: false,
});

export const VERSIONS = new AuthenticatedTable<'secret_versions', SecretVersionRow>('secret_versions', {
  key: ['secret_id', 'version'],
  covered: [
    'operation',
    'reason',
    'restored_from',
    'author_kind',
    'author_id',
    'author_name',
    'type',
    'metadata',
    'tags',
    'created_at',
    'data_key',
    'sealed_version',
    'sealed',
  ],
  sealed: ['data_key', 'sealed'],
  isRecorded: false,
});

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
  at: Omit<SecretTagRow, 'tag'>,
  from: readonly string[],
  to: readonly string[],
): Promise<void> {
  const gone = from.filter((tag) => !to.includes(tag));
  const added = to.filter((tag) => !from.includes(tag));
  if (gone.length > 0) {
    await tx
      .deleteFrom('secret_tags')
      .where('tenant_id', '=', at.tenant_id)
      .where('vault_id', '=', at.vault_id)
      .where('tag', 'in', gone)
      .where('path', '=', at.path)
      .execute();
  }
  if (added.length > 0) {
    await tx
      .insertInto('secret_tags')
      .values(added.map((tag) => ({ ...at, tag })))
      .execute();
  }
}

export interface ListFilter {
  type?: string | undefined;
  /** Only secrets whose latest backend rotation failed. */
  isRotationFailed?: boolean | undefined;
  tags?: readonly string[] | undefined;
  environments?: readonly string[] | undefined;
}

/** Summaries in a range of paths, ordered by path. With tags, the first one selects the index range. */
export function summariesIn(
  db: Reader,
  tenantId: string,
  vaultId: string,
  range: PathRange,
  filter: ListFilter,
  limit: number,
): Promise<ListedRow[]> {
  const [first, ...others] = filter.tags ?? [];
  if (first === undefined) {
    let query = db
      .selectFrom('secrets')
      .select([...SUMMARY, sql<number>`length(sealed)`.as('sealed_bytes')])
      .where('tenant_id', '=', tenantId)
      .where('vault_id', '=', vaultId)
      .where('deleted_no', '=', 0);
    if (filter.type !== undefined) query = query.where('type', '=', filter.type);
    if (filter.environments !== undefined) query = query.where('environment', 'in', filter.environments);
    if (filter.isRotationFailed === true) query = query.where(lastRotationFailed('secrets'));
    return query.where('path', '>=', range.from).where('path', '<', range.to).orderBy('path').limit(limit).execute();
  }
  let query = db
    .selectFrom('secret_tags as t')
    .innerJoin('secrets as s', (join) =>
      join
        .onRef('s.tenant_id', '=', 't.tenant_id')
        .onRef('s.vault_id', '=', 't.vault_id')
        .on('s.deleted_no', '=', 0)
        .onRef('s.path', '=', 't.path'),
    )
    .select([...SUMMARY.map((column) => `s.${column}` as const), sql<number>`length(s.sealed)`.as('sealed_bytes')])
    .where('t.tenant_id', '=', tenantId)
    .where('t.vault_id', '=', vaultId)
    .where('t.tag', '=', first)
    .where('t.path', '>=', range.from)
    .where('t.path', '<', range.to);
  for (const tag of others) query = query.where(hasTag(tag));
  if (filter.type !== undefined) query = query.where('s.type', '=', filter.type);
  if (filter.environments !== undefined) query = query.where('s.environment', 'in', filter.environments);
  if (filter.isRotationFailed === true) query = query.where(lastRotationFailed('s'));
  return query.orderBy('t.path').limit(limit).execute() as Promise<ListedRow[]>;
}

/** Rotation ids sort by time. */
function lastRotationFailed(secrets: 'secrets' | 's') {
  const [tenantId, secretId] = [sql.ref(`${secrets}.tenant_id`), sql.ref(`${secrets}.secret_id`)];
  return sql<SqlBool>`(select r.status from rotations r where r.tenant_id = ${tenantId} and r.secret_id = ${secretId}
    order by r.rotation_id desc limit 1) = 'failed'`;
}

type TagJoin = Tables & { t: SecretTagRow; s: Tables['secrets'] };

function hasTag(tag: string) {
  return (eb: ExpressionBuilder<TagJoin, 't' | 's'>) =>
    eb.exists(
      eb
        .selectFrom('secret_tags as o')
        .select('o.tag')
        .whereRef('o.tenant_id', '=', 't.tenant_id')
        .whereRef('o.vault_id', '=', 't.vault_id')
        .where('o.tag', '=', tag)
        .whereRef('o.path', '=', 't.path'),
    );
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

export async function listVersions(
  db: Reader,
  tenantId: string,
  secretId: string,
  before: number,
  limit: number,
): Promise<Page<VersionSummaryRow>> {
  const rows = await versionsBelow(db, tenantId, secretId, before)
    .limit(limit + 1)
    .execute();
  return pageOf(rows, limit, (row) => [String(row.version)]);
}

function versionsBelow(
  db: Reader,
  tenantId: string,
  secretId: string,
  before: number,
): SelectQueryBuilder<Tables, 'secret_versions', VersionSummaryRow> {
  return db
    .selectFrom('secret_versions')
    .select(VERSION_SUMMARY)
    .where('tenant_id', '=', tenantId)
    .where('secret_id', '=', secretId)
    .where('version', '<', before)
    .orderBy('version', 'desc');
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
  tenantId: string,
  secretId: string,
  after: number,
  limit: number,
): Promise<SecretVersionRow[]> {
  const rows = await db
    .selectFrom('secret_versions')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('secret_id', '=', secretId)
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
