import { type Ceiling, withinCeiling } from '../../kernel/authz/ceiling.ts';
import { isDeclaredResource, refuseUndeclaredActions } from '../../kernel/authz/declared-resources.ts';
import { couldShow, type Described } from '../../kernel/authz/disclosure.ts';
import { isAllowed } from '../../kernel/authz/evaluate.ts';
import { isAction, isResource } from '../../kernel/authz/pattern.ts';
import type { CompiledPolicy } from '../../kernel/authz/policy.ts';
import { PolicyError } from '../../kernel/authz/policy-error.ts';
import { ROLES } from '../../kernel/authz/roles.ts';
import { type Membership, membershipPolicy } from '../../kernel/authz/vault-roles.ts';
import { timestamp } from '../../kernel/base/clock.ts';
import { invalidField } from '../../kernel/base/errors.ts';
import type { Body } from '../../kernel/endpoint/declaration.ts';
import { TimeSlice } from '../../kernel/fairness/time-slice.ts';
import type { Context } from '../../kernel/request/context.ts';
import { visibleAttributes } from '../secrets/reading/index.ts';
import { visibleParts } from '../secrets/references/index.ts';
import { isLive, vaultAttributes } from '../vaults/index.ts';
import { findVault } from '../vaults/storage/index.ts';
import type * as contract from './contract.ts';
import type { PolicyParts } from './links.ts';
import type { AllowedPrincipal, GrantedBy } from './schemas.ts';

const SHOWN_MAX = 200;
/** Every action that reveals a value. Reading a template takes it on everything that the template refers to. */
const SHOWING = ['secrets:read', 'eso:read'];

/** Principals with the same rights, and where each of these rights comes from. */
export interface RightsOfSome {
  readonly ceilings: readonly Ceiling[];
  readonly policies: readonly CompiledPolicy[];
  readonly grants: readonly {
    readonly kind: 'membership' | 'role' | 'policy' | 'group' | 'connection';
    readonly name: string;
    readonly policies: readonly CompiledPolicy[];
    readonly memberships: readonly Membership[];
  }[];
  readonly principals: readonly {
    readonly kind: 'user' | 'app_connection';
    readonly id: string;
    readonly name: string;
    /** Every alias of the principal as a resource. */
    readonly resources: readonly string[];
  }[];
}

const READ = { user: 'users:read', app_connection: 'app_connections:read' } as const;

/** Everybody who could do this by some request, with what gives them the right. Principals that the caller may not read are only counted. */
export async function whoCan(
  ctx: Context,
  ports: Pick<PolicyParts, 'rightsOfEverybody'>,
  { action, resource }: Body<typeof contract.whoCan>,
) {
  refuseUnknown(action, resource);
  const { principals, hidden } = await allowedPrincipals(ctx, ports, action, resource);
  return {
    principals: principals.slice(0, SHOWN_MAX),
    truncated: principals.length > SHOWN_MAX,
    hidden: hidden.reduce((sum, { count }) => sum + count, 0),
  };
}

/** Principals whom the caller may not read, by what gives them the right. */
interface Hidden {
  count: number;
  because: readonly GrantedBy[];
}

export async function allowedPrincipals(
  ctx: Context,
  { rightsOfEverybody }: Pick<PolicyParts, 'rightsOfEverybody'>,
  action: string,
  resource: string,
): Promise<{ principals: AllowedPrincipal[]; hidden: Hidden[] }> {
  const described = { resource, attributes: await visibleAttributes(ctx, resource) };
  const parts = SHOWING.includes(action) ? await visibleParts(ctx, resource) : [];
  let isKnown = await seesVaultOf(ctx, resource);
  for (const part of parts) isKnown &&= await seesVaultOf(ctx, part.resource);
  const found: AllowedPrincipal[] = [];
  const hidden: Hidden[] = [];
  const slice = TimeSlice.of(ctx.tenantId);
  for (const all of await rightsOfEverybody(ctx.database.read, ctx.tenantId, ctx.now)) {
    const pause = slice.pause();
    if (pause !== undefined) await pause;
    const rights = isKnown ? all : withoutTies(all);
    const whole = [described, ...parts];
    if (!whole.every((one) => couldDo(rights, action, one))) continue;
    const conditional = whole.some(({ resource, attributes }) => {
      return !isAllowed(rights.policies, { action, resource, context: { ...attributes, time: ctx.now } });
    });
    const because = reasons(rights, action, described);
    let unseen = 0;
    for (const { kind, id, name, resources } of rights.principals) {
      const pauseWithin = slice.pause();
      if (pauseWithin !== undefined) await pauseWithin;
      if (ctx.access.mayByAny([READ[kind]], resources)) found.push({ kind, id, name, conditional, because });
      else unseen++;
    }
    if (unseen > 0) hidden.push({ count: unseen, because });
  }
  return { principals: found.toSorted((a, b) => compare(b.kind, a.kind) || compare(a.name, b.name)), hidden };
}

