import type { RouteOutput } from '@coffer/client';
import { signal } from '@preact/signals';
import { call, me, whenSessionEnds } from './api.ts';
import { mayOne } from './capabilities.ts';

type Approval = RouteOutput<'GET /approvals'>['approvals'][number];

const LIMIT = 100;
/** Whether somebody may approve their own request is asked for so many. */
const OWN_MAX = 5;

/** How many requests wait for the signed-in person to decide. */
export const waitingForMe = signal(0);
whenSessionEnds(() => {
  waitingForMe.value = 0;
});

export async function loadWaiting(): Promise<void> {
  const person = me.value?.user.id;
  const allowed = [mayOne(['approvals:list', 'self/approvals']), mayOne(['approvals:decide', 'self/approvals'])];
  if (person === undefined || (await Promise.all(allowed)).includes(false)) return;
  const { approvals } = await call('GET /approvals', { query: { status: 'pending', limit: LIMIT } });
  const own = approvals.filter(isOwn);
  const answers = isAdmin() ? await Promise.all(own.slice(0, OWN_MAX).map(canApprove)) : [];
  const others = approvals.filter((each) => !isOwn(each) && isTurnOf(each, person));
  if (me.value?.user.id === person) waitingForMe.value = others.length + answers.filter(Boolean).length;
}

export function isOwn({ requested_by }: Pick<Approval, 'requested_by'>): boolean {
  return requested_by.id === me.value?.user.id;
}

const isAdmin = () => me.value?.user.role === 'owner' || me.value?.user.role === 'admin';

/** Nobody decides twice. Who is no administrator sees requests of others only for vaults that they manage. */
function isTurnOf({ levels }: Approval, person: string): boolean {
  if (levels.some(({ decided_by }) => decided_by?.id === person)) return false;
  const next = levels.find(({ decision }) => decision === null);
  return next !== undefined && (next.level === 'vault_manager' || isAdmin());
}

/** Their own request somebody approves only if nobody else could. */
async function canApprove({ id }: Approval): Promise<boolean> {
  return (await call('GET /approvals/{approval_id}', { path: { approval_id: id } })).can_approve;
}
