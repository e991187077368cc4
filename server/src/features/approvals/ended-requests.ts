import { type CancelReason, ruleOf } from '../../kernel/endpoint/approval.ts';
import type { Reader } from '../../kernel/storage/database.ts';
import { findConnectionToken } from '../app-connections/login/index.ts';
import { findByClient } from '../app-connections/storage/index.ts';
import { tokensOfThisGeneration } from '../tokens/storage/index.ts';
import { findActiveUsers } from '../users/storage/index.ts';
import type { ApprovalFacts } from './store.ts';
import { isPerson } from './stored-request.ts';

/**
 * Returns which of these requests are cancelled, and why: the requester was deleted or disabled, or the credential they used was revoked or replaced
 * since. A revocation does not search for requests. Each request is checked whenever it is listed or decided, so none is missed, on any node.
 */
export async function endedRequests(
  db: Reader,
  tenantId: string,
  rows: readonly ApprovalFacts[],
): Promise<Map<string, CancelReason>> {
  const waiting = rows.filter((row) => row.status === 'pending');
  const ended = await endedOfPeople(db, tenantId, waiting.filter(isPerson));
  for (const row of waiting) {
    const reason = isPerson(row) ? null : await endedOfMachine(db, row);
    if (reason !== null) ended.set(row.approval_id, reason);
  }
  return ended;
}

async function endedOfPeople(
  db: Reader,
  tenantId: string,
  waiting: readonly ApprovalFacts[],
): Promise<Map<string, CancelReason>> {
  if (waiting.length === 0) return new Map();
  const ids = (of: (row: ApprovalFacts) => string) => [...new Set(waiting.map(of))];
  const users = await findActiveUsers(
    db,
    tenantId,
    ids((row) => row.requester_id),
  );
  const active = new Set(users.map((user) => user.user_id));
  const tokens = await tokensOfThisGeneration(
    db,
    tenantId,
    ids((row) => row.requester_credential_id),
    users,
  );
  const ended = new Map<string, CancelReason>();
  for (const row of waiting) {
    const token = tokens.get(row.requester_credential_id);
    const isRevoked = token === undefined || (token.revoked_at !== null && ruleOf(row.kind).outlivesSession !== true);
    if (!active.has(row.requester_id)) ended.set(row.approval_id, 'account_ended');
    else if (isRevoked) ended.set(row.approval_id, 'credential_revoked');
  }
  return ended;
}

/** A token that merely expired does not cancel a request, the same as for a person: the token was valid when the request was made. */
async function endedOfMachine(
  db: Reader,
  { tenant_id, requester_id, requester_credential_id: key, created_at }: ApprovalFacts,
): Promise<CancelReason | null> {
  const connection = await findByClient(db, tenant_id, requester_id);
  if (connection?.status !== 'active') return 'account_ended';
  if (key === connection.client_id) return connection.secret_made_at > created_at ? 'credential_revoked' : null;
  const token = await findConnectionToken(db, tenant_id, key);
  return (token?.revoked_at ?? null) === null ? null : 'credential_revoked';
}
