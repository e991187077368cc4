import type { MatchedStatement } from '../../kernel/authz/evaluate.ts';
import { ROLES } from '../../kernel/authz/roles.ts';
import type { Body } from '../../kernel/endpoint/declaration.ts';
import type { Context } from '../../kernel/request/context.ts';
import { visibleAttributes } from '../secrets/reading/index.ts';
import type * as contract from './contract.ts';
import type { PolicyParts } from './links.ts';
import { allowedPrincipals, refuseUnknown } from './who-can.ts';

/** More people than anyone would write to. */
const HELPERS_MAX = 20;

/** The decision on a request of the caller with its reason, and who could change a refusal, as far as the caller may know them. */
export async function explainAccess(
  ctx: Context,
  ports: Pick<PolicyParts, 'rightsOfEverybody'>,
  { action, resource }: Body<typeof contract.explainAccess>,
) {
  refuseUnknown(action, resource);
  const decision = ctx.access.explain(action, resource, await visibleAttributes(ctx, resource));
  const { allowed, reason, matched, conditional } = decision;
  const remedy = remedyFor(reason, matched, resource);
  const explained = { allowed, reason, matched, conditional, remedy };
  if (remedy === null) return { ...explained, helpers: [], hidden_helpers: 0, hidden_roles: [] };
  const { principals, hidden } = await allowedPrincipals(ctx, ports, remedy.action, remedy.resource);
  const roles = new Set(
    hidden.flatMap(({ because }) => because.flatMap(({ kind, name }) => (kind === 'role' ? [name] : []))),
  );
  return {
    ...explained,
    helpers: principals.filter(({ kind, id }) => kind === 'user' && id !== ctx.principal.id).slice(0, HELPERS_MAX),
    hidden_helpers: hidden.reduce((sum, { count }) => sum + count, 0),
    hidden_roles: ROLES.filter((role) => roles.has(role)),
  };
}

const OF_VAULT = /^vault\/[^/]+/;

/** What somebody else has to do: give a role in the vault, attach a policy, or change the policy that denies. */
function remedyFor(
  reason: string,
  matched: readonly MatchedStatement[],
  resource: string,
): { action: string; resource: string } | null {
  if (reason === 'no_match') {
    const [vault] = OF_VAULT.exec(resource) ?? [];
    // No policy has this name, so that it stands for all of them.
    return vault === undefined
      ? { action: 'policies:attach', resource: 'policy/*' }
      : { action: 'members:add', resource: vault };
  }
  const [deny] = matched;
  // The name of a built-in policy has a slash. Nobody can change those.
  if (reason !== 'explicit_deny' || deny === undefined || deny.policy.includes('/')) return null;
  return { action: 'policies:update', resource: `policy/${deny.policy}` };
}
