import type { RouteOutput } from '@coffer/client';
import { href } from '../app/router.ts';
import { shared } from './texts.ts';
import { toastWithLink } from './toasts.tsx';

type Pending = Extract<RouteOutput<'PATCH /v1/users/{user_id}'>, { status: 'pending_approval' }>;

/** Whether a change waits for a second person. If it does, the person is told so. */
export function waitsForApproval(answer: unknown): answer is Pending {
  if (typeof answer !== 'object' || answer === null) return false;
  const { status, approval_id: id } = answer as Partial<Pending>;
  if (status !== 'pending_approval' || id === undefined) return false;
  toastWithLink(shared.pendingApproval, { href: href('approvals', id), text: shared.seeApproval });
  return true;
}
