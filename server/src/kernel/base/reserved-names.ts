/**
 * Names with a meaning to the service, which tenants, vaults, groups and policies cannot take, in any letter case. In another product, a tenant
 * called "root" once became the parent of all tenants.
 */
const RESERVED = new Set([
  'admin',
  'all',
  'any',
  'auditor',
  'collisions',
  'default',
  'everyone',
  'member',
  'none',
  'operator',
  'owner',
  'root',
  'self',
  'simulate',
  'system',
]);

export function isReservedName(name: string): boolean {
  return RESERVED.has(name.toLowerCase());
}
