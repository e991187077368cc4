/** The tenants, vaults and secrets that an installation is filled with, and their names. */
export const RARE_TAG = 'rare';
export const RARE_TYPE = 'rare_type';
/** Tenants beside the operator's, which every installation has. */
export const MORE_TENANTS = ['bench-1', 'bench-2', 'bench-3'];
export const CALLERS_PER_TENANT = 4;
export const VAULTS = 8;
export const PER_VAULT = 1000;

/** The tenants get vaults in turn, so each of them has some. */
export function ownerOf<T>(vault: number, tenants: readonly T[]): T {
  const owner = tenants[vault % tenants.length];
  if (owner === undefined) throw new Error('there is no tenant to own a vault');
  return owner;
}

export function vaultOf(index: number): string {
  return `vault-${String(index).padStart(5, '0')}`;
}

export function pathOf(index: number): string {
  const padded = String(index).padStart(6, '0');
  return `team-${padded.slice(0, 4)}/service/key-${padded}`;
}
