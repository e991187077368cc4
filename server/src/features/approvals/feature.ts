import { MINUTE_MS } from '../../kernel/base/clock.ts';
import { feature } from '../../kernel/feature/declaration.ts';
import { DatabaseApprovalQueue } from './approval-queue.ts';
import { countUses } from './break-glass-store.ts';
import * as contract from './contract.ts';
import { cancelEnded, expireOverdue } from './expiry.ts';
import { approvalNeeds, sharedApprovalPorts, sharedApprovalQueue } from './links.ts';
import { approvalPorts } from './ports.ts';
import { Approvals } from './service.ts';
import { APPROVALS, countWaiting, DECISIONS } from './store.ts';

export const approvalsFeature = feature({
  name: 'approvals',
  endpoints: contract,
  tables: {
    authenticated: [APPROVALS, DECISIONS],
    plain: { break_glass_uses: 'tells admins what the audit log tells as well' },
  },
  uses: ['audit', 'clock', 'database', 'metrics'],
  needs: approvalNeeds,
  shares: [sharedApprovalQueue, sharedApprovalPorts],
  build(parts) {
    const ports = approvalPorts(parts);
    const approvals = new Approvals(ports);
    const { database, metrics } = parts;
    metrics.collect(
      'cv_break_glass_uses',
      'Break-glass actions of operators and owners that bypassed the approvals of tenants, and sign-ins of break-glass owners, since installation.',
      () => countUses(database.read),
    );
    metrics.collect('cv_approvals_waiting', 'Changes of all tenants that wait for an approval.', () =>
      countWaiting(database.read),
    );
    return {
      shares: [sharedApprovalQueue.as(new DatabaseApprovalQueue(ports)), sharedApprovalPorts.as(ports)],
      jobs: [
        {
          name: 'expire-approvals',
          intervalMs: MINUTE_MS,
          // This job ends requests that can be made again and deletes nothing, so one check is enough. All pending requests may expire together.
          removes: { secondCheckMs: 0, share: null },
          run: (signal, cutoff) => expireOverdue(parts, ports, cutoff, signal),
        },
        {
          name: 'cancel-ended-requests',
          intervalMs: MINUTE_MS,
          removes: 'nothing',
          run: (signal) => cancelEnded(parts, ports, signal),
        },
      ],
      handlers: {
        listApprovals: (ctx, { query }) => approvals.list(ctx, query),
        readApproval: (ctx, { params }) => approvals.read(ctx, params.approval_id),
        revealApproval: (ctx, { params, query }) => approvals.reveal(ctx, params.approval_id, query.path),
        approveApproval: (ctx, { params, body }) =>
          approvals.approve(ctx, params.approval_id, body.digest, body.reason ?? ''),
        rejectApproval: (ctx, { params, body }) => approvals.reject(ctx, params.approval_id, body.reason ?? ''),
      },
    };
  },
});
