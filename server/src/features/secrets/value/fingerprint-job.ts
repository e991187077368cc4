import { MINUTE_MS } from '../../../kernel/base/clock.ts';
import { UnsealError } from '../../../kernel/crypto/sealing.ts';
import { nextTurn } from '../../../kernel/fairness/event-loop-turns.ts';
import { everyTenant } from '../../../kernel/integrity/tenant-rows.ts';
import type { Job } from '../../../kernel/jobs/job-runner.ts';
import type { Kernel } from '../../../kernel/request/kernel.ts';
import type { SecretKernel } from '../links.ts';
import { type FingerprintKey, fingerprintKey, fingerprintOf } from './fingerprint.ts';
import * as store from './fingerprint-store.ts';
import { openValue } from './sealing.ts';

const AT_ONCE = 200;
const NO_FINGERPRINT = { fingerprint: null, fingerprint_version: null };

/**
 * Recomputes fingerprints that were not made with the newest version of the key, or of the value itself by an earlier release. Until then such a
 * value matches no value written since.
 */
export function renewFingerprintsJob(kernel: SecretKernel): Job {
  return {
    name: 'renew-fingerprints',
    intervalMs: 10 * MINUTE_MS,
    removes: 'nothing',
    async run(signal) {
      for (const { tenant_id } of await kernel.regionGate.servedHere(await everyTenant(kernel.database.read))) {
        if (signal.aborted) return;
        await renewAll(kernel, tenant_id, signal);
      }
    },
  };
}

async function renewAll(
  kernel: Pick<Kernel, 'database' | 'keyring' | 'log'>,
  tenantId: string,
  signal: AbortSignal,
): Promise<void> {
  const key = await fingerprintKey(kernel, tenantId);
  const database = kernel.database.forTenant(tenantId, 'bulk');
  while (!signal.aborted) {
    const rows = await store.outdatedFingerprints(database.read, tenantId, key.version, AT_ONCE);
    if (rows.length === 0) return;
    const renewed = await Promise.all(
      rows.map(async (row) => ({ row, fingerprint: await renewedOf(kernel, key, row) })),
    );
    await database.transaction(async (tx) => {
      for (const { row, fingerprint } of renewed) await store.replaceFingerprint(tx, row, fingerprint);
    });
    await nextTurn(tenantId);
  }
}

/** A value that cannot be decrypted loses its fingerprint; otherwise it would be retried forever, before all others. */
async function renewedOf(kernel: Pick<Kernel, 'keyring' | 'log'>, key: FingerprintKey, row: store.OutdatedRow) {
  if (row.is_zero_knowledge === 1) return NO_FINGERPRINT;
  try {
    return fingerprintOf(key, await openValue(kernel, row.tenant_id, row.vault_id, row));
  } catch (error) {
    if (!(error instanceof UnsealError)) throw error;
    kernel.log.error(
      { err: error, secret: row.secret_id, what_to_do: 'restore the secret from a backup, or set its value again' },
      'a value cannot be decrypted; it is excluded from the detection of equal values',
    );
    return NO_FINGERPRINT;
  }
}
