import { CofferError } from '../../kernel/base/errors.ts';
import type { Approval } from './contract.ts';
import type { Refusal } from './levels.ts';
import { type Current, statusOf } from './wire.ts';

const OUTCOMES: Record<Exclude<Approval['status'], 'pending'>, string> = {
  completed: 'This request was already approved and executed.',
  rejected: 'This request was rejected or withdrawn.',
  expired: 'This request has expired: send it again.',
  failed: 'This request was approved but could not be executed: send it again.',
  cancelled:
    'This request was cancelled: its token, session or account was revoked, disabled or deleted, or an operator cancelled it. Send it again.',
};

export function refuseDecided(current: Current): void {
  const status = statusOf(current);
  if (status !== 'pending') throw new CofferError('VERSION_CONFLICT', OUTCOMES[status]);
}

export function changedMeanwhile(): CofferError {
  return new CofferError('VERSION_CONFLICT', 'Another person decided at the same time: read the approval again.');
}

export function notWhatWasSeen(): CofferError {
  const message = 'The digest does not match this approval: read it with GET /approvals/<id> and send its `digest`.';
  return new CofferError('VERSION_CONFLICT', message);
}

const REFUSALS: Record<Refusal, string> = {
  requester: 'You made this request: another person must approve it.',
  not_eligible:
    'You cannot decide this: it requires an owner, an admin, a manager of the vault, or for a change of a secret somebody who may review it.',
  manager_needed: 'A manager of the vault must approve this first: an admin approves the next level.',
  owner_needed: 'An owner requested this: another owner must be among those who approve it.',
  decided_before: 'You already approved one level: another person must approve the next one.',
  other_first:
    'A manager of the vault, or another admin, must approve first: only you can approve the level after that.',
};

export function refusal(why: Refusal): CofferError {
  return new CofferError('INSUFFICIENT_PRIVILEGE', REFUSALS[why], { auditReason: `approvals:decide: ${why}` });
}

export function notReviewing(): CofferError {
  const message = 'Only another person who may review this change of a secret sees its values, if they may read them.';
  return new CofferError('INSUFFICIENT_PRIVILEGE', message, {
    auditReason: 'secrets:review: no reviewer of this request',
  });
}
