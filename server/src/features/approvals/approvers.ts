import { vaultResource } from '../../kernel/authz/pattern.ts';
import { isAdminRole } from '../../kernel/authz/roles.ts';
import { vaultRoleIn } from '../../kernel/authz/vault-roles.ts';
import { ruleOf } from '../../kernel/endpoint/approval.ts';
import type { Context } from '../../kernel/request/context.ts';
import type { Reader } from '../../kernel/storage/database.ts';
import { usersWithFactor } from '../mfa/factors/index.ts';
import { usersWithTokens } from '../tokens/storage/index.ts';
import { findActiveUsers, listActiveAdmins, listActiveOwners, type UserRow } from '../users/storage/index.ts';
import type { ApprovalState } from './levels.ts';
import type { ApprovalPorts } from './ports.ts';
import type { ApprovalFacts, DecisionRow } from './store.ts';

/** Limits the query, which only has to find some admins who can decide. */
const ADMINS_MAX = 1000;

/** Ids of the active owners and admins who have had a password, a passkey or a token, or whom a provider signs in. */
export async function adminsWithCredentials(db: Reader, tenantId: string, ports: SignOn): Promise<string[]> {
  return withCredentials(db, tenantId, await listActiveAdmins(db, tenantId, ADMINS_MAX), ports);
}
type SignOn = Pick<ApprovalPorts, 'usersWithSignOn'>;

/**
 * Accounts that never had a password, a passkey or a token, and whom no provider signs in, do not count as approvers. Otherwise the only admin of a tenant who adds a second one without a
 * password would need the approval of somebody who cannot log in, even to remove that account.
 */
async function withCredentials(
  db: Reader,
  tenantId: string,
  users: readonly UserRow[],
  { usersWithSignOn }: SignOn,
): Promise<string[]> {
  const withoutPassword = users.filter((row) => row.password_hash === '').map((row) => row.user_id);
  const withFactor = await usersWithFactor(db, tenantId, withoutPassword);
  const withToken = await usersWithTokens(db, tenantId, withoutPassword);
  // Sessions are deleted a while after they ended, and the person still signs in.
  const withSignOn = await usersWithSignOn(db, tenantId, withoutPassword);
  const holders = new Set([...withFactor, ...withToken, ...withSignOn]);
  return users.filter((row) => row.password_hash !== '' || holders.has(row.user_id)).map((row) => row.user_id);
}

/** An approval with the decisions on it so far. */
export interface DecidedSoFar {
  row: ApprovalFacts;
  decisions: readonly DecisionRow[];
  /** The caller, if they may review the change. */
  reviewers?: readonly string[];
}

/** Uses everybody's current roles: a role that was revoked a moment ago no longer counts. */
export async function approvalStateOf(
  db: Reader,
  approval: DecidedSoFar,
  ports: ApprovalPorts,
): Promise<ApprovalState> {
  const { tenant_id, approval_id } = approval.row;
  const state = (await approvalStatesOf(db, tenant_id, [approval], ports)).get(approval_id);
  if (state === undefined) throw new Error('an approval has a state');
  return state;
}

/** The same for several approvals of a tenant, by their ids. The number of queries does not depend on how many they are. */
export async function approvalStatesOf(
  db: Reader,
  tenantId: string,
  approvals: readonly DecidedSoFar[],
  ports: ApprovalPorts,
): Promise<Map<string, ApprovalState>> {
  if (approvals.length === 0) return new Map();
  const admins = await adminsWithCredentials(db, tenantId, ports);
  const isForOwners = approvals.some(({ row }) => ruleOf(row.kind).needsOwnerForOwner === true);
  const owners = isForOwners ? await ownersWithCredentials(db, tenantId, ports) : [];
  const forManagers = approvals.map(({ row }) => row).filter(isForManagers);
  const managers = await managersWithCredentials(db, tenantId, forManagers, ports);
  const stateOf = ({ row, decisions, reviewers = [] }: DecidedSoFar): ApprovalState => ({
    reviewers,
    levels: ruleOf(row.kind).levels,
    requesterId: row.requester_id,
    approvedBy: decisions.map(({ approver_id }) => approver_id),
    admins: admins.filter((id) => id !== row.takes_from),
    owners: ownersNeeded(row, owners),
    managers: managers.get(row.approval_id) ?? [],
  });
  return new Map(approvals.map((approval) => [approval.row.approval_id, stateOf(approval)]));
}

