import { systemEntry } from '../../kernel/audit/system-entry.ts';
import { vaultResource } from '../../kernel/authz/pattern.ts';
import { destroyKeys } from '../../kernel/crypto/keyring.ts';
import type { RemovingJob } from '../../kernel/jobs/job-runner.ts';
import type { Share } from '../../kernel/jobs/share.ts';
import { HOUR_MS } from '../../kernel/platform/clock.ts';
import type { Kernel } from '../../kernel/platform/kernel.ts';
import type { Removal } from '../../kernel/platform/wiring.ts';
import type { Tx } from '../../kernel/storage/database.ts';
import { raiseEpoch } from '../../kernel/storage/epochs.ts';
import { SECOND_CHECK_MS } from '../../kernel/time/clock-guard.ts';
import type { Cutoff } from '../../kernel/time/cutoff.ts';
import * as store from './store.ts';

const VAULTS_AT_ONCE = 20;
const SECRETS_AT_ONCE = 500;

declare module '../../kernel/platform/wiring.ts' {
  interface Removals {
    /** Destroys what is in a vault, but at most `limit` secrets, and returns how many secrets; 0 when none is left. */
    vaultContents(tx: Tx, tenantId: string, vaultId: string, limit: number): Promise<number>;
  }
}

/** Names the key under which everything in a vault is sealed. */
export function vaultKeyPurpose(vaultId: string): string {
  return `vault/${vaultId}`;
}

/** Destroys vaults past their retention: their secrets, and the key, without which ciphertext left in backups cannot be decrypted. */
export function purgeVaultsJob(kernel: Kernel, destroyContents: Removal<'vaultContents'>): RemovingJob {
  return {
    name: 'purge-vaults',
    intervalMs: HOUR_MS,
    removes: { secondCheckMs: SECOND_CHECK_MS, share: (cutoff) => shareOf(kernel, cutoff) },
    async run(signal, cutoff) {
      const due = await store.vaultsToPurge(kernel.database.read, cutoff, VAULTS_AT_ONCE);
      for (const vault of due) {
        if (signal.aborted) return;
        await purge(kernel, destroyContents, vault, cutoff, signal);
      }
    },
  };
}

/** Counts vaults, not their secrets, because each was deleted as a whole by somebody, however large it is. */
async function shareOf({ database: { read } }: Kernel, cutoff: Cutoff): Promise<Share[]> {
  const expired = await store.countToPurge(read, cutoff);
  return [{ of: 'vaults', expired, floor: VAULTS_AT_ONCE, total: () => store.countVaults(read) }];
}

/** Works in small transactions, so that a large vault does not block others. The next run continues after a kill. */
async function purge(
  kernel: Kernel,
  destroyContents: Removal<'vaultContents'>,
  vault: store.VaultRow,
  cutoff: Cutoff,
  signal: AbortSignal,
): Promise<void> {
  const { tenant_id, vault_id, name } = vault;
  const headKey = await kernel.audit.headKey(tenant_id);
  while (!signal.aborted) {
    const isDone = await kernel.database.forTenant(tenant_id, 'bulk').transaction(async (tx) => {
      const row = await store.lockVault(tx, tenant_id, name);
      if (row?.vault_id !== vault_id || row.status !== 'deleted' || row.purge_at === null || row.purge_at > cutoff) {
        return true;
      }
      const record = (action: string, details: Record<string, unknown>) => {
        const facts = { actorId: 'job:purge-vaults', resource: vaultResource(name), status: 200 } as const;
        const entry = systemEntry({ tenantId: tenant_id, action, details, now: kernel.clock.now(), ...facts });
        return kernel.audit.recordIn(tx, [entry], headKey);
      };
      const destroyed = await destroyContents(tx, tenant_id, vault_id, SECRETS_AT_ONCE);
      const secrets = destroyed.reduce((sum, count) => sum + count, 0);
      if (secrets > 0) {
        await record('secrets:purge', { vault: vault_id, secrets });
        return false;
      }
      kernel.database.scrubAfterCommit();
      await destroyKeys(tx, tenant_id, vaultKeyPurpose(vault_id));
      await store.deleteVaultRow(tx, tenant_id, vault_id);
      await raiseEpoch(tx, tenant_id);
      await record('vault_purged', { vault: vault_id, secrets: row.secrets_count });
      return true;
    });
    if (isDone) return;
  }
}
