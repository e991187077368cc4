import type { Ceiling } from '../../kernel/authz/ceiling.ts';
import type { CompiledPolicy } from '../../kernel/authz/policy.ts';
import { membershipPolicy } from '../../kernel/authz/vault-roles.ts';
import { connectionResources } from '../app-connections/storage/index.ts';
import { couldRead, type Grant, readableRanges, type SameRights } from '../risk/index.ts';
import type { AccessPath } from './contract.ts';
import type { Target } from './targets.ts';

/** One right of one principal that opens a target. */
export interface Way {
  /** Orders the ways to one target. */
  readonly key: string;
  readonly rights: SameRights;
  readonly principal: AccessPath['principal'];
  /** Of a connection, every name that policies may use for it. */
  readonly resources: readonly string[];
  readonly group: AccessPath['group'];
  readonly grant: { kind: AccessPath['grant']['kind']; name: string; until: number | null };
}

/** Whether these rights could open the target by some request. */
export function opens(
  rights: { ceilings: readonly Ceiling[]; policies: readonly CompiledPolicy[] },
  { vault, secret }: Target,
): boolean {
  return secret === null ? readableRanges(rights, vault.name).length > 0 : couldRead(rights, vault.name, secret);
}

/** Every way by which principals with these rights could open the target. */
export function waysOf(rights: SameRights, target: Target): Way[] {
  if (!opens(rights, target)) return [];
  const found = rights.grants.flatMap((grant) => rightsIn(grant, rights, target));
  return principalsOf(rights).flatMap((who) =>
    found.map(({ group, grant }): Way => {
      const parts = [who.principal.kind, who.principal.id, group?.id ?? '', grant.kind];
      // The name of a connection is the only one that may have any characters, and its id is in the key.
      const name = grant.kind === 'connection' ? '' : grant.name;
      return { key: [...parts, name, grant.until ?? ''].join(' '), rights, ...who, group, grant };
    }),
  );
}

function principalsOf({ users, connections }: SameRights): Pick<Way, 'principal' | 'resources'>[] {
  return [
    ...users.map(({ user_id: id, email: name }) => ({ principal: { kind: 'user' as const, id, name }, resources: [] })),
    ...connections.map((row) => ({
      principal: { kind: 'app_connection' as const, id: row.client_id, name: row.name },
      resources: connectionResources(row),
    })),
  ];
}

/** The rights that a source gives and that open the target by themselves. What a group gives is each right of the group. */
function rightsIn(source: Grant, { ceilings }: SameRights, target: Target): Pick<Way, 'group' | 'grant'>[] {
  const group = source.kind === 'group' ? { id: source.id, name: source.name } : null;
  const byItself = (policy: CompiledPolicy) => opens({ ceilings, policies: [policy] }, target);
  const memberships = source.memberships
    .filter((one) => one.vault === target.vault.name && byItself(membershipPolicy([one])))
    .map(({ role, until }) => ({
      kind: until === undefined ? ('membership' as const) : ('access' as const),
      name: role,
      until: until ?? null,
    }));
  const policies = source.policies.filter((policy) => source.memberships.length === 0 || isAttached(policy));
  const others = policies.filter(byItself).map((policy) => ({ ...kindOf(source, policy), until: null }));
  return [...memberships, ...others].map((grant) => ({ group, grant }));
}

/** The name of a policy of the tenant has no slash, and that of what is built in has one. */
function isAttached({ name }: CompiledPolicy): boolean {
  return !name.includes('/');
}

function kindOf(source: Grant, policy: CompiledPolicy): { kind: 'policy' | 'role' | 'connection'; name: string } {
  if (isAttached(policy)) return { kind: 'policy', name: policy.name };
  return { kind: source.kind === 'connection' ? 'connection' : 'role', name: source.name };
}