async function ownersWithCredentials(db: Reader, tenantId: string, ports: SignOn): Promise<string[]> {
  return withCredentials(db, tenantId, await listActiveOwners(db, tenantId, ADMINS_MAX), ports);
}

async function managersWithCredentials(
  db: Reader,
  tenantId: string,
  approvals: readonly ApprovalFacts[],
  ports: ApprovalPorts,
): Promise<Map<string, string[]>> {
  if (approvals.length === 0) return new Map();
  const requests = approvals.map(({ resource, created_at }) => ({ resource, at: created_at }));
  const managers = await ports.managersOf(db, tenantId, requests);
  const users = await findActiveUsers(db, tenantId, [...new Set(managers.flat())]);
  const able = new Set(await withCredentials(db, tenantId, users, ports));
  return new Map(
    approvals.map(({ approval_id }, i) => [approval_id, (managers[i] ?? []).filter((id) => able.has(id))]),
  );
}

/** The owners one of whom must approve: the others, if an owner asks for something that an admin could not do to an owner. */
function ownersNeeded({ kind, requester_id }: ApprovalFacts, owners: readonly string[]): readonly string[] {
  if (ruleOf(kind).needsOwnerForOwner !== true || !owners.includes(requester_id)) return [];
  return owners.filter((owner) => owner !== requester_id);
}

/**
 * Returns a predicate for the approvals that the caller may see. Call it before loading an approval, so that the response time does not reveal
 * whether it exists.
 */
export async function visibilityFilter(
  ctx: Context,
  ports: ApprovalPorts,
): Promise<(approval: ApprovalFacts) => boolean> {
  const { id, role } = ctx.principal;
  if (isAdminRole(role) || role === 'auditor') return () => true;
  const isManaged = await ports.managedBy(ctx.database.read, ctx.tenantId, id);
  const isReviewed = await reviewFilter(ctx, ports);
  return (approval) =>
    approval.requester_id === id ||
    (isForManagers(approval) && isManaged(approval.resource, approval.created_at)) ||
    isReviewed(approval);
}

/**
 * Returns a predicate for the changes of secrets that the caller may review. Somebody who manages the vault reviews only what was requested since:
 * otherwise the requester could make an accomplice manager to approve it. What gives the right in other ways takes two people.
 */
export async function reviewFilter(
  ctx: Context,
  { managedBy }: Pick<ApprovalPorts, 'managedBy'>,
): Promise<(approval: ApprovalFacts) => boolean> {
  const { id, role, policies } = ctx.principal;
  const isManaged = await managedBy(ctx.database.read, ctx.tenantId, id);
  return ({ kind, requester_id, resource, created_at, details }) => {
    const [, vault] = /^vault\/([^/]+)/.exec(resource) ?? [];
    if (!ruleOf(kind).levels.includes('reviewer') || requester_id === id || vault === undefined) return false;
    const places = placesIn(vault, resource, details);
    const isAllowed = ([place, environment]: Place) => ctx.access.may('secrets:review', place, { environment });
    if (places.length === 0 || !places.every(isAllowed)) return false;
    const isByMembership = !isAdminRole(role) && vaultRoleIn(policies, vault) === 'manager';
    return !isByMembership || isManaged(vaultResource(vault), created_at);
  };
}

/** A secret that is changed, or where one goes, and its environment. */
type Place = readonly [resource: string, environment: string];

/** The secrets that a waiting request would change, with their environments. */
export function reviewedPlaces({ resource, details }: Pick<ApprovalFacts, 'resource' | 'details'>): readonly Place[] {
  const [, vault = ''] = /^vault\/([^/]+)/.exec(resource) ?? [];
  return placesIn(vault, resource, details);
}

/** Details that were too long are cut, and then do not say where secrets are: there is no place, and nobody reviews the request. */
function placesIn(vault: string, resource: string, details: string): readonly Place[] {
  const { environment, to, places = {} } = JSON.parse(details) as ReviewedDetails;
  const several = Object.entries(places).flatMap(([each, paths]) =>
    paths.map((path): Place => [vaultResource(vault, path), each]),
  );
  if (several.length > 0 || environment === undefined) return several;
  return to === undefined
    ? [[resource, environment]]
    : [
        [resource, environment],
        [to, environment],
      ];
}

interface ReviewedDetails {
  environment?: string;
  to?: string;
  /** Of several changes: the paths in each environment. */
  places?: Record<string, string[]>;
}

function isForManagers({ kind }: ApprovalFacts): boolean {
  return ruleOf(kind).levels.includes('vault_manager');
}
