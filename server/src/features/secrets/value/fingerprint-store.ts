import type { Reader, Tx } from '../../../kernel/storage/database.ts';
import type { SecretRow } from '../storage/tables.ts';
import { everywhere, type LocatedRow, secretsByPath } from '../storage/tenant-wide-store.ts';
import type { Fingerprint } from './fingerprint.ts';

/** Before every version of a key, which is a 32-bit number. */
const VERSION_MIN = -(2 ** 31);
/** Sorts before every real fingerprint. */
const FIRST: Fingerprint = { fingerprint: new Uint8Array(), fingerprint_version: VERSION_MIN };

/**
 * Ordered by key version, then by fingerprint. Secrets without one are left out, and so are those of zero-knowledge vaults, which had one before
 * 0.3.0.
 */
function byFingerprint(
  db: Reader,
  tenantId: string,
  after: Fingerprint,
  limit: number,
): Promise<(LocatedRow & Fingerprint)[]> {
  return everywhere(db, tenantId)
    .select(['fingerprint', 'fingerprint_version'])
    .where('fingerprint', 'is not', null)
    .where(({ eb, refTuple, tuple }) =>
      eb(
        refTuple('fingerprint_version', 'fingerprint'),
        '>',
        tuple<number | null, Uint8Array | null>(after.fingerprint_version, after.fingerprint),
      ),
    )
    .where('vault_id', 'not in', (eb) =>
      eb
        .selectFrom('vaults')
        .select('vaults.vault_id')
        .where('vaults.tenant_id', '=', tenantId)
        .where('vaults.is_zero_knowledge', '=', 1),
    )
    .orderBy('fingerprint_version')
    .orderBy('fingerprint')
    .limit(limit)
    .$narrowType<{ fingerprint: Uint8Array; fingerprint_version: number }>()
    .execute();
}

/** Whether any fingerprint was made with another key version than this one. Such a value matches none of this version. */
async function hasOtherFingerprints(db: Reader, tenantId: string, version: number): Promise<boolean> {
  for (const side of ['<', '>'] as const) {
    const row = await fingerprinted(db, tenantId)
      .select('secret_id')
      .where('fingerprint_version', side, version)
      .limit(1)
      .executeTakeFirst();
    if (row !== undefined) return true;
  }
  return false;
}

/** The versions of the key with which fingerprints of the tenant were made: one, and while they are renewed two or more. */
export async function fingerprintVersions(db: Reader, tenantId: string): Promise<number[]> {
  const versions: number[] = [];
  for (let after = VERSION_MIN; ; ) {
    const row = await fingerprinted(db, tenantId)
      .select('fingerprint_version')
      .where('fingerprint_version', '>', after)
      .orderBy('fingerprint_version')
      .limit(1)
      .executeTakeFirst();
    if (row?.fingerprint_version == null) return versions;
    after = row.fingerprint_version;
    // Of 0 it is not known which key made them.
    if (after !== 0) versions.push(after);
  }
}

/** Those of the fingerprints that some secret of the tenant has, whether it is deleted or not. */
export async function storedFingerprints(
  db: Reader,
  tenantId: string,
  version: number,
  fingerprints: readonly Uint8Array[],
): Promise<Uint8Array[]> {
  const rows = await fingerprinted(db, tenantId)
    .select('fingerprint')
    .where('fingerprint_version', '=', version)
    .where('fingerprint', 'in', fingerprints)
    .execute();
  return rows.map(({ fingerprint }) => fingerprint).filter((one) => one !== null);
}

/** Some of the secrets that have this value; without deleted ones. */
export function secretsWithFingerprint(
  db: Reader,
  tenantId: string,
  { fingerprint, fingerprint_version }: Fingerprint,
  limit: number,
): Promise<LocatedRow[]> {
  return everywhere(db, tenantId)
    .where('fingerprint', 'is not', null)
    .where('fingerprint_version', '=', fingerprint_version)
    .where('fingerprint', '=', fingerprint)
    .limit(limit)
    .execute();
}

/** The secrets of a whole tenant, in an order in which equal paths or equal values are neighbours. */
export const comparedSecrets = { byPath: secretsByPath, byFingerprint, hasOtherFingerprints, FIRST_FINGERPRINT: FIRST };

const OPENED = [
  'tenant_id',
  'vault_id',
  'secret_id',
  'sealed_version',
  'sealed',
  'data_key',
  'fingerprint_version',
] as const;
export type OutdatedRow = Pick<SecretRow, (typeof OPENED)[number]> & { is_zero_knowledge: number };

/** Those that an older version of the key made, or a release that made them of the values. Includes deleted secrets, which may be restored. */
export function outdatedFingerprints(
  db: Reader,
  tenantId: string,
  version: number,
  limit: number,
): Promise<OutdatedRow[]> {
  return fingerprinted(db, tenantId)
    .innerJoin('vaults as v', (join) =>
      join.onRef('v.tenant_id', '=', 'secrets.tenant_id').onRef('v.vault_id', '=', 'secrets.vault_id'),
    )
    .select(OPENED.map((column) => `secrets.${column}` as const))
    .select('v.is_zero_knowledge')
    .where('secrets.fingerprint_version', '>', version)
    .orderBy('secrets.fingerprint_version')
    .limit(limit)
    .execute() as Promise<OutdatedRow[]>;
}

/** Replaces only the fingerprint of the value that was decrypted for it: a value changed or moved since has its own. */
export async function replaceFingerprint(
  tx: Tx,
  row: OutdatedRow,
  change: Fingerprint | { fingerprint: null; fingerprint_version: null },
): Promise<void> {
  await tx
    .updateTable('secrets')
    .set(change)
    .where('tenant_id', '=', row.tenant_id)
    .where('secret_id', '=', row.secret_id)
    .where('vault_id', '=', row.vault_id)
    .where('sealed_version', '=', row.sealed_version)
    .where('fingerprint_version', '=', row.fingerprint_version)
    .execute();
}

/** Uses the partial index on fingerprints, which omits rows without one. */
function fingerprinted(db: Reader, tenantId: string) {
  return db
    .selectFrom('secrets')
    .where('secrets.tenant_id', '=', tenantId)
    .where('secrets.fingerprint', 'is not', null);
}
