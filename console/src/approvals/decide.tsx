import { useState } from 'preact/hooks';
import { call, me } from '../app/api.ts';
import { useMay } from '../app/capabilities.ts';
import { useAction } from '../app/loading.ts';
import { Button } from '../ui/button.tsx';
import { TextField } from '../ui/field.tsx';
import { Form } from '../ui/form.tsx';
import { ErrorNote } from '../ui/notice.tsx';
import { toast } from '../ui/toasts.tsx';
import { approvalsTexts as texts } from './texts.ts';

export function Decide({
  approval,
  onDecided,
}: {
  approval: { id: string; kind: string; digest: string | null; requested_by: { id: string }; can_approve: boolean };
  onDecided: () => void;
}) {
  const may = useMay({ decide: ['approvals:decide', 'self/approvals'] });
  const action = useAction();
  const [reason, setReason] = useState('');
  const isOwn = approval.requested_by.id === me.value?.user.id;
  // Others are told by the service why they cannot approve.
  const isRefused = isOwn && !approval.can_approve;
  if (!may.decide) return null;
  const path = { approval_id: approval.id };
  const more = reason === '' ? {} : { reason };
  const approve = async () => {
    const body = { digest: approval.digest ?? '', ...more };
    const { status } = await call('POST /approvals/{approval_id}/approve', { path, body });
    toast(status === 'pending' ? texts.oneMore : texts.approved);
    onDecided();
  };
  const reject = async () => {
    await call('POST /approvals/{approval_id}/reject', { path, body: more });
    toast(isOwn ? texts.withdrawn : texts.rejected);
    onDecided();
  };
  return (
    <section class="card">
      <h2>{texts.decisions}</h2>
      {isOwn ? <p>{approval.can_approve ? texts.ownAlone : texts.own}</p> : null}
      {isRefused ? null : <p class="soft">{texts.digest}</p>}
      {/* The key Enter decides nothing. */}
      <Form error={action.error} onSubmit={() => {}}>
        <TextField field="reason" label={texts.reason} hint={texts.reasonHint} value={reason} onInput={setReason} />
        <ErrorNote error={action.error} />
      </Form>
      <div class="row">
        {isRefused ? null : (
          <Button kind="primary" isBusy={action.isRunning} onClick={() => action.run(approve)}>
            {texts.approve}
          </Button>
        )}
        <Button isBusy={action.isRunning} onClick={() => action.run(reject)}>
          {isOwn ? texts.withdraw : texts.reject}
        </Button>
      </div>
    </section>
  );
}
