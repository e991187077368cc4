import { named } from '../wire/named-schemas.ts';
import { oneOf } from '../wire/wire.ts';
import { ownPolicySize } from './compiled-size.ts';
import { heldUntil } from './condition.ts';
import { ALL_PATHS, exactly } from './path-ranges.ts';
import {
  compileActionPattern,
  compileResourcePattern,
  isResource,
  type Pattern,
  type ResourcePattern,
  vaultResource,
} from './pattern.ts';
import type { CompiledPolicy, CompiledStatement } from './policy.ts';

/** The roles that a person or group can have in a vault. */
export const VAULT_ROLES = ['reader', 'writer', 'manager'] as const;
export type VaultRole = (typeof VAULT_ROLES)[number];
export const VaultRoleName = named(
  'VaultRole',
  'reader: lists and reads secrets. writer: also changes secrets. manager: also changes the vault and its members.',
  oneOf(VAULT_ROLES),
);

export interface Membership {
  vault: string;
  role: VaultRole;
  /** The path that it is limited to, with everything below it; otherwise the whole vault. */
  path?: string | null;
  /** When it ends by itself, in epoch milliseconds; otherwise it lasts. */
  until?: number;
}

const READ = [
  'vaults:list',
  'vaults:read',
  'secrets:list',
  'secrets:read',
  'secrets:read_metadata',
  'secrets:aggregate',
  'secrets:search',
  'secrets:export',
];
const WRITE = [
  ...READ,
  'secrets:create',
  'secrets:update',
  'secrets:delete',
  'secrets:restore',
  'secrets:rotate',
  'secrets:rollback',
  'secrets:move',
  'secrets:copy',
  'secrets:import',
  'secrets:tokenize',
  'secrets:detokenize',
];
const MANAGE = [...WRITE, 'secrets:review', 'vaults:update', 'vaults:delete', 'vaults:restore', 'members:*'];

/** Compiled once and shared, because a tenant may have thousands of members. */
const ACTIONS: Record<VaultRole, readonly Pattern[]> = {
  reader: READ.map(compileActionPattern),
  writer: WRITE.map(compileActionPattern),
  manager: MANAGE.map(compileActionPattern),
};

/**
 * Converts memberships into a policy, so that there is one way to decide. A person may be a member of thousands of vaults, so the names for each
 * role are one set with a single lookup instead of a pattern each.
 */
export function membershipPolicy(memberships: readonly Membership[]): CompiledPolicy {
  const timed = memberships.filter(({ until }) => until !== undefined);
  const lasting = VAULT_ROLES.flatMap((role): CompiledStatement[] => {
    const ofRole = memberships.filter((m) => m.role === role && m.until === undefined);
    const vaults = new Set(ofRole.map((m) => m.vault));
    if (vaults.size === 0) return [];
    const actions = ACTIONS[role];
    return [{ sid: role, effect: 'allow', actions, resources: [inVaults(vaults)], condition: [] }];
  });
  const statements = [...lasting, ...timed.map(timedStatement)];
  const byAction = new Map<string, CompiledStatement[]>();
  return {
    name: MEMBERSHIPS,
    bytes: ownPolicySize(
      memberships.length,
      timed.flatMap(({ path }) => path ?? []),
    ),
    cost: statements.length,
    statements,
    statementsFor(action) {
      let allow = byAction.get(action);
      if (allow === undefined) {
        allow = statements.filter(({ actions }) => actions.some((pattern) => pattern.matches(action)));
        if (byAction.size < ACTIONS_CACHED_MAX) byAction.set(action, allow);
      }
      return { allow, deny: [] };
    },
  };
}

/** The condition is compared with the time of each request, so that access ends on every node at that time, whatever is cached. */
function timedStatement({ vault, role, path, until = 0 }: Membership): CompiledStatement {
  const resource =
    path == null ? inVaults(new Set([vault])) : compileResourcePattern(`${vaultResource(vault, path)}/**`);
  return { sid: role, effect: 'allow', actions: ACTIONS[role], resources: [resource], condition: heldUntil(until) };
}

/** The highest role that memberships among these policies give in a vault, to say so; what is allowed is decided by all policies together. */
export function vaultRoleIn(policies: readonly CompiledPolicy[], vault: string): VaultRole | null {
  const statements = policies.filter(({ name }) => name === MEMBERSHIPS).flatMap((policy) => policy.statements);
  const isGiven = (role: VaultRole) =>
    statements.some(({ sid, resources }) => sid === role && resources.some((each) => each.matches(`${VAULT}${vault}`)));
  return VAULT_ROLES.findLast(isGiven) ?? null;
}

const MEMBERSHIPS = 'role/vault-member';
const ACTIONS_CACHED_MAX = 64;
const VAULT = 'vault/';

function inVaults(vaults: ReadonlySet<string>): ResourcePattern {
  const matchesResource = (resource: string) => {
    if (!resource.startsWith(VAULT)) return false;
    const end = resource.indexOf('/', VAULT.length);
    return vaults.has(resource.slice(VAULT.length, end === -1 ? undefined : end));
  };
  const names = { ranges: [...vaults].map(exactly), covers: true };
  return {
    text: 'the vaults of a member',
    matchesResource,
    matches: (value) => isResource(value) && matchesResource(value),
    rangesIn: (vault) => ({ ranges: vaults.has(vault) ? [ALL_PATHS] : [], covers: true }),
    vaults: () => names,
  };
}
