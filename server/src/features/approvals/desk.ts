import type { ApprovalDesk, Basis, PendingApproval, StoreApproval } from '../../kernel/approval.ts';
import { detailsText } from '../../kernel/audit/entry.ts';
import { isAdminRole } from '../../kernel/authz/roles.ts';
import { HOUR_MS, timestamp } from '../../kernel/clock.ts';
import type { Context } from '../../kernel/context.ts';
import { NONE } from '../../kernel/endpoint.ts';
import { CofferError } from '../../kernel/errors.ts';
import { newId } from '../../kernel/ids.ts';
import { actingAdmins } from './approvers.ts';
import { MAC_PURPOSE, macOf, orderOf, PURPOSE, sealOrder } from './order.ts';
import type { ApprovalPorts } from './ports.ts';
import * as store from './store.ts';

export const APPROVAL_TTL_MS = 72 * HOUR_MS;
/** In a tenant, at a time: beyond it nobody reads them any more. */
export const PENDING_MAX = 1000;

/** Where requests are left that must wait. */
export class Desk implements ApprovalDesk {
  readonly #ports: ApprovalPorts;

  constructor(ports: ApprovalPorts) {
    this.#ports = ports;
  }

  /**
   * Read as it is committed, not in the transaction of the change: that one may be adding the second admin, or taking the second one
   * away, and neither may decide whether there is one.
   */
  async standsAlone(ctx: Context): Promise<boolean> {
    const { id, role } = ctx.principal;
    if (!isAdminRole(role)) return false;
    return (await actingAdmins(ctx.database.read, ctx.tenantId)).every((admin) => admin === id);
  }

  async prepare(ctx: Context, basis: Basis): Promise<StoreApproval> {
    const sealingKey = await ctx.kernel.keyring.sealingKey(ctx.tenantId, PURPOSE);
    const macKey = await ctx.kernel.keyring.macKey(ctx.tenantId, MAC_PURPOSE);
    const row = newApproval(ctx);
    const order = orderOf(ctx, basis);
    const sealed: store.ApprovalRow = {
      ...row,
      requester_credential_id: ctx.principal.credentialId,
      input_mac: macOf(macKey, order),
      sealed_input: sealOrder(sealingKey, row.approval_id, order),
    };
    return async (tx) => {
      await store.lockTenant(tx, ctx.tenantId);
      const same = await store.findSame(tx, sealed, ctx.now);
      if (same === undefined) {
        if ((await store.countPending(tx, ctx.tenantId, ctx.now)) >= PENDING_MAX) throw tooMany();
        await store.insertApproval(tx, sealed);
        await this.#ports.hooks[row.kind]?.requested?.(tx, ctx.tenantId, row);
      }
      ctx.describe({ approval_id: (same ?? row).approval_id });
      return toPending(same ?? row);
    };
  }
}

function newApproval(ctx: Context): store.ApprovalFacts {
  const { declaration, principal, now } = ctx;
  if (declaration.approval === NONE) throw new Error(`${declaration.name} is declared to need no approval`);
  return {
    tenant_id: ctx.tenantId,
    approval_id: newId('approval', now),
    kind: declaration.approval,
    operation: declaration.name,
    resource: ctx.resource,
    details: detailsText(ctx.details ?? {}),
    status: 'pending',
    requester_id: principal.id,
    requester_name: principal.name,
    self_approved: 0,
    failure_code: '',
    failure_message: '',
    created_at: now,
    expires_at: now + APPROVAL_TTL_MS,
    decided_at: null,
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

function tooMany(): CofferError {
  return new CofferError(
    'IN_USE',
    `${PENDING_MAX} requests wait for approval already: have some of them decided first.`,
  );
}
