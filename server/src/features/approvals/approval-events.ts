import type { Tx } from '../../kernel/storage/database.ts';
import { emit } from '../webhooks/index.ts';
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

function objectOf({ approval_id, kind, operation, resource, requester_id }: ApprovalFacts, status: string) {
  return { id: approval_id, kind, operation, resource, requested_by: requester_id, status };
}
