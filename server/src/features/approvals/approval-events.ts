import type { Tx } from '../../kernel/storage/database.ts';
import { emit } from '../webhooks/index.ts';
import type { BreakGlassUse } from './break-glass-store.ts';
import type { ApprovalFacts } from './store.ts';

export async function emitRequested(tx: Tx, row: ApprovalFacts, now: number): Promise<void> {
  await emit(
    tx,
    row.tenant_id,
    {
      event: 'approval.requested',
      object: objectOf(row, 'pending'),
      summary: `${row.operation} on ${row.resource} waits for approval.`,
      dedupKey: row.approval_id,
    },
    now,
  );
}

/** A request that was approved and then could not be carried out is told too, as failed. */
export async function emitDecided(
  tx: Tx,
  row: ApprovalFacts,
  status: 'completed' | 'failed' | 'rejected',
  now: number,
): Promise<void> {
  const outcome = { completed: 'approved', failed: 'approved, and failed', rejected: 'rejected' }[status];
  await emit(
    tx,
    row.tenant_id,
    {
      event: 'approval.decided',
      object: objectOf(row, status),
      summary: `${row.operation} on ${row.resource} was ${outcome}.`,
      dedupKey: row.approval_id,
    },
    now,
  );
}

/** Somebody acted past the approvals of a tenant, or signed in past its identity provider. */
export async function emitBreakGlass(
  tx: Tx,
  { tenant_id, action, resource, at }: Omit<BreakGlassUse, 'use_id'>,
): Promise<void> {
  const summary = `Break-glass was used: ${action} on ${resource}.`;
  const dedupKey = `${action} ${resource} ${at}`;
  await emit(tx, tenant_id, { event: 'break_glass.used', object: { action, resource }, summary, dedupKey }, at);
}

function objectOf({ approval_id, kind, operation, resource, requester_id }: ApprovalFacts, status: string) {
  return { id: approval_id, kind, operation, resource, requested_by: requester_id, status };
}
