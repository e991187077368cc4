import { macKeyOf } from '../../../kernel/crypto/mac-key.ts';
import { nextTurn } from '../../../kernel/fairness/event-loop-turns.ts';
import type { Kernel } from '../../../kernel/request/kernel.ts';
import type { Reader } from '../../../kernel/storage/database.ts';
import { type LocatedRow, locateSecrets } from '../storage/tenant-wide-store.ts';
import {
  type Fingerprint,
  fingerprintVersions,
  secretsWithFingerprint,
  storedFingerprints,
} from './fingerprint-store.ts';
import { FINGERPRINT_PURPOSE } from './sealing.ts';

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
  for (const version of await fingerprintVersions(db, tenantId)) {
    const { mac } = macKeyOf(await kernel.keyring.keyAt(tenantId, FINGERPRINT_PURPOSE, version), version);
    for (let start = 0; start < texts.length; start += BATCH) {
      const byFingerprint = new Map(
        texts.slice(start, start + BATCH).map((text) => {
          const fingerprint = mac(Buffer.from(text, 'utf8'));
          return [fingerprint.toString('latin1'), { fingerprint, text }] as const;
        }),
      );
      const fingerprints = [...byFingerprint.values()].map(({ fingerprint }) => fingerprint);
      const padded = Array.from({ length: BATCH }, (_, at) => fingerprints[at % fingerprints.length] as Uint8Array);
      for (const stored of await storedFingerprints(db, tenantId, version, padded)) {
        const known = byFingerprint.get(Buffer.from(stored).toString('latin1'));
        if (known !== undefined)
          found.set(known.text, { fingerprint: known.fingerprint, fingerprint_version: version });
      }
      await nextTurn(tenantId);
    }
  }
  return found;
}

/** Secrets with one value that `secretsWithValue` returns for each version of the key. */
export const SAME_VALUE_MAX = 1000;

/**
 * Some of the secrets that have a value, whichever version of the key made their fingerprints. As many queries run for a value that no secret has,
 * so the time does not tell more than the result.
 */
export async function secretsWithValue(
  kernel: Pick<Kernel, 'keyring'>,
  db: Reader,
  tenantId: string,
  { value, versions }: { value: string; versions: readonly number[] },
): Promise<LocatedRow[]> {
  const rows: LocatedRow[] = [];
  for (const version of versions) {
    const { mac } = macKeyOf(await kernel.keyring.keyAt(tenantId, FINGERPRINT_PURPOSE, version), version);
    const fingerprint = { fingerprint: mac(Buffer.from(value, 'utf8')), fingerprint_version: version };
    rows.push(...(await secretsWithFingerprint(db, tenantId, fingerprint, SAME_VALUE_MAX)));
  }
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
