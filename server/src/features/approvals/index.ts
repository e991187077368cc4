import { MINUTE_MS } from '../../kernel/platform/clock.ts';
import type { Feature } from '../../kernel/platform/feature.ts';
import type { Kernel } from '../../kernel/platform/kernel.ts';
import type { Wiring } from '../../kernel/platform/wiring.ts';
import type { ApprovalQueue } from '../../kernel/request/approval-queue.ts';
import { bindContract } from '../../kernel/request/binding.ts';
import { DatabaseApprovalQueue } from './approval-queue.ts';
import { countUses } from './break-glass-store.ts';
import * as contract from './contract.ts';
import { cancelEnded, expireOverdue } from './expiry.ts';
import { approvalPorts } from './ports.ts';
import { Approvals } from './service.ts';
import { countWaiting } from './store.ts';

export { approveByOperator, breakGlass, cancelByOperator } from './break-glass.ts';
export { insertUse as insertBreakGlassUse, usesOf as breakGlassUsesOf } from './break-glass-store.ts';
export { approvalPorts } from './ports.ts';
export { APPROVALS, DECISIONS, moveRequests } from './store.ts';

/** Where the pipeline stores requests that need approval. */
export function approvalQueue(kernel: Kernel, wiring: Wiring): ApprovalQueue {
  return new DatabaseApprovalQueue(approvalPorts(kernel, wiring));
}

export function approvalsFeature(kernel: Kernel, wiring: Wiring): Feature {
  const ports = approvalPorts(kernel, wiring);
  const approvals = new Approvals(ports);
  const { database, metrics } = kernel;
  metrics.collect(
    'cv_break_glass_uses',
    'Break-glass actions of operators that bypassed the approvals of tenants, and sign-ins of break-glass owners, since installation.',
    () => countUses(database.read),
  );
  metrics.collect('cv_approvals_waiting', 'Changes of all tenants that wait for an approval.', () =>
    countWaiting(database.read),
  );
  return {
    name: 'approvals',
    jobs: [
      {
        name: 'expire-approvals',
        intervalMs: MINUTE_MS,
        // This job ends requests that can be made again and deletes nothing, so one check is enough. All pending requests may expire together.
        removes: { secondCheckMs: 0, share: null },
        run: (signal, cutoff) => expireOverdue(kernel, ports, cutoff, signal),
      },
      {
        name: 'cancel-ended-requests',
        intervalMs: MINUTE_MS,
        removes: 'nothing',
        run: (signal) => cancelEnded(kernel, ports, signal),
      },
    ],
    endpoints: bindContract(contract, {
      listApprovals: (ctx, { query }) => approvals.list(ctx, query),
      readApproval: (ctx, { params }) => approvals.read(ctx, params.approval_id),
      approveApproval: (ctx, { params, body }) =>
        approvals.approve(ctx, params.approval_id, body.digest, body.reason ?? ''),
      rejectApproval: (ctx, { params, body }) => approvals.reject(ctx, params.approval_id, body.reason ?? ''),
    }),
  };
}
