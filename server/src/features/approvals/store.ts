import type { ApprovalKind, ApprovalLevel, CancelReason } from '../../kernel/endpoint/approval.ts';
import { AuthenticatedTable } from '../../kernel/integrity/authenticated-table.ts';
import { countRows } from '../../kernel/storage/count-rows.ts';
import type { Reader, Tx } from '../../kernel/storage/database.ts';
import type { Authenticated } from '../../kernel/storage/tables.ts';
import type { Cutoff } from '../../kernel/time/cutoff.ts';

export interface ApprovalsTables {
  approvals: Authenticated<ApprovalRow>;
  approval_decisions: Authenticated<DecisionRow>;
}

export interface ApprovalRow {
  tenant_id: string;
  approval_id: string;
  kind: ApprovalKind;
  /** The endpoint's name. */
  operation: string;
  resource: string;
  /** JSON, as in the audit log: names, ids and counts. */
  details: string;
  status: 'pending' | 'completed' | 'rejected' | 'expired' | 'failed' | 'cancelled';
  requester_id: string;
  requester_name: string;
  requester_credential_id: string;
  /** A keyed MAC, because an input may contain a password, which anyone with the database could guess from a plain digest. */
  input_mac: Uint8Array;
  /** Null once the approval is decided, because nothing needs it any more. */
  sealed_input: Uint8Array | null;
  self_approved: number;
  /** Empty unless the status is failed. */
  failure_code: string;
  failure_message: string;
  created_at: number;
  expires_at: number;
  decided_at: number | null;
  /** JSON without credentials, as it is shown to approvers. It stays when the input is deleted; null in rows of release 0.4 and before. */
  shown: string | null;
  /** 1 if one person decided more than one level. */
  single_approver: number | null;
  /** Null unless the status is cancelled. */
  cancel_reason: CancelReason | null;
  /** The user who loses rights by it, and so does not decide it; null if there is none. */
  takes_from: string | null;
  /** JSON: with a conflict, what was expected and what is there; null otherwise. */
  failure_details: string | null;
}

/** The columns that lists and rules need. The input is loaded only to execute it. */
export type ApprovalFacts = Omit<ApprovalRow, 'input_mac' | 'sealed_input' | 'shown'>;

export interface DecisionRow {
  tenant_id: string;
  approval_id: string;
  /** Index of the level, from 0; each level is decided once. */
  level_index: number;
  level: ApprovalLevel;
  approver_id: string;
  approver_name: string;
  decision: 'approved' | 'rejected';
  reason: string;
  decided_at: number;
}

export const APPROVALS = new AuthenticatedTable<'approvals', ApprovalRow>('approvals', {
  key: ['approval_id'],
  covered: [
    'kind',
    'operation',
    'resource',
    'details',
    'status',
    'requester_id',
    'requester_name',
    'requester_credential_id',
    'input_mac',
    'sealed_input',
    'self_approved',
    'failure_code',
    'failure_message',
    'created_at',
    'expires_at',
    'decided_at',
  ],
  appended: ['shown', 'single_approver', 'cancel_reason', 'takes_from', 'failure_details'],
  sealed: ['sealed_input'],
});

export const DECISIONS = new AuthenticatedTable<'approval_decisions', DecisionRow>('approval_decisions', {
  key: ['approval_id', 'level_index'],
  covered: ['level', 'approver_id', 'approver_name', 'decision', 'reason', 'decided_at'],
});

const FACTS = [
  'tenant_id',
  'approval_id',
  'kind',
  'operation',
  'resource',
  'details',
  'status',
  'requester_id',
  'requester_name',
  'requester_credential_id',
  'self_approved',
  'failure_code',
  'failure_message',
  'created_at',
  'expires_at',
  'decided_at',
  'single_approver',
  'cancel_reason',
  'takes_from',
  'failure_details',
] as const satisfies readonly (keyof ApprovalFacts)[];

export async function insertApproval(tx: Tx, row: ApprovalRow): Promise<void> {
  await APPROVALS.insert(tx, row);
}

/** A pending request with the same input from the same requester. */
export async function findSame(
  tx: Tx,
  { tenant_id, requester_id, input_mac }: Pick<ApprovalRow, 'tenant_id' | 'requester_id' | 'input_mac'>,
  now: number,
): Promise<ApprovalFacts | undefined> {
  const query = tx
    .selectFrom('approvals')
    .selectAll()
    .where('tenant_id', '=', tenant_id)
    .where('status', '=', 'pending')
    .where('expires_at', '>', now)
    .where('requester_id', '=', requester_id)
    .where('input_mac', '=', input_mac);
  return APPROVALS.checked(tx, await query.executeTakeFirst());
}

export interface Waiting {
  inTenant: number;
  ofRequester: number;
}

export async function countPending(tx: Tx, tenantId: string, requesterId: string, now: number): Promise<Waiting> {
  const rows = await tx
    .selectFrom('approvals')
    .select((eb) => ['requester_id', eb.fn.countAll<number>().as('n')])
    .where('tenant_id', '=', tenantId)
    .where('status', '=', 'pending')
    .where('expires_at', '>', now)
    .groupBy('requester_id')
    .execute();
  return {
    inTenant: rows.reduce((sum, { n }) => sum + Number(n), 0),
    ofRequester: Number(rows.find(({ requester_id }) => requester_id === requesterId)?.n ?? 0),
  };
}

