import { detailsText } from '../../kernel/audit/entry/entry.ts';
import { isAdminRole } from '../../kernel/authz/roles.ts';
import { HOUR_MS, timestamp } from '../../kernel/base/clock.ts';
import { CofferError } from '../../kernel/base/errors.ts';
import { newId } from '../../kernel/base/ids.ts';
import { type PendingApproval, type Proposal, ruleOf } from '../../kernel/endpoint/approval.ts';
import { NONE } from '../../kernel/endpoint/declaration.ts';
import { lockTenantRow } from '../../kernel/integrity/tenant-rows.ts';
import type { ApprovalQueue, ReportBreakGlass, StoreApproval } from '../../kernel/request/approval-queue.ts';
import type { Context } from '../../kernel/request/context.ts';
import { approvalNotice, noticesOf, type PreparedMail, queueMail, RECIPIENTS_MAX } from '../mail/index.ts';
import { findActiveUsers, listActiveAdmins, type UserRow } from '../users/storage/index.ts';
import { emitRequested } from './approval-events.ts';
import { adminsWithCredentials } from './approvers.ts';
import { breakGlassByOwner, mayEvictAlone } from './eviction.ts';
import { cancelEndedOf } from './expiry.ts';
import type { ApprovalPorts } from './ports.ts';
import { namesIn } from './request-names.ts';
import { shownRequest } from './shown-request.ts';
import * as store from './store.ts';
import { MAC_PURPOSE, macOf, PURPOSE, sealRequest, storedRequestOf } from './stored-request.ts';

export const APPROVAL_TTL_MS = 72 * HOUR_MS;
/** Maximum pending requests per tenant; nobody reads more than that. */
export const PENDING_MAX = 1000;
/** Maximum per requester, so that one person's requests cannot bury everybody else's. */
export const PENDING_BY_REQUESTER_MAX = 20;

/** Stores the requests that wait for approval. */
export class DatabaseApprovalQueue implements ApprovalQueue {
  readonly #ports: ApprovalPorts;

  constructor(ports: ApprovalPorts) {
    this.#ports = ports;
  }

