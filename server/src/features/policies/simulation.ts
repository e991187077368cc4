import { undeclaredAction } from '../../kernel/authz/declared-resources.ts';
import { canonicalEnvironment } from '../../kernel/authz/environment.ts';
import { type AccessContext, evaluate, type MatchedStatement } from '../../kernel/authz/evaluate.ts';
import type { CompiledPolicy, PolicyDocument } from '../../kernel/authz/policy.ts';
import { invalidField, notFound } from '../../kernel/base/errors.ts';
import type { Body } from '../../kernel/endpoint/declaration.ts';
import type { Context } from '../../kernel/request/context.ts';
import { findGroupByIdOrName } from '../groups/storage/index.ts';
import { visibleAttributes } from '../secrets/reading/index.ts';
import { findUser } from '../users/storage/index.ts';
import { compiledPolicy } from './compiled-policies.ts';
import type * as contract from './contract.ts';
import { readPolicy } from './contract.ts';
import type { PolicyParts } from './links.ts';
import type { PolicyPrincipal } from './schemas.ts';
import {
  checkedDocument,
  type FoundPrincipal,
  findPrincipal,
  nounOf,
  type PolicyPorts,
  policiesOfUser,
} from './service.ts';
import * as store from './store.ts';
import { isTieToVaults, seesVaultOf } from './who-can.ts';

type SimulatorPorts = PolicyPorts & Pick<PolicyParts, 'resourcesOfConnection'>;

export async function simulate(ctx: Context, ports: SimulatorPorts, body: Body<typeof contract.simulatePolicy>) {
  const principal = body.principal === undefined ? null : await readablePrincipal(ctx, ports, body.principal);
  const policies = await simulatedPolicies(ctx, ports, body, principal);
  refuseUnknownAction(body.action);
  const { time, environment, ...given } = body.context ?? {};
  const at = time === undefined ? ctx.now : Date.parse(time);
  if (!Number.isFinite(at)) throw invalidField('/body/context/time', 'must be a time such as 2026-11-14T10:00:00.000Z');
  const context = {
    ...callerFacts(ctx, principal),
    ...(await visibleAttributes(ctx, body.resource)),
    ...given,
    ...(environment !== undefined && { environment: canonicalEnvironment(environment) }),
    time: at,
  };
  const { decision, reason, matched } = evaluate(policies, { action: body.action, resource: body.resource, context });
  return { decision, reason, matched: eachOnce(matched) };
}

/** A mistyped action would be answered with "no_match", which reads as if a permission were missing. */
function refuseUnknownAction(action: string): void {
  const problem = undeclaredAction(action);
  if (problem !== null) throw invalidField('/body/action', problem);
}

/** Several statements of a policy may have one name or none, and a policy may apply by several ways. */
function eachOnce(matched: readonly MatchedStatement[]): MatchedStatement[] {
  return [...new Map(matched.map((one) => [JSON.stringify([one.policy, one.sid, one.effect]), one])).values()];
}

/**
 * Who is named, if the caller is or may read them. Otherwise the answer is the same as if there were nobody of this name: it depends on what the
 * caller may read, and not on who exists.
 */
async function readablePrincipal(
  ctx: Context,
  ports: SimulatorPorts,
  wanted: PolicyPrincipal,
): Promise<FoundPrincipal> {
  const found = await findPrincipal(ctx.database.read, ports, ctx.tenantId, wanted);
  if (found !== undefined && (isCaller(ctx, found) || (await mayRead(ctx, ports, found)))) return found;
  ctx.access.authorizeAlso(...asResource(wanted));
  throw notFound(nounOf(wanted));
}

const READ = { user: 'users:read', group: 'groups:read', app_connection: 'app_connections:read' } as const;

async function mayRead(ctx: Context, ports: SimulatorPorts, { kind, id }: FoundPrincipal): Promise<boolean> {
  return ctx.access.mayByAny([READ[kind]], await resourcesOf(ctx, ports, { kind, id }));
}

async function resourcesOf(
  { database: { read }, tenantId }: Context,
  ports: SimulatorPorts,
  { kind, id }: FoundPrincipal,
): Promise<readonly string[]> {
  if (kind === 'user') return [`user/${id}`];
  if (kind === 'app_connection') return ports.resourcesOfConnection(read, tenantId, id);
  const group = await findGroupByIdOrName(read, tenantId, id);
  return group === undefined ? [] : [`group/${id}`, `group/${group.name}`];
}

/** What is named, by the name that the caller gave it. */
function asResource({ user, group, app_connection }: PolicyPrincipal): [permission: string, resource: string] {
  if (app_connection !== undefined) return [READ.app_connection, `app-connection/${app_connection}`];
  return group === undefined ? [READ.user, `user/${user}`] : [READ.group, `group/${group}`];
}

function isCaller({ principal }: Context, { kind, id }: FoundPrincipal): boolean {
  return principal.kind === kind && principal.id === id;
}

/** Address and second factor are known only for the current request, so they apply only if the principal is the caller. */
function callerFacts(ctx: Context, principal: FoundPrincipal | null): Pick<AccessContext, 'ip' | 'mfa'> {
  return principal !== null && isCaller(ctx, principal) ? { ip: ctx.call.address, mfa: ctx.access.isMfaFresh } : {};
}

/** With a principal, all policies that apply to them; a given policy or document is added as if it were attached to them. */
async function simulatedPolicies(
  ctx: Context,
  ports: SimulatorPorts,
  { policy, document, resource }: Body<typeof contract.simulatePolicy>,
  principal: FoundPrincipal | null,
): Promise<CompiledPolicy[]> {
  if (policy !== undefined && document !== undefined)
    throw invalidField('/body', 'must have policy or document, not both');
  if (policy === undefined && document === undefined && principal === null) {
    throw invalidField('/body', 'must have policy, document or principal');
  }
  const policies = principal === null ? [] : await knownPolicies(ctx, ports, principal, resource);
  const given = document ?? policy;
  if (given !== undefined) policies.push(await policyToSimulate(ctx, given));
  return policies;
}

/** What the caller may know of the rights of somebody else: ties to a vault that they cannot see would tell that it exists. */
async function knownPolicies(ctx: Context, ports: SimulatorPorts, principal: FoundPrincipal, resource: string) {
  const policies = await policiesOfPrincipal(ctx, ports, principal);
  if (isCaller(ctx, principal) || (await seesVaultOf(ctx, resource))) return policies;
  return policies.filter(({ name }) => !isTieToVaults(name));
}

/** The policy with this name, or the document as if it were one. A caller who cannot read policies of this name does not learn whether there is one. */
export async function policyToSimulate(
  ctx: Context,
  given: string | PolicyDocument,
  pointer?: string,
): Promise<CompiledPolicy> {
  if (typeof given !== 'string') return checkedDocument('document', given, pointer).compiled;
  ctx.access.authorizeAlso(readPolicy.permission, `policy/${given}`);
  const row = await store.findPolicy(ctx.database.read, ctx.tenantId, given);
  if (row === undefined) throw notFound('policy');
  return compiledPolicy(row);
}

async function policiesOfPrincipal(ctx: Context, ports: SimulatorPorts, principal: FoundPrincipal) {
  const { read } = ctx.database;
  if (principal.kind === 'group') return (await store.policiesFor(read, ctx.tenantId, [principal])).map(compiledPolicy);
  if (principal.kind === 'app_connection') return ports.allPoliciesOfConnection(ctx, principal.id);
  const user = await findUser(read, ctx.tenantId, principal.id);
  if (user === undefined) throw notFound('user');
  return policiesOfUser(read, user);
}
