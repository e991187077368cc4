import { isAdminRole } from '../../kernel/authz/roles.ts';
import { ruleOf } from '../../kernel/request/approval.ts';
import type { Context } from '../../kernel/request/context.ts';
import type { Reader } from '../../kernel/storage/database.ts';
import { usersWithFactor } from '../mfa/index.ts';
import { usersWithTokens } from '../tokens/index.ts';
import { findActiveUsers, listActiveAdmins, listActiveOwners, type UserRow } from '../users/index.ts';
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
  // Sessions are forgotten a while after they ended, and the person still signs in.
  const withSignOn = await usersWithSignOn(db, tenantId, withoutPassword);
  const holders = new Set([...withFactor, ...withToken, ...withSignOn]);
  return users.filter((row) => row.password_hash !== '' || holders.has(row.user_id)).map((row) => row.user_id);
}

/** Uses everybody's current roles: a role that was revoked a moment ago no longer counts. */
export async function approvalStateOf(
  db: Reader,
  approval: ApprovalFacts,
  decisions: readonly DecisionRow[],
  ports: ApprovalPorts,
): Promise<ApprovalState> {
  const { tenant_id: tenantId, resource, created_at, requester_id } = approval;
  const managers = isForManagers(approval) ? await ports.managersOf(db, tenantId, resource, created_at) : [];
  return {
    levels: ruleOf(approval.kind).levels,
    requesterId: requester_id,
    approvedBy: decisions.map((row) => row.approver_id),
    admins: await adminsWithCredentials(db, tenantId, ports),
    owners: await ownersNeeded(db, approval, ports),
    managers: await withCredentials(db, tenantId, await findActiveUsers(db, tenantId, managers), ports),
  };
}

/** The owners one of whom must approve: the others, if an owner asks for something that an admin could not do to an owner. */
async function ownersNeeded(
  db: Reader,
  { tenant_id, kind, requester_id }: ApprovalFacts,
  ports: SignOn,
): Promise<string[]> {
  if (ruleOf(kind).needsOwnerForOwner !== true) return [];
  const owners = await withCredentials(db, tenant_id, await listActiveOwners(db, tenant_id, ADMINS_MAX), ports);
  return owners.includes(requester_id) ? owners.filter((owner) => owner !== requester_id) : [];
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
  return (approval) =>
    approval.requester_id === id || (isForManagers(approval) && isManaged(approval.resource, approval.created_at));
}

function isForManagers({ kind }: ApprovalFacts): boolean {
  return ruleOf(kind).levels.includes('vault_manager');
}
