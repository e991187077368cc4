import { timestamp, timestampOrNull } from '../../kernel/base/clock.ts';
import type { CofferError } from '../../kernel/base/errors.ts';
import { type CancelReason, ruleOf } from '../../kernel/endpoint/approval.ts';
import type { Approval, ApprovalDetail } from './contract.ts';
import { digestOf, type ShownRequest } from './shown-request.ts';
import type { ApprovalFacts, DecisionRow } from './store.ts';

/** An approval at this moment: it may have expired, or its requester may have lost access, before a job has stored that. */
export interface Current {
  row: ApprovalFacts;
  decisions: readonly DecisionRow[];
  endedBy: CancelReason | undefined;
  now: number;
}

export function statusOf({ row, endedBy, now }: Omit<Current, 'decisions'>): Approval['status'] {
  if (row.status !== 'pending') return row.status;
  if (row.expires_at <= now) return 'expired';
  return endedBy === undefined ? 'pending' : 'cancelled';
}

export function toWire(current: Current, canApprove: boolean): Approval {
  const { row, decisions, endedBy } = current;
  const status = statusOf(current);
  return {
    id: row.approval_id,
    kind: row.kind,
    operation: row.operation,
    resource: row.resource,
    details: JSON.parse(row.details) as Record<string, unknown>,
    status,
    can_approve: canApprove,
    requested_by: { id: row.requester_id, name: row.requester_name },
    created_at: timestamp(row.created_at),
    expires_at: timestamp(row.expires_at),
    decided_at: timestampOrNull(row.decided_at),
    levels: ruleOf(row.kind).levels.map((level, i) => levelToWire(level, decisions[i])),
    self_approved: row.self_approved === 1,
    single_approver: row.single_approver === 1,
    cancelled_because: status === 'cancelled' ? (row.cancel_reason ?? endedBy ?? null) : null,
    failure: failureOf(row),
  };
}

function failureOf({ failure_code: code, failure_message: message, failure_details }: ApprovalFacts) {
  if (code === '') return null;
  const details = failure_details === null ? null : (JSON.parse(failure_details) as Record<string, unknown>);
  return { code, message, details };
}

/** Details of a failure that would be more are left out: its message says what happened. */
const FAILURE_DETAILS_MAX = 32 * 1024;

/** What a request found changed, as it is stored with the approval. */
export function conflictDetails({ code, details }: CofferError): string | null {
  if (code !== 'VERSION_CONFLICT' || details === undefined) return null;
  const text = JSON.stringify(details);
  return text.length > FAILURE_DETAILS_MAX ? null : text;
}

/** Includes the request that approvers must have seen. It is null for approvals that were decided under release 0.4 and before. */
export function toDetail(
  current: Current,
  canApprove: boolean,
  shown: string | null,
  request: ShownRequest | null,
): ApprovalDetail {
  const digest = shown === null ? null : digestOf(current.row, shown);
  return { ...toWire(current, canApprove), request, digest };
}

function levelToWire(
  level: Approval['levels'][number]['level'],
  row: DecisionRow | undefined,
): Approval['levels'][number] {
  if (row === undefined) return { level, decided_by: null, decision: null, reason: null, at: null };
  const decided_by = { id: row.approver_id, name: row.approver_name };
  return { level, decided_by, decision: row.decision, reason: row.reason || null, at: timestamp(row.decided_at) };
}

/** The request as a requester sees it who cannot read everything: without what the service looked up for it. */
export function withoutFindings({ request, failure, ...detail }: ApprovalDetail): ApprovalDetail {
  const { differences: _, ...rest } = failure?.details ?? {};
  const found = failure?.details == null ? null : rest;
  return {
    ...detail,
    request: request === null ? null : { ...request, differences: [] },
    failure: failure === null ? null : { ...failure, details: found },
    details: {},
  };
}