/** Of all tenants. */
export function countWaiting(db: Reader): Promise<number> {
  return countRows(db.selectFrom('approvals').where('status', '=', 'pending'));
}

/** Includes the input, which exists while the approval is pending. */
export async function findWhole(db: Reader, tenantId: string, approvalId: string): Promise<ApprovalRow | undefined> {
  const query = db.selectFrom('approvals').selectAll().where('tenant_id', '=', tenantId);
  return APPROVALS.checked(db, await query.where('approval_id', '=', approvalId).executeTakeFirst());
}

/** Finds the tenant for an operator, who has only the approval id. */
export async function tenantOf(db: Reader, approvalId: string): Promise<string | undefined> {
  const query = db.selectFrom('approvals').select('tenant_id').where('approval_id', '=', approvalId);
  return (await query.executeTakeFirst())?.tenant_id;
}

/** Locks the row, so that of several concurrent decisions one is first and the others see it. */
export async function lockApproval(tx: Tx, tenantId: string, approvalId: string): Promise<ApprovalFacts | undefined> {
  const [row] = await APPROVALS.lockedWhere(tx, (eb) => eb.and({ tenant_id: tenantId, approval_id: approvalId }));
  return row;
}

/** Newest first. */
export function approvalsBack(
  db: Reader,
  tenantId: string,
  status: ApprovalRow['status'] | null,
  { before, limit }: { before: string | null; limit: number },
): Promise<ApprovalFacts[]> {
  let query = db
    .selectFrom('approvals')
    .select(FACTS)
    .where('tenant_id', '=', tenantId)
    .orderBy('approval_id', 'desc')
    .limit(limit);
  if (status !== null) query = query.where('status', '=', status);
  if (before !== null) query = query.where('approval_id', '<', before);
  return query.execute();
}

/** The input is deleted whatever the outcome; `shown` stays. */
export async function settle(
  tx: Tx,
  { tenant_id, approval_id }: Pick<ApprovalFacts, 'tenant_id' | 'approval_id'>,
  outcome: Partial<
    Pick<
      ApprovalRow,
      | 'status'
      | 'self_approved'
      | 'single_approver'
      | 'failure_code'
      | 'failure_message'
      | 'failure_details'
      | 'decided_at'
      | 'cancel_reason'
    >
  >,
): Promise<void> {
  await APPROVALS.updateWhere(tx, (eb) => eb.and({ tenant_id, approval_id }), { ...outcome, sealed_input: null });
}

export async function insertDecisions(tx: Tx, rows: DecisionRow[]): Promise<void> {
  await DECISIONS.insert(tx, ...rows);
}

/** Ordered by approval, then by level. */
export async function decisionsOn(
  db: Reader,
  tenantId: string,
  approvalIds: readonly string[],
): Promise<DecisionRow[]> {
  if (approvalIds.length === 0) return [];
  const rows = await db
    .selectFrom('approval_decisions')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('approval_id', 'in', approvalIds)
    .orderBy('approval_id')
    .orderBy('level_index')
    .execute();
  return DECISIONS.checkedAll(db, rows);
}

/** Overdue approvals of all tenants. */
export function findOverdue(
  db: Reader,
  time: Cutoff,
  limit: number,
): Promise<Pick<ApprovalRow, 'tenant_id' | 'approval_id'>[]> {
  return db
    .selectFrom('approvals')
    .select(['tenant_id', 'approval_id'])
    .where('status', '=', 'pending')
    .where('expires_at', '<=', time)
    .orderBy('expires_at')
    .limit(limit)
    .execute();
}

/** Pending approvals of all tenants, ordered by id, for the job that checks whether each requester is still active. */
export function pendingAfter(
  db: Reader,
  [tenantId, approvalId]: readonly [string, string],
  limit: number,
): Promise<ApprovalFacts[]> {
  return db
    .selectFrom('approvals')
    .select(FACTS)
    .where('status', '=', 'pending')
    .where((eb) =>
      eb.or([
        eb('tenant_id', '>', tenantId),
        eb.and([eb('tenant_id', '=', tenantId), eb('approval_id', '>', approvalId)]),
      ]),
    )
    .orderBy('tenant_id')
    .orderBy('approval_id')
    .limit(limit)
    .execute();
}

export function pendingOf(db: Reader, tenantId: string, requesterId: string, limit: number): Promise<ApprovalFacts[]> {
  return db
    .selectFrom('approvals')
    .select(FACTS)
    .where('tenant_id', '=', tenantId)
    .where('status', '=', 'pending')
    .where('requester_id', '=', requesterId)
    .orderBy('approval_id')
    .limit(limit)
    .execute();
}

/** The requests of a session that was replaced by another one wait on, as requests of that one. */
export async function moveRequests(
  tx: Tx,
  tenantId: string,
  { requesterId, from, to }: { requesterId: string; from: string; to: string },
): Promise<void> {
  const whose = { tenant_id: tenantId, requester_id: requesterId, requester_credential_id: from };
  await APPROVALS.updateWhere(tx, (eb) => eb.and({ ...whose, status: 'pending' }), { requester_credential_id: to });
}