const OF_VAULT = /^vault\/([^/]+)/;

/** Whether the caller may know that the vault of this resource exists; also if it is of none. */
export async function seesVaultOf(ctx: Context, resource: string): Promise<boolean> {
  const [, name] = OF_VAULT.exec(resource) ?? [];
  if (name === undefined) return true;
  const row = await findVault(ctx.database.read, ctx.tenantId, name);
  if (!isLive(row)) return false;
  return ['vaults:list', 'vaults:read'].some((action) => ctx.access.may(action, `vault/${name}`, vaultAttributes(row)));
}

/**
 * The rights without memberships and connections, which only a vault that exists has. Otherwise the number of hidden principals would tell whether
 * there is a vault of this name. Policies of the tenant name vaults whether or not they exist; their names have no slash.
 */
function withoutTies(rights: RightsOfSome): RightsOfSome {
  const grants = rights.grants.map((grant) => {
    return { ...grant, policies: grant.policies.filter(({ name }) => !isTieToVaults(name)) };
  });
  return { ...rights, grants, policies: grants.flatMap(({ policies }) => policies) };
}

/** Whether these are the rights of a user by memberships, or of a connection in its own vaults, which are built in as those of a role are. */
export function isTieToVaults(policyName: string): boolean {
  return policyName.includes('/') && !ROLES.some((role) => policyName === `role/${role}`);
}

/** A misspelt action would otherwise look like one that nobody may do. */
export function refuseUnknown(action: string, resource: string): void {
  if (!isAction(action)) throw invalidField('/body/action', 'must be one action, such as secrets:read');
  if (!isResource(resource) || !isDeclaredResource(resource)) {
    throw invalidField('/body/resource', 'must be one resource, such as vault/payments/db/password');
  }
  try {
    refuseUndeclaredActions([action], '');
  } catch (error) {
    throw error instanceof PolicyError ? invalidField('/body/action', error.reason) : error;
  }
}

/** Whether some request is allowed: from an allowed address, at an allowed time, with a second factor if one is required. */
function couldDo(
  { ceilings, policies }: Pick<RightsOfSome, 'ceilings' | 'policies'>,
  action: string,
  described: Described,
): boolean {
  const context = { ...described.attributes, time: Number.NaN };
  const isWithin = withinCeiling(ceilings, { action, resource: described.resource, context }) === 'ok';
  return isWithin && couldShow(policies, [action], described);
}

function reasons({ grants }: RightsOfSome, action: string, described: Described): GrantedBy[] {
  return grants.flatMap((grant): GrantedBy[] => {
    const giving = grant.policies.filter((policy) => couldShow([policy], [action], described));
    if (giving.length === 0) return [];
    if (grant.kind === 'membership') return membershipReasons(grant.memberships, action, described);
    if (grant.kind !== 'connection') return [{ kind: grant.kind, name: grant.name, until: null }];
    // The name of a policy of the tenant has no slash, and that of what is built in has one.
    return giving.map(({ name }) =>
      name.includes('/')
        ? { kind: 'connection', name: grant.name, until: null }
        : { kind: 'policy', name, until: null },
    );
  });
}

/** Those of one vault are few. */
function membershipReasons(memberships: readonly Membership[], action: string, described: Described): GrantedBy[] {
  const [, vault] = described.resource.split('/');
  return memberships
    .filter((one) => one.vault === vault && couldShow([membershipPolicy([one])], [action], described))
    .map(({ role, until }) => ({
      kind: until === undefined ? 'membership' : 'access',
      name: role,
      until: until === undefined ? null : timestamp(until),
    }));
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
