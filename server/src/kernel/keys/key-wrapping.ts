import type { KeyObject } from 'node:crypto';
import type { RootKey } from '../crypto/root-key.ts';
import { type SealedLocation, seal, UnsealError, unseal } from '../crypto/sealing.ts';
import type { Tx } from '../storage/database.ts';
import type { Tables } from '../storage/tables.ts';

export const KEY_BYTES = 32;
/** The purpose of the key that wraps a tenant's other keys. */
export const TENANT_PURPOSE = 'tenant';

/** A version of a tenant's own key. */
export interface WrappingKey {
  key: KeyObject;
  version: number;
}

export function wrapByRoot(root: RootKey, { tenantId, version, bytes, now }: Omit<NewKey, 'purpose'>): Tables['keys'] {
  const wrapped = seal(root.key, 0, tenantKeyPlace(tenantId, version), bytes);
  const wrapping_key = `root:${root.id}`;
  return { tenant_id: tenantId, purpose: TENANT_PURPOSE, version, wrapping_key, wrapped, uses: 0, created_at: now };
}

export interface NewKey {
  tenantId: string;
  purpose: string;
  version: number;
  bytes: Uint8Array;
  now: number;
}

export function wrapByTenant(
  wrapping: WrappingKey,
  { tenantId, purpose, version, bytes, now }: NewKey,
  place: SealedLocation = keyPlace(tenantId, purpose, version),
): Tables['keys'] {
  const wrapped = seal(wrapping.key, wrapping.version, place, bytes);
  const wrapping_key = `${TENANT_PURPOSE}:${wrapping.version}`;
  return { tenant_id: tenantId, purpose, version, wrapping_key, wrapped, uses: 0, created_at: now };
}

/** The version of the tenant's key that wraps this one. */
export function tenantKeyVersion({ wrapping_key }: Pick<Tables['keys'], 'wrapping_key'>): number {
  return Number(wrapping_key.slice(TENANT_PURPOSE.length + 1));
}

export function keyPlace(tenantId: string, purpose: string, version: number): SealedLocation {
  return { tenantId, table: 'keys', row: purpose, version };
}

/**
 * A key from before a rekey only unseals, because anyone who had the old root key may know it. It is wrapped with different associated data, so
 * that deleting newer versions does not bring it back into use.
 */
export function retiredKeyPlace(tenantId: string, purpose: string, version: number): SealedLocation {
  return { tenantId, table: 'retired keys', row: purpose, version };
}

/** Unwraps a key of a purpose, whether it is retired or not. */
export function unwrapByTenant(
  by: KeyObject,
  { tenant_id, purpose, version, wrapped }: Pick<Tables['keys'], 'tenant_id' | 'purpose' | 'version' | 'wrapped'>,
): { bytes: Buffer; isRetired: boolean } {
  try {
    return { bytes: unseal(by, keyPlace(tenant_id, purpose, version), wrapped), isRetired: false };
  } catch (error) {
    if (!(error instanceof UnsealError)) throw error;
    return { bytes: unseal(by, retiredKeyPlace(tenant_id, purpose, version), wrapped), isRetired: true };
  }
}

/**
 * The tenant key of a tenant whose rows are authenticated has its own associated data. An older tenant key unwraps only with the previous
 * associated data, which only the upgrade tries. So nobody can make the service believe that rows without a MAC are from before.
 */
export function tenantKeyPlace(tenantId: string, version: number): SealedLocation {
  return { tenantId, table: 'keys of authenticated rows', row: TENANT_PURPOSE, version };
}

export async function replaceWrapped(
  tx: Tx,
  { tenant_id, purpose, version, wrapped, wrapping_key }: Tables['keys'],
): Promise<void> {
  await tx
    .updateTable('keys')
    .set({ wrapped, wrapping_key })
    .where('tenant_id', '=', tenant_id)
    .where('purpose', '=', purpose)
    .where('version', '=', version)
    .execute();
}

export async function insertKey(tx: Tx, row: Tables['keys']): Promise<void> {
  await tx.insertInto('keys').values(row).execute();
}
