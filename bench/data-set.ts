/** What the seeded secrets are called. */
export const RARE_TAG = 'rare';
export const RARE_TYPE = 'rare_type';

export function vaultOf(index: number): string {
  return `vault-${String(index).padStart(5, '0')}`;
}

export function pathOf(index: number): string {
  const padded = String(index).padStart(6, '0');
  return `team-${padded.slice(0, 4)}/service/key-${padded}`;
}
