import { systemEntry } from '../../kernel/audit/system-entry.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import type { Cutoff } from '../../kernel/time/cutoff.ts';
import type { ApprovalPorts } from './ports.ts';
import * as store from './store.ts';

const BATCH = 100;

/**
 * Marks what nobody decided in time, and frees what waited for it. Until it runs such an approval is refused and shown as expired all the
 * same, by its time.
 */
export async function expireOverdue(
  kernel: Kernel,
  ports: ApprovalPorts,
  cutoff: Cutoff,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    const overdue = await store.findOverdue(kernel.database.read, cutoff, BATCH);
    const failures: unknown[] = [];
    for (const { tenant_id, approval_id } of overdue) {
      if (signal.aborted) return;
      // One that cannot be ended must not keep those of other tenants waiting.
      await expire(kernel, ports, tenant_id, approval_id, cutoff).catch((error) => failures.push(error));
    }
    if (failures.length > 0) throw failures[0];
    if (overdue.length < BATCH) return;
  }
}

async function expire(
  kernel: Kernel,
  ports: ApprovalPorts,
  tenantId: string,
  approvalId: string,
  cutoff: Cutoff,
): Promise<void> {
  const headKey = await kernel.audit.headKey(tenantId);
  await kernel.database.forTenant(tenantId).transaction(async (tx) => {
    const row = await store.lockApproval(tx, tenantId, approvalId);
    if (row?.status !== 'pending' || row.expires_at > cutoff) return;
    await store.settle(tx, row, { status: 'expired' });
    await ports.hooks[row.kind]?.released?.(tx, tenantId, row);
    const entry = systemEntry({
      tenantId,
      actorId: 'job:expire-approvals',
      action: 'approvals:expire',
      resource: `approval/${approvalId}`,
      status: 200,
      details: { kind: row.kind, operation: row.operation, resource: row.resource, requested_by: row.requester_id },
      now: kernel.clock.now(),
    });
    await kernel.audit.recordIn(tx, [entry], headKey);
  });
}
