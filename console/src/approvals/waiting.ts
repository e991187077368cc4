import type { RouteOutput } from '@coffer/client';
import { signal } from '@preact/signals';
import { call, me, whenSessionEnds } from '../app/api.ts';
import { mayOne } from '../app/capabilities.ts';

type Approval = RouteOutput<'GET /approvals'>['approvals'][number];

const LIMIT = 100;

/** How many requests wait for the signed-in person to decide. */
export const waitingForMe = signal(0);
whenSessionEnds(() => {
  waitingForMe.value = 0;
});

export async function loadWaiting(): Promise<void> {
  const person = me.value?.user.id;
  if (person === undefined || !(await mayOne(['approvals:list', 'self/approvals']))) return;
  const { approvals } = await call('GET /approvals', { query: { status: 'pending', limit: LIMIT } });
  if (me.value?.user.id === person) waitingForMe.value = approvals.filter(({ can_approve }) => can_approve).length;
}

export function isOwn({ requested_by }: Pick<Approval, 'requested_by'>): boolean {
  return requested_by.id === me.value?.user.id;
}
