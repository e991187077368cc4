/**
 * Names that mean something to the service and so cannot be taken by tenants, vaults, groups or policies, in any case. A tenant called
 * "root" once became everyone's parent elsewhere.
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
