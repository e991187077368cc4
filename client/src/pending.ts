import { CofferError } from './errors.ts';
import type { Schemas } from './routes.ts';

type Pending = Schemas['PendingApproval'];

/** The result of a change, unless it waits for somebody's approval and has none yet. Then it throws an error whose `details` say which approval. */
export function unlessPending<T extends object>(answer: T): Exclude<T, Pending> {
  if (!('approval_id' in answer) || !('status' in answer) || answer.status !== 'pending_approval')
    return answer as Exclude<T, Pending>;
  const { status, approval_id, approval, resource, expires_at } = answer as unknown as Pending;
  throw new CofferError(`Nothing has changed yet: another person must approve it (${approval_id}).`, {
    code: 'PENDING_APPROVAL',
    status: 202,
    details: { status, approval_id, approval, resource, expires_at },
  });
}
