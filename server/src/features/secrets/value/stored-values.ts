import { macKeyOf } from '../../../kernel/crypto/mac-key.ts';
import { nextTurn } from '../../../kernel/fairness/event-loop-turns.ts';
import type { Kernel } from '../../../kernel/platform/kernel.ts';
import type { Reader } from '../../../kernel/storage/database.ts';
import { fingerprintVersions, storedFingerprints } from './fingerprint-store.ts';
import { FINGERPRINT_PURPOSE } from './sealing.ts';

/** Every query has as many parameters, so that it has one text and is prepared once. */
const BATCH = 500;

/**
 * Says which of these texts are current values of secrets of the tenant, in whichever vault. It does so by their fingerprints: nothing is
 * decrypted. Values of fortress secrets and of zero-knowledge vaults have none, so they are not found.
 */
export async function storedValues(
  kernel: Kernel,
  db: Reader,
  tenantId: string,
  texts: readonly string[],
): Promise<Set<string>> {
  const found = new Set<string>();
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
        if (known !== undefined) found.add(known.text);
      }
      await nextTurn(tenantId);
    }
  }
  return found;
}
