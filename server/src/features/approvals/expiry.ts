import { systemEntry } from '../../kernel/audit/entry/system-entry.ts';
import type { Kernel } from '../../kernel/request/kernel.ts';
import type { Cutoff } from '../../kernel/time/cutoff.ts';
import { endedRequests } from './ended-requests.ts';
import type { ApprovalPorts } from './ports.ts';
import * as store from './store.ts';

const BATCH = 100;

/**
 * Marks overdue requests as expired and releases the resources that they hold. Until this runs, an overdue approval is already refused and shown as
 * expired, because its expiry time is compared.
 */
export async function expireOverdue(
  kernel: Pick<Kernel, 'audit' | 'clock' | 'database'>,
  ports: ApprovalPorts,
  cutoff: Cutoff,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    const overdue = await store.findOverdue(kernel.database.read, cutoff, BATCH);
    const failures: unknown[] = [];
    for (const { tenant_id, approval_id } of overdue) {
      if (signal.aborted) return;
      // One approval that cannot be ended must not keep those of other tenants waiting.
      await end(kernel, ports, { tenantId: tenant_id, approvalId: approval_id }, expiry(cutoff)).catch((error) =>
        failures.push(error),
      );
    }
    if (failures.length > 0) throw failures[0];
    if (overdue.length < BATCH) return;
  }
}

/**
 * Stores the cancellation of requests whose requester was deleted or disabled, or whose token was revoked. Readers see them as cancelled even before
 * this job runs.
 */
export async function cancelEnded(
  kernel: Pick<Kernel, 'audit' | 'clock' | 'database'>,
  ports: ApprovalPorts,
  signal: AbortSignal,
): Promise<void> {
  const failures: unknown[] = [];
  for (let after: readonly [string, string] = ['', '']; ; ) {
    const waiting = await store.pendingAfter(kernel.database.read, after, BATCH);
    for (const [tenantId, rows] of Map.groupBy(waiting, (row) => row.tenant_id)) {
      const ended = await endedRequests(kernel.database.read, tenantId, rows);
      for (const approvalId of ended.keys()) {
        if (signal.aborted) return;
        await end(kernel, ports, { tenantId, approvalId }, CANCELLATION).catch((error) => failures.push(error));
      }
    }
    const last = waiting.at(-1);
    if (last === undefined || waiting.length < BATCH) break;
    after = [last.tenant_id, last.approval_id];
  }
  if (failures.length > 0) throw failures[0];
}

/**
 * Does the same for one requester before they make a new request. Otherwise ended requests would use up their share of the queue, be taken for the
 * new request, or still hold the resource.
 */
export async function cancelEndedOf(
  kernel: Pick<Kernel, 'audit' | 'clock' | 'database'>,
  ports: ApprovalPorts,
  tenantId: string,
  requesterId: string,
): Promise<void> {
  const { read } = kernel.database.forTenant(tenantId);
  const waiting = await store.pendingOf(read, tenantId, requesterId, BATCH);
  const ended = await endedRequests(read, tenantId, waiting);
  for (const approvalId of ended.keys()) await end(kernel, ports, { tenantId, approvalId }, CANCELLATION);
}

interface Ending {
  job: `job:${string}`;
  action: string;
  /** Evaluated again while the row is locked; null leaves the approval pending. */
  outcome(
    tx: Parameters<typeof store.settle>[0],
    row: store.ApprovalFacts,
  ): Promise<Parameters<typeof store.settle>[2] | null>;
}

const expiry = (cutoff: Cutoff): Ending => ({
  job: 'job:expire-approvals',
  action: 'approvals:expire',
  outcome: async (_, row) => (row.expires_at > cutoff ? null : { status: 'expired' }),
});

const CANCELLATION: Ending = {
  job: 'job:cancel-ended-requests',
  action: 'approvals:cancel',
  outcome: async (tx, row) => {
    const cancel_reason = (await endedRequests(tx, row.tenant_id, [row])).get(row.approval_id);
    return cancel_reason === undefined ? null : { status: 'cancelled', cancel_reason };
  },
};

async function end(
  kernel: Pick<Kernel, 'audit' | 'clock' | 'database'>,
  ports: ApprovalPorts,
  { tenantId, approvalId }: { tenantId: string; approvalId: string },
  { job, action, outcome }: Ending,
): Promise<void> {
  const headKey = await kernel.audit.headKey(tenantId);
  await kernel.database.forTenant(tenantId).transaction(async (tx) => {
    const row = await store.lockApproval(tx, tenantId, approvalId);
    if (row?.status !== 'pending') return;
    const settled = await outcome(tx, row);
    if (settled === null) return;
    await store.settle(tx, row, settled);
    await ports.hooks[row.kind]?.released?.(tx, tenantId, row);
    const { kind, operation, resource, requester_id: requested_by } = row;
    const because = settled.cancel_reason;
    const entry = systemEntry({
      tenantId,
      actorId: job,
      action,
      resource: `approval/${approvalId}`,
      status: 200,
      details: { kind, operation, resource, requested_by, ...(because && { because }) },
      now: kernel.clock.now(),
    });
    await kernel.audit.recordIn(tx, [entry], headKey);
  });
}
