import { secretResource } from '../../secrets/index.ts';
import type { WatchedRow } from '../../secrets/storage/index.ts';
import { isLive } from '../../vaults/index.ts';
import { type VaultRow, vaultsAfter } from '../../vaults/storage/index.ts';
import type { ScanContext } from './detector.ts';

const VAULTS_AT_ONCE = 500;

export type WatchedVault = Pick<VaultRow, 'vault_id' | 'name' | 'environment' | 'log_reads'>;

/** The live vaults of the tenant. Plans limit how many there are. */
export async function* liveVaults({ db, tenantId, signal }: ScanContext): AsyncGenerator<WatchedVault> {
  for (let after = ''; !signal.aborted; ) {
    const rows = await vaultsAfter(db, tenantId, after, VAULTS_AT_ONCE);
    for (const row of rows) {
      if (!isLive(row)) continue;
      const { vault_id, name, environment, log_reads } = row;
      yield { vault_id, name, environment, log_reads };
    }
    const last = rows.at(-1);
    if (last === undefined || rows.length < VAULTS_AT_ONCE) return;
    after = last.name;
  }
}

export async function liveVaultsById(context: ScanContext): Promise<Map<string, WatchedVault>> {
  const found = new Map<string, WatchedVault>();
  for await (const vault of liveVaults(context)) found.set(vault.vault_id, vault);
  return found;
}

/** The parts of a finding that name a secret. */
export function aboutSecret(vault: Pick<WatchedVault, 'vault_id' | 'name'>, secret: WatchedRow) {
  return {
    resource: secretResource(vault.name, secret.path),
    vaultId: vault.vault_id,
    secretId: secret.secret_id,
    isProductionFortress: secret.protection === 'fortress' && secret.environment === 'production',
  };
}