  /**
   * Reads committed rows instead of using the transaction of the change. That transaction may be adding or removing the second admin, and neither may
   * decide whether there is one.
   */
  async isOnlyApprover(ctx: Context, { subject, takesFrom, ownerMayAct }: Proposal): Promise<boolean> {
    const { id, role } = ctx.principal;
    if (!isAdminRole(role)) return false;
    const admins = await adminsWithCredentials(ctx.database.read, ctx.tenantId, this.#ports);
    const others = admins.filter((admin) => admin !== id);
    if (takesFrom !== undefined && others.length > 0 && others.every((admin) => admin === takesFrom)) {
      // What an owner may do without waiting for others is told to everybody, also if there is nobody to wait for.
      return (await mayEvictAlone(ctx)) && ownerMayAct !== true;
    }
    // An admin who lost their second factor may be unable to approve its removal. The other admin alone is then enough, if they prove a factor of
    // their own.
    return others.length === 0 || (ctx.access.isFactorProven && others.every((admin) => admin === subject));
  }

  breakGlass(ctx: Context, proposal: Proposal): Promise<ReportBreakGlass | null> {
    return breakGlassByOwner(ctx, proposal);
  }

  fortressVaults(tenantId: string): Promise<readonly string[]> {
    return this.#ports.fortressVaults(tenantId);
  }

  async prepare(ctx: Context, proposal: Proposal): Promise<StoreApproval> {
    await cancelEndedOf(ctx.kernel, this.#ports, ctx.tenantId, ctx.principal.id);
    const sealingKey = await ctx.kernel.keyring.sealingKey(ctx.tenantId, PURPOSE);
    const macKey = await ctx.kernel.keyring.macKey(ctx.tenantId, MAC_PURPOSE);
    const row = newApproval(ctx, proposal);
    const stored = storedRequestOf(ctx, proposal);
    const request = shownRequest(ctx.declaration, stored);
    const names = await namesIn(ctx.database.read, ctx.tenantId, request);
    const sealed: store.ApprovalRow = {
      ...row,
      shown: JSON.stringify({ ...request, names }),
      input_mac: macOf(macKey, stored),
      sealed_input: sealRequest(sealingKey, row.approval_id, stored),
    };
    const mail = await noticesTo(ctx, row, this.#ports);
    return async (tx) => {
      // Concurrent requests cannot exceed the limit or store the same request twice.
      await lockTenantRow(tx, ctx.tenantId);
      const same = await store.findSame(tx, sealed, ctx.now);
      if (same === undefined) {
        refuseTooMany(await store.countPending(tx, ctx.tenantId, row.requester_id, ctx.now));
        await store.insertApproval(tx, sealed);
        await emitRequested(tx, row, ctx.now);
        await queueMail(tx, ...mail);
        await this.#ports.hooks[row.kind]?.requested?.(tx, ctx.tenantId, row);
      }
      ctx.record.describe({ approval_id: (same ?? row).approval_id });
      return toPending(same ?? row);
    };
  }
}

/** Mail to users who can approve, where the tenant wants that. */
async function noticesTo(ctx: Context, row: store.ApprovalFacts, ports: ApprovalPorts): Promise<PreparedMail[]> {
  const notices = await noticesOf(ctx.kernel, ctx.tenantId, 'approvals');
  if (notices === null) return [];
  const managers = await managersToNotify(ctx, row, ports);
  const admins = await listActiveAdmins(ctx.database.read, ctx.tenantId, RECIPIENTS_MAX);
  const isForAdmins = managers.length === 0 || ruleOf(row.kind).levels.includes('admin');
  const people = new Map([...managers, ...(isForAdmins ? admins : [])].map((user) => [user.user_id, user]));
  people.delete(row.requester_id);
  const others = [...people.values()].slice(0, RECIPIENTS_MAX);
  const summary = `${row.requester_name} asks for ${row.operation} on ${row.resource}.`;
  const { baseUrl } = ctx.kernel.addresses;
  return notices(others.map(({ email }) => approvalNotice(email, baseUrl, row.approval_id, summary)));
}

/** Managers of the vault who decide, other than the requester; none if an admin decides. */
async function managersToNotify(
  ctx: Context,
  { kind, resource, created_at, requester_id }: store.ApprovalFacts,
  { managersOf }: Pick<ApprovalPorts, 'managersOf'>,
): Promise<UserRow[]> {
  if (!ruleOf(kind).levels.some((level) => level !== 'admin')) return [];
  const { read } = ctx.database;
  // Changes of secrets are reviewed by managers of the vault, and by others whom only a decision about each of them could find.
  const vault = resource.split('/', 2).join('/');
  const [managers = []] = await managersOf(read, ctx.tenantId, [{ resource: vault, at: created_at }]);
  const others = managers.filter((id) => id !== requester_id).slice(0, RECIPIENTS_MAX);
  return findActiveUsers(read, ctx.tenantId, others);
}

function newApproval(ctx: Context, { takesFrom }: Proposal): store.ApprovalFacts {
  const { declaration, principal, now } = ctx;
  if (declaration.approval === NONE) throw new Error(`${declaration.name} is declared to need no approval`);
  return {
    tenant_id: ctx.tenantId,
    approval_id: newId('approval', now),
    kind: declaration.approval,
    operation: declaration.name,
    resource: ctx.record.resource,
    details: detailsText(ctx.record.details ?? {}),
    status: 'pending',
    requester_id: principal.id,
    requester_name: principal.name,
    requester_credential_id: principal.credentialId,
    self_approved: 0,
    failure_code: '',
    failure_message: '',
    created_at: now,
    expires_at: now + APPROVAL_TTL_MS,
    decided_at: null,
    single_approver: null,
    cancel_reason: null,
    takes_from: takesFrom ?? null,
    failure_details: null,
  };
}

function toPending(row: store.ApprovalFacts): PendingApproval {
  return {
    status: 'pending_approval',
    approval_id: row.approval_id,
    approval: row.kind,
    resource: row.resource,
    expires_at: timestamp(row.expires_at),
  };
}

function refuseTooMany({ inTenant, ofRequester }: store.Waiting): void {
  if (ofRequester >= PENDING_BY_REQUESTER_MAX) {
    const message = `${PENDING_BY_REQUESTER_MAX} of your requests are waiting for approval: have some of them decided, or withdraw some with POST /approvals/<id>/reject.`;
    throw new CofferError('IN_USE', message);
  }
  if (inTenant < PENDING_MAX) return;
  throw new CofferError('IN_USE', `${PENDING_MAX} requests are waiting for approval: have some of them decided first.`);
}
