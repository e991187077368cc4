import { ruleOf } from '../../kernel/approval.ts';
import { isAdminRole } from '../../kernel/authz/roles.ts';
import type { Context } from '../../kernel/context.ts';
import type { Reader } from '../../kernel/storage/database.ts';
import { holdersAmong } from '../tokens/index.ts';
import { findActiveUsers, listActiveAdmins, type UserRow } from '../users/index.ts';
import type { Standing } from './levels.ts';
import type { ApprovalPorts } from './ports.ts';
import type { ApprovalFacts, DecisionRow } from './store.ts';

/** No more than this are needed to find an admin who could decide. */
const ADMINS_MAX = 1000;

/** Ids of the active owners and admins who are able to act. */
export async function actingAdmins(db: Reader, tenantId: string): Promise<string[]> {
  return acting(db, tenantId, await listActiveAdmins(db, tenantId, ADMINS_MAX));
}

/**
 * Accounts that never had a password or a token do not count. Otherwise a tenant's first admin who adds a second one without a password could change
 * nothing from then on, not even that.
 */
async function acting(db: Reader, tenantId: string, users: readonly UserRow[]): Promise<string[]> {
  const without = users.filter((row) => row.password_hash === '').map((row) => row.user_id);
  const holders = new Set(await holdersAmong(db, tenantId, without));
  return users.filter((row) => row.password_hash !== '' || holders.has(row.user_id)).map((row) => row.user_id);
}

/** Uses everybody's current roles: a role that was revoked a moment ago no longer counts. */
export async function standingOf(
  db: Reader,
  approval: ApprovalFacts,
  decisions: readonly DecisionRow[],
  ports: ApprovalPorts,
): Promise<Standing> {
  const { tenant_id: tenantId, resource, created_at, requester_id } = approval;
  const managers = isForManagers(approval) ? await ports.managersOf(db, tenantId, resource, created_at) : [];
  return {
    levels: ruleOf(approval.kind).levels,
    requesterId: requester_id,
    approvedBy: decisions.map((row) => row.approver_id),
    admins: await actingAdmins(db, tenantId),
    managers: await acting(db, tenantId, await findActiveUsers(db, tenantId, managers)),
  };
}

/** Returns which approvals the caller may see. Call it before looking one up, so that response time does not reveal whether the approval exists. */
export async function sightOf(ctx: Context, ports: ApprovalPorts): Promise<(approval: ApprovalFacts) => boolean> {
  const { id, role } = ctx.principal;
  if (isAdminRole(role) || role === 'auditor') return () => true;
  const isManaged = await ports.managedBy(ctx.database.read, ctx.tenantId, id);
  return (approval) =>
    approval.requester_id === id || (isForManagers(approval) && isManaged(approval.resource, approval.created_at));
}

function isForManagers({ kind }: ApprovalFacts): boolean {
  return ruleOf(kind).levels.includes('vault_manager');
}
