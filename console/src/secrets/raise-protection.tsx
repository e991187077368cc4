import { useState } from 'preact/hooks';
import { call } from '../app/api.ts';
import { useAction } from '../app/loading.ts';
import { takesTrustedFactor } from '../app/step-up-prompt.ts';
import { OwnFactors, useOwnFactors } from '../fortress/index.ts';
import { FormDialog } from '../ui/dialog.tsx';
import { TextField } from '../ui/field.tsx';
import { Notice } from '../ui/notice.tsx';
import { toast } from '../ui/toasts.tsx';
import type { ChangeProps } from './changes.tsx';
import { fortressSecretTexts as texts } from './fortress-texts.ts';
import { secretTexts } from './texts.ts';

/** Makes an ordinary secret a fortress secret, after saying what that means. */
export default function RaiseProtection({ vault, secret, onClose, onDone }: ChangeProps) {
  const action = useAction();
  const { path, version } = secret;
  const [reason, setReason] = useState('');
  const factors = useOwnFactors(true);
  const submit = async () => {
    await call('PUT /v1/vaults/{vault}/secrets/{path}', {
      path: { vault, path },
      body: {
        protection: 'fortress',
        expected_version: version,
        reason: reason === '' ? texts.raisedReason : reason,
      },
    });
    toast(texts.raised);
    onDone();
  };
  return (
    <FormDialog
      title={texts.raise}
      action={action}
      submitText={texts.raise}
      isIncomplete={factors.data?.length === 0}
      onClose={onClose}
      submit={submit}
    >
      <ul>
        {texts.raiseMeans.map((meaning) => (
          <li key={meaning}>{meaning}</li>
        ))}
      </ul>
      <Notice kind="warning">{texts.raiseForGood}</Notice>
      {takesTrustedFactor(action.error) ? null : <OwnFactors factors={factors} />}
      <TextField
        field="reason"
        label={secretTexts.reason}
        hint={secretTexts.reasonHint}
        value={reason}
        onInput={setReason}
      />
    </FormDialog>
  );
}
