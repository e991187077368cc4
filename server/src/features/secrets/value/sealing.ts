import { createSecretKey, randomBytes } from 'node:crypto';
import { DAY_MS } from '../../../kernel/base/clock.ts';
import { seal, unseal } from '../../../kernel/crypto/sealing.ts';
import type { Kernel } from '../../../kernel/request/kernel.ts';
import { vaultKeyPurpose } from '../../vaults/index.ts';
import type { VaultRow } from '../../vaults/storage/index.ts';
import type { SecretRow } from '../storage/tables.ts';
import { certificateEnd } from './certificate-end.ts';
import { fingerprintKey, fingerprintOf } from './fingerprint.ts';

const DATA_KEY_BYTES = 32;

const VERSIONS = 'secret_versions';

/** The row a value is bound to. It is unchanged when a secret moves, so its history can move with it. */
function valueLocation(secretId: string, version: number) {
  return { table: VERSIONS, row: secretId, version };
}

/** A data key stored beside another version's value does not open it, because the value itself is bound to its version. */
function dataKeyLocation(secretId: string) {
  return { table: 'secrets', row: `${secretId} data key` };
}

/** The columns needed to open a value. */
export type Sealed = Pick<SecretRow, 'secret_id' | 'sealed_version' | 'sealed' | 'data_key'>;
/** What is known in the clear about a value. */
type ClearColumns = Pick<SecretRow, 'fingerprint' | 'fingerprint_version' | 'expires_at'>;
/** A value as it is stored. */
export type SealedValue = Pick<SecretRow, 'sealed' | 'sealed_version' | 'data_key'> & ClearColumns;
type Identity = Pick<SecretRow, 'secret_id' | 'type' | 'protection'>;

export interface Sealer {
  /** A fortress value is sealed under a data key made for this version alone, which is stored wrapped by the vault's key. */
  seal(secret: Identity, version: number, value: string): SealedValue;
  /** Values of fortress secrets are never compared, so they have no fingerprint. In a zero-knowledge vault every column is null. */
  clearColumns(secret: Identity, value: string): ClearColumns;
  wrapDataKey(secretId: string, dataKey: Uint8Array): Uint8Array;
}

const NO_FINGERPRINT = { fingerprint: null, fingerprint_version: null };

/** When the value of a secret ends. The service cannot read that of a zero-knowledge vault. */
export function endOf(
  { is_zero_knowledge }: Pick<VaultRow, 'is_zero_knowledge'>,
  { type }: Pick<SecretRow, 'type'>,
  value: string,
): number | null {
  return is_zero_knowledge === 1 || type !== 'certificate' ? null : certificateEnd(value);
}

/** Call it before the transaction that seals, because a key may have to be created or rotated first. */
export async function sealerFor(kernel: Pick<Kernel, 'keyring'>, vault: VaultRow): Promise<Sealer> {
  const maxAgeMs = vault.rotation_days * DAY_MS;
  const key = await kernel.keyring.sealingKey(vault.tenant_id, vaultKeyPurpose(vault.vault_id), maxAgeMs);
  const fingerprints = await fingerprintKey(kernel, vault.tenant_id);
  const wrapDataKey: Sealer['wrapDataKey'] = (secretId, dataKey) => key.seal(dataKeyLocation(secretId), dataKey);
  const clearColumns: Sealer['clearColumns'] = (secret, value) => {
    const isCompared = vault.is_zero_knowledge !== 1 && secret.protection !== 'fortress';
    const fingerprint = isCompared ? fingerprintOf(fingerprints, value) : NO_FINGERPRINT;
    return { ...fingerprint, expires_at: endOf(vault, secret, value) };
  };
  return {
    wrapDataKey,
    clearColumns,
    seal(secret, version, value) {
      const { secret_id, protection } = secret;
      const at = valueLocation(secret_id, version);
      const bytes = Buffer.from(value, 'utf8');
      const known = { sealed_version: version, ...clearColumns(secret, value) };
      if (protection !== 'fortress') return { sealed: key.seal(at, bytes), data_key: null, ...known };
      const dataKey = randomBytes(DATA_KEY_BYTES);
      const sealed = seal(createSecretKey(dataKey), 0, { tenantId: vault.tenant_id, ...at }, bytes);
      const data_key = wrapDataKey(secret_id, dataKey);
      dataKey.fill(0);
      return { sealed, data_key, ...known };
    },
  };
}

export async function openDataKey(
  kernel: Pick<Kernel, 'keyring'>,
  tenantId: string,
  vaultId: string,
  secret: Pick<SecretRow, 'secret_id' | 'data_key'>,
): Promise<Buffer | null> {
  if (secret.data_key === null) return null;
  const at = { tenantId, ...dataKeyLocation(secret.secret_id) };
  return kernel.keyring.unseal(vaultKeyPurpose(vaultId), at, secret.data_key);
}

export async function openValue(
  kernel: Pick<Kernel, 'keyring'>,
  tenantId: string,
  vaultId: string,
  secret: Sealed,
): Promise<string> {
  const at = { tenantId, ...valueLocation(secret.secret_id, secret.sealed_version) };
  const dataKey = secret.data_key === null ? null : await openDataKey(kernel, tenantId, vaultId, secret);
  if (dataKey !== null) return unseal(createSecretKey(dataKey), at, secret.sealed).toString('utf8');
  return (await kernel.keyring.unseal(vaultKeyPurpose(vaultId), at, secret.sealed)).toString('utf8');
}

/** Opens an ordinary secret's value synchronously. Returns null if the key is not cached or the secret is a fortress secret. */
export function openNow(
  kernel: Pick<Kernel, 'keyring'>,
  tenantId: string,
  vaultId: string,
  secret: Sealed,
): string | null {
  if (secret.data_key !== null) return null;
  const at = { tenantId, ...valueLocation(secret.secret_id, secret.sealed_version) };
  return kernel.keyring.unsealNow(vaultKeyPurpose(vaultId), at, secret.sealed)?.toString('utf8') ?? null;
}
