import { nextTurn } from '../../../kernel/fairness/event-loop-turns.ts';
import type { Kernel } from '../../../kernel/request/kernel.ts';
import type { Reader } from '../../../kernel/storage/database.ts';
import { type LocatedRow, locateSecrets } from '../storage/tenant-wide-store.ts';
import { type Fingerprint, type FingerprintKey, fingerprintKeyAt } from './fingerprint.ts';
import { fingerprintVersions, secretsWithFingerprint, storedFingerprints } from './fingerprint-store.ts';

/** Every query has as many parameters, so that it has one text and is prepared once. */
const BATCH = 500;

/** Secrets with the same value that are checked to decide whether the caller may read one of them. */
const HOLDERS_MAX = 100;

/**
 * Says which of these texts are current values of secrets of the tenant, in whichever vault, and by which fingerprints. Nothing is decrypted.
 * Values of fortress secrets and of zero-knowledge vaults have none, so they are not found.
 */
export async function storedValues(
  kernel: Pick<Kernel, 'keyring'>,
  db: Reader,
  tenantId: string,
  texts: readonly string[],
): Promise<Map<string, Fingerprint>> {
  const found = new Map<string, Fingerprint>();
  for (const key of await fingerprintKeys(kernel, db, tenantId)) {
    for (let start = 0; start < texts.length; start += BATCH) {
      const byFingerprint = new Map(
        texts.slice(start, start + BATCH).map((text) => {
          const fingerprint = key.ofValue(text);
          return [fingerprint.toString('latin1'), { fingerprint, text }] as const;
        }),
      );
      const fingerprints = [...byFingerprint.values()].map(({ fingerprint }) => fingerprint);
      const padded = Array.from({ length: BATCH }, (_, at) => fingerprints[at % fingerprints.length] as Uint8Array);
      for (const stored of await storedFingerprints(db, tenantId, key.version, padded)) {
        const known = byFingerprint.get(Buffer.from(stored).toString('latin1'));
        if (known !== undefined)
          found.set(known.text, { fingerprint: known.fingerprint, fingerprint_version: key.version });
      }
      await nextTurn(tenantId);
    }
  }
  return found;
}

/** Secrets with one value that `secretsWithFingerprints` returns for each version of the key. */
export const SAME_VALUE_MAX = 1000;

/** Every key that made fingerprints of the tenant: one, and while they are renewed two or more. */
export async function fingerprintKeys(
  kernel: Pick<Kernel, 'keyring'>,
  db: Reader,
  tenantId: string,
): Promise<FingerprintKey[]> {
  const versions = await fingerprintVersions(db, tenantId);
  return Promise.all(versions.map((version) => fingerprintKeyAt(kernel, tenantId, version)));
}

/**
 * Some of the secrets with one of these fingerprints. As many queries run for a value that no secret has, so the time does not tell more than the
 * result.
 */
export async function secretsWithFingerprints(
  db: Reader,
  tenantId: string,
  fingerprints: readonly Fingerprint[],
): Promise<LocatedRow[]> {
  const rows: LocatedRow[] = [];
  for (const fingerprint of fingerprints)
    rows.push(...(await secretsWithFingerprint(db, tenantId, fingerprint, SAME_VALUE_MAX)));
  return rows;
}

/** Some of the secrets that have a value, with the names of their vaults. */
export async function holdersOf(
  db: Reader,
  tenantId: string,
  fingerprint: Fingerprint,
): Promise<(LocatedRow & { vault: string })[]> {
  const rows = await secretsWithFingerprint(db, tenantId, fingerprint, HOLDERS_MAX);
  const located = await locateSecrets(
    db,
    tenantId,
    rows.map(({ secret_id }) => secret_id),
  );
  return rows.flatMap((row) => {
    const place = located.get(row.secret_id);
    return place === undefined ? [] : [{ ...row, vault: place.vault }];
  });
}
