import type { ApprovalQueue } from '../../kernel/approval.ts';
import { MINUTE_MS } from '../../kernel/clock.ts';
import { bind } from '../../kernel/endpoint.ts';
import type { Feature } from '../../kernel/feature.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { DatabaseApprovalQueue } from './approval-queue.ts';
import { countUses } from './break-glass-store.ts';
import * as contract from './contract.ts';
import { cancelEnded, expireOverdue } from './expiry.ts';
import type { ApprovalPorts } from './ports.ts';
import { Approvals } from './service.ts';

export { approveByOperator, breakGlass, cancelByOperator } from './break-glass.ts';
export { usesOf as breakGlassUsesOf } from './break-glass-store.ts';
export type { ApprovalHooks, ApprovalPorts } from './ports.ts';
export { APPROVALS, DECISIONS } from './store.ts';

export interface ApprovalsFeature extends Feature {
  /** Where the pipeline stores requests that need approval. */
  queue: ApprovalQueue;
}

export function approvalsFeature(kernel: Kernel, ports: ApprovalPorts): ApprovalsFeature {
  const approvals = new Approvals(ports);
  const { database, metrics } = kernel;
  metrics.collect('cv_break_glass_uses', 'What operators did past the approvals of tenants, ever.', () =>
    countUses(database.read),
  );
  return {
    name: 'approvals',
    queue: new DatabaseApprovalQueue(ports),
    jobs: [
      {
        name: 'expire-approvals',
        intervalMs: MINUTE_MS,
        // This job ends requests that can be made again and deletes nothing, so one check is enough. All pending requests may expire together.
        removes: { secondLookMs: 0, share: null },
        run: (signal, cutoff) => expireOverdue(kernel, ports, cutoff, signal),
      },
      {
        name: 'cancel-ended-requests',
        intervalMs: MINUTE_MS,
        removes: 'nothing',
        run: (signal) => cancelEnded(kernel, ports, signal),
      },
    ],
    endpoints: [
      bind(contract.listApprovals, (ctx, { query }) => approvals.list(ctx, query)),
      bind(contract.readApproval, (ctx, { params }) => approvals.read(ctx, params.approval_id)),
      bind(contract.approveApproval, (ctx, { params, body }) =>
        approvals.approve(ctx, params.approval_id, body.digest, body.reason ?? ''),
      ),
      bind(contract.rejectApproval, (ctx, { params, body }) =>
        approvals.reject(ctx, params.approval_id, body.reason ?? ''),
      ),
    ],
  };
}
