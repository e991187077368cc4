import type { CancelReason } from '../../kernel/approval.ts';
import type { Reader } from '../../kernel/storage/database.ts';
import { usableTokens } from '../tokens/index.ts';
import { findActiveUsers } from '../users/index.ts';
import type { ApprovalFacts } from './store.ts';

/**
 * Which of these requests are cancelled, and why: who asked is no longer there, or the token or session they asked with was revoked since.
 * A revocation does not look for requests: each is asked about whenever it is listed or decided, so none slips past, on whichever node.
 */
export async function endedRequests(
  db: Reader,
  tenantId: string,
  rows: readonly ApprovalFacts[],
): Promise<Map<string, CancelReason>> {
  const waiting = rows.filter((row) => row.status === 'pending' && isPerson(row));
  if (waiting.length === 0) return new Map();
  const ids = (of: (row: ApprovalFacts) => string) => [...new Set(waiting.map(of))];
  const users = await findActiveUsers(
    db,
    tenantId,
    ids((row) => row.requester_id),
  );
  const active = new Set(users.map((user) => user.user_id));
  const tokens = await usableTokens(
    db,
    tenantId,
    ids((row) => row.requester_credential_id),
    users,
  );
  const ended = new Map<string, CancelReason>();
  for (const row of waiting) {
    if (!active.has(row.requester_id)) ended.set(row.approval_id, 'account_ended');
    else if (!tokens.has(row.requester_credential_id)) ended.set(row.approval_id, 'credential_revoked');
  }
  return ended;
}

/** A machine has no account and no token here: whether it may still ask is decided when it is carried out. */
function isPerson({ requester_id }: ApprovalFacts): boolean {
  return requester_id.startsWith('user_');
}
