import { systemEntry } from '../../kernel/audit/entry/system-entry.ts';
import { vaultResource } from '../../kernel/authz/pattern.ts';
import { HOUR_MS } from '../../kernel/base/clock.ts';
import type { Announcer } from '../../kernel/feature/links.ts';
import type { RemovingJob } from '../../kernel/jobs/job-runner.ts';
import type { Share } from '../../kernel/jobs/share.ts';
import { destroyKeys } from '../../kernel/keys/keyring.ts';
import type { Kernel } from '../../kernel/request/kernel.ts';
import { raiseEpoch } from '../../kernel/storage/epochs.ts';
import { SECOND_CHECK_MS } from '../../kernel/time/clock-guard.ts';
import type { Cutoff } from '../../kernel/time/cutoff.ts';
import type { vaultContentsRemoved } from './links.ts';
import * as store from './storage/vault-store.ts';
import { deleteTimedAccessIn } from './timed-access/timed-access-store.ts';

const VAULTS_AT_ONCE = 20;
const SECRETS_AT_ONCE = 500;

/** Names the key under which everything in a vault is sealed. */
export function vaultKeyPurpose(vaultId: string): string {
  return `vault/${vaultId}`;
}

/** Destroys vaults past their retention: their secrets, and the key, without which ciphertext left in backups cannot be decrypted. */
export function purgeVaultsJob(
  kernel: Pick<Kernel, 'audit' | 'clock' | 'database'>,
  destroyContents: Announcer<typeof vaultContentsRemoved>,
): RemovingJob {
  return {
    name: 'purge-vaults',
    intervalMs: HOUR_MS,
    removes: { secondCheckMs: SECOND_CHECK_MS, share: (cutoff) => shareOf(kernel, cutoff) },
    async run(signal, cutoff) {
      const due = await store.vaultsToPurge(kernel.database.read, cutoff, VAULTS_AT_ONCE);
      for (const vault of due) {
        if (signal.aborted) return;
        await purge({ kernel, destroyContents }, vault, cutoff, signal);
      }
    },
  };
}

/** Counts vaults, not their secrets, because each was deleted as a whole by somebody, however large it is. */
async function shareOf({ database: { read } }: Pick<Kernel, 'database'>, cutoff: Cutoff): Promise<Share[]> {
  const expired = await store.countToPurge(read, cutoff);
  return [{ of: 'vaults', expired, floor: VAULTS_AT_ONCE, total: () => store.countVaults(read) }];
}

/** The vault was restored, or destroyed by another node, since it was found. What the transaction deleted is rolled back. */
class NotDue extends Error {}

/** Works in small transactions, so that a large vault does not block others. The next run continues after a kill. */
async function purge(
  {
    kernel,
    destroyContents,
  }: { kernel: Pick<Kernel, 'audit' | 'clock' | 'database'>; destroyContents: Announcer<typeof vaultContentsRemoved> },
  vault: store.VaultRow,
  cutoff: Cutoff,
  signal: AbortSignal,
): Promise<void> {
  const { tenant_id, vault_id, name } = vault;
  const headKey = await kernel.audit.headKey(tenant_id);
  while (!signal.aborted) {
    const purging = kernel.database.forTenant(tenant_id, 'bulk').transaction(async (tx) => {
      // Secrets are locked before their vault everywhere, so that no two transactions wait for each other.
      const destroyed = await destroyContents(tx, tenant_id, vault_id, SECRETS_AT_ONCE);
      const row = await store.lockVault(tx, tenant_id, name);
      if (row?.vault_id !== vault_id || row.status !== 'deleted' || row.purge_at === null || row.purge_at > cutoff) {
        throw new NotDue();
      }
      const record = (action: string, details: Record<string, unknown>) => {
        const facts = { actorId: 'job:purge-vaults', resource: vaultResource(name), status: 200 } as const;
        const entry = systemEntry({ tenantId: tenant_id, action, details, now: kernel.clock.now(), ...facts });
        return kernel.audit.recordIn(tx, [entry], headKey);
      };
      const secrets = destroyed.reduce((sum, count) => sum + count, 0);
      if (secrets > 0) {
        await record('secrets:purge', { vault: vault_id, secrets });
        return false;
      }
      kernel.database.scrubAfterCommit();
      await destroyKeys(tx, tenant_id, vaultKeyPurpose(vault_id));
      await deleteTimedAccessIn(tx, tenant_id, vault_id);
      await store.deleteVaultRow(tx, tenant_id, vault_id);
      await raiseEpoch(tx, tenant_id);
      await record('vault_purged', { vault: vault_id, secrets: row.secrets_count });
      return true;
    });
    const isDone = await purging.catch((error: unknown) => {
      if (error instanceof NotDue) return true;
      throw error;
    });
    if (isDone) return;
  }
}
