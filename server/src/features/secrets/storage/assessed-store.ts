import { sql } from 'kysely';
import type { Reader } from '../../../kernel/storage/database.ts';
import type { SecretRow } from './tables.ts';

const COLUMNS = [
  'secret_id',
  'vault_id',
  'path',
  'type',
  'environment',
  'protection',
  'tags',
  'rotation',
  'created_at',
  'rotated_at',
  'expires_at',
  'fingerprint',
  'fingerprint_version',
] as const;

/** What the risk of a secret depends on. The value stays sealed: its size and its fingerprint are enough. */
export type AssessedRow = Pick<SecretRow, (typeof COLUMNS)[number]> & {
  sealed_bytes: number;
  /** When the current value was written. */
  valued_at: number;
};

function assessed(db: Reader, tenantId: string) {
  return db
    .selectFrom('secrets as s')
    .leftJoin('secret_versions as n', (join) =>
      join
        .onRef('n.tenant_id', '=', 's.tenant_id')
        .onRef('n.secret_id', '=', 's.secret_id')
        .onRef('n.version', '=', 's.sealed_version'),
    )
    .select(COLUMNS.map((column) => `s.${column}` as const))
    .select([
      sql<number>`length(s.sealed)`.as('sealed_bytes'),
      sql<number>`coalesce(n.created_at, s.rotated_at, s.created_at)`.as('valued_at'),
    ])
    .where('s.tenant_id', '=', tenantId)
    .where('s.deleted_no', '=', 0);
}

/** The secrets of a vault after a path, ordered by path. */
function inVault(
  db: Reader,
  tenantId: string,
  vaultId: string,
  { after, limit }: { after: string; limit: number },
): Promise<AssessedRow[]> {
  return assessed(db, tenantId)
    .where('s.vault_id', '=', vaultId)
    .where('s.path', '>', after)
    .orderBy('s.path')
    .limit(limit)
    .execute() as Promise<AssessedRow[]>;
}

/** The secret at a path, if there is one. */
function atPath(db: Reader, tenantId: string, vaultId: string, path: string): Promise<AssessedRow | undefined> {
  return assessed(db, tenantId)
    .where('s.vault_id', '=', vaultId)
    .where('s.path', '=', path)
    .executeTakeFirst() as Promise<AssessedRow | undefined>;
}

function byIds(db: Reader, tenantId: string, secretIds: readonly string[]): Promise<AssessedRow[]> {
  if (secretIds.length === 0) return Promise.resolve([]);
  return assessed(db, tenantId).where('s.secret_id', 'in', secretIds).execute() as Promise<AssessedRow[]>;
}

/** In how many secrets of the tenant each of these values is, by the hexadecimal form of its fingerprint. */
async function countEqual(
  db: Reader,
  tenantId: string,
  version: number,
  fingerprints: readonly Uint8Array[],
): Promise<Map<string, number>> {
  if (fingerprints.length === 0) return new Map();
  const rows = await db
    .selectFrom('secrets')
    .select((eb) => ['fingerprint', eb.fn.countAll<number>().as('count')])
    .where('tenant_id', '=', tenantId)
    .where('fingerprint_version', '=', version)
    .where('fingerprint', 'in', fingerprints)
    .where('deleted_no', '=', 0)
    .groupBy('fingerprint')
    .execute();
  return new Map(rows.map(({ fingerprint, count }) => [hexOf(fingerprint), Number(count)]));
}

function hexOf(fingerprint: Uint8Array | null): string {
  return fingerprint === null ? '' : Buffer.from(fingerprint).toString('hex');
}

/** Secrets as their risk is assessed. */
export const assessedSecrets = { inVault, atPath, byIds, countEqual, hexOf };
