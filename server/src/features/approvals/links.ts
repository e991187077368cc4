import { type Linked, port, shared } from '../../kernel/feature/links.ts';
import { allEndpoints } from '../../kernel/feature/wiring.ts';
import type { ApprovalQueue } from '../../kernel/request/approval-queue.ts';
import type { Reader } from '../../kernel/storage/database.ts';
import type { ApprovalPorts } from './ports.ts';

/** Those of some users whom an enabled identity provider signs in. */
export const usersWithSignOn =
  port<(db: Reader, tenantId: string, userIds: readonly string[]) => Promise<string[]>>('usersWithSignOn');

export const approvalNeeds = { usersWithSignOn, endpoints: allEndpoints };
export type ApprovalParts = Linked<typeof approvalNeeds>;

/** Where the pipeline stores requests that need approval. */
export const sharedApprovalQueue = shared<ApprovalQueue>('approvalQueue');

/** What approvals need from other features, for an operator's commands too. */
export const sharedApprovalPorts = shared<ApprovalPorts>('approvalPorts');
