import { useState } from 'preact/hooks';
import { call, me } from '../app/api.ts';
import { mayOne } from '../app/capabilities.ts';
import { useAction, useLoaded } from '../app/loading.ts';
import { href } from '../app/router.ts';
import { loadUsers, type User } from '../people/index.ts';
import { Button } from '../ui/button.tsx';
import { ErrorNote } from '../ui/notice.tsx';
import { waitsForApproval } from '../ui/pending-approval.ts';
import { fortressTexts as texts } from './texts.ts';

/** The request that waits already, if there is one. */
async function loadAsked(signal: AbortSignal): Promise<{ id: string | null }> {
  if (!(await mayOne(['approvals:list', 'self/approvals']))) return { id: null };
  const query = { status: 'pending', requester: 'self', limit: 100 } as const;
  const { approvals } = await call('GET /approvals', { query }, { signal });
  const own = approvals.find(({ kind, requested_by }) => kind === 'mfa_trust' && requested_by.id === me.value?.user.id);
  return { id: own?.id ?? null };
}

/** Whether there is no other administrator, as far as this person may see it. */
async function loadIsAlone(signal: AbortSignal): Promise<{ isAlone: boolean }> {
  if (!(await mayOne(['users:list', 'user']))) return { isAlone: false };
  const users = await loadUsers(signal);
  const isOther = ({ id, role, status }: User) =>
    id !== me.value?.user.id && (role === 'owner' || role === 'admin') && status === 'active';
  return { isAlone: !users.some(isOther) };
}

/**
 * Lets somebody ask the administrators to trust their new second factors before the first day is over. `areAllNew` says that they have no older one,
 * with which the only administrator there is could approve it.
 */
export function AskTrust({ areAllNew }: { areAllNew: boolean }) {
  const alone = useLoaded(loadIsAlone, []);
  const action = useAction();
  const before = useLoaded(loadAsked, []);
  const [sent, setSent] = useState<string | null>(null);
  const asked = sent ?? before.data?.id ?? null;
  const ask = async () => {
    const answer: unknown = await call('POST /auth/mfa/trust', {});
    if (waitsForApproval(answer)) setSent(answer.approval_id);
  };
  if (asked !== null) {
    return (
      <p role="status">
        {texts.asked} <a href={href('approvals', asked)}>{texts.openRequest}</a>
      </p>
    );
  }
  if (before.isLoading || alone.isLoading) return null;
  if (areAllNew && alone.data?.isAlone) return <p>{texts.askNobody}</p>;
  return (
    <>
      <p>{texts.askText}</p>
      <ErrorNote error={action.error} />
      <div>
        <Button isBusy={action.isRunning} onClick={() => action.run(ask)}>
          {texts.ask}
        </Button>
      </div>
    </>
  );
}
