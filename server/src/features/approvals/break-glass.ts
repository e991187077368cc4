import { systemEntry } from '../../kernel/audit/entry/system-entry.ts';
import { CofferError, notFound } from '../../kernel/base/errors.ts';
import { newId } from '../../kernel/base/ids.ts';
import { ruleOf } from '../../kernel/endpoint/approval.ts';
import { ApprovedRequest } from '../../kernel/request/approved-request.ts';
import type { Kernel } from '../../kernel/request/kernel.ts';
import type { Reader, Tx } from '../../kernel/storage/database.ts';
import { raiseEpoch } from '../../kernel/storage/epochs.ts';
import { emitBreakGlass } from './approval-events.ts';
import { type BreakGlassAction, type BreakGlassUse, insertUse } from './break-glass-store.ts';
import { endedRequests } from './ended-requests.ts';
import type { ApprovalPorts } from './ports.ts';
import * as store from './store.ts';
import { callOf, openRequest, requesterNow, requesterOf } from './stored-request.ts';

/** The name of an operator who decided on the machine itself, in the audit log and in approvals. */
const OPERATOR = 'operator';
const REASON = 'break-glass';

/** An operator's action that bypasses a tenant's approvals. */
export interface BreakGlass {
  tenantId: string;
  action: BreakGlassAction;
  resource: string;
  details: Record<string, unknown>;
}

/**
 * Runs the action in one transaction with an entry in the tenant's own audit log and a row that is shown to every admin.
 */
export async function breakGlass(
  kernel: Pick<Kernel, 'audit' | 'clock' | 'database'>,
  use: BreakGlass,
  act: (tx: Tx) => Promise<void>,
): Promise<void> {
  const { tenantId, action, resource, details } = use;
  const now = kernel.clock.now();
  const headKey = await kernel.audit.headKey(tenantId);
  const entry = systemEntry({
    tenantId,
    actorId: OPERATOR,
    action: `break_glass:${action}`,
    resource,
    status: 200,
    details,
    now,
  });
  await kernel.database.transaction(async (tx) => {
    await act(tx);
    await recordUse(tx, { tenant_id: tenantId, action, resource, at: now });
    await kernel.audit.recordIn(tx, [entry], headKey);
  });
}

/** Stores the use, which every admin of the tenant is shown, and emits its event. The list is cached by epoch, so the epoch is raised. */
export async function recordUse(tx: Tx, use: Omit<BreakGlassUse, 'use_id'>): Promise<void> {
  await insertUse(tx, { ...use, use_id: newId('audit', use.at) });
  await emitBreakGlass(tx, use);
  await raiseEpoch(tx, use.tenant_id);
}

/**
 * Completes a pending approval in place of everyone who still had to decide. The stored request is executed unchanged, on behalf of its requester.
 */
export async function approveByOperator(kernel: Kernel, ports: ApprovalPorts, approvalId: string): Promise<void> {
  const row = await findPending(kernel, approvalId);
  const { tenant_id: tenantId } = row;
  const stored = await openRequest(kernel, row);
  const endpoint = ports.endpoint(row.operation);
  if (endpoint === undefined) throw new Error(`no endpoint is called ${row.operation}`);
  const requester = (db: Reader) => requesterNow(kernel, row, stored, db);
  const within = (act: (tx: Tx) => Promise<void>) =>
    breakGlass(kernel, useOf(row, 'approve'), async (tx) => {
      const locked = await lockPending(tx, row);
      await act(tx);
      await store.insertDecisions(tx, await remainingDecisions(kernel, tx, locked));
      await store.settle(tx, locked, { status: 'completed', decided_at: kernel.clock.now() });
    });
  const grant = { approvalId, approvedBy: OPERATOR, proposal: stored };
  const around = { tenantId, fortressVaults: ports.fortressVaults, within, requester };
  const call = callOf(stored, endpoint.declaration.method, newId('req'));
  const operation = new ApprovedRequest(kernel, { endpoint, call, requester: requesterOf(row), grant, around });
  const epoch = await kernel.epochs.current(tenantId);
  await operation.authenticate(kernel.database.read, epoch ?? Number.NaN);
  await operation.run();
}

export async function cancelByOperator(
  kernel: Pick<Kernel, 'audit' | 'clock' | 'database'>,
  ports: ApprovalPorts,
  approvalId: string,
): Promise<void> {
  const row = await findPending(kernel, approvalId);
  await breakGlass(kernel, useOf(row, 'cancel'), async (tx) => {
    const locked = await lockPending(tx, row);
    await store.settle(tx, locked, {
      status: 'cancelled',
      cancel_reason: 'operator',
      decided_at: kernel.clock.now(),
    });
    await ports.hooks[locked.kind]?.released?.(tx, locked.tenant_id, locked);
  });
}

function useOf(row: store.ApprovalRow, action: 'approve' | 'cancel'): BreakGlass {
  const { tenant_id, approval_id, kind, operation, resource, requester_id } = row;
  const details = { kind, operation, resource, requested_by: requester_id };
  return { tenantId: tenant_id, action, resource: `approval/${approval_id}`, details };
}

async function findPending(kernel: Pick<Kernel, 'clock' | 'database'>, approvalId: string): Promise<store.ApprovalRow> {
  const { read } = kernel.database;
  const tenantId = await store.tenantOf(read, approvalId);
  const row = tenantId === undefined ? undefined : await store.findWhole(read, tenantId, approvalId);
  if (row === undefined) throw notFound('approval');
  const ended = await endedRequests(read, row.tenant_id, [row]);
  if (row.status !== 'pending' || row.expires_at <= kernel.clock.now() || ended.size > 0) throw notPending();
  return row;
}

async function lockPending(tx: Tx, row: store.ApprovalRow): Promise<store.ApprovalFacts> {
  const locked = await store.lockApproval(tx, row.tenant_id, row.approval_id);
  if (locked?.status !== 'pending') throw notPending();
  return locked;
}

function notPending(): CofferError {
  return new CofferError(
    'VERSION_CONFLICT',
    'This approval is no longer pending: it was decided, cancelled or expired.',
  );
}

/** One decision for each level that is still undecided. */
async function remainingDecisions(
  kernel: Pick<Kernel, 'clock'>,
  tx: Tx,
  row: store.ApprovalFacts,
): Promise<store.DecisionRow[]> {
  const { tenant_id, approval_id, kind } = row;
  const made = await store.decisionsOn(tx, tenant_id, [approval_id]);
  const decided = { approver_id: OPERATOR, approver_name: OPERATOR, decision: 'approved', reason: REASON } as const;
  return ruleOf(kind)
    .levels.map((level, level_index) => ({
      tenant_id,
      approval_id,
      level_index,
      level,
      ...decided,
      decided_at: kernel.clock.now(),
    }))
    .slice(made.length);
}
