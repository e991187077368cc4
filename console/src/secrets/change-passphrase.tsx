import { useState } from 'preact/hooks';
import { coffer } from '../app/api.ts';
import { Button } from '../ui/button.tsx';
import { Dialog, FormDialog } from '../ui/dialog.tsx';
import { TextField } from '../ui/field.tsx';
import { useForm } from '../ui/form-values.ts';
import { Notice } from '../ui/notice.tsx';
import { shared } from '../ui/texts.ts';
import { toast } from '../ui/toasts.tsx';
import { LENGTH_MIN, strengthOf } from './passphrase-strength.ts';
import { passphraseTexts, changePassphraseTexts as texts } from './passphrase-texts.ts';

/** Seals every value of a zero-knowledge vault under another passphrase, in this browser. If it is interrupted, the same passphrases continue it. */
export default function ChangePassphrase({ vault, onClose }: { vault: string; onClose: () => void }) {
  const form = useForm({ from: '', to: '', again: '' });
  const { from, to, again } = form.values;
  const [count, setCount] = useState<number | null>(null);
  const [refused, setRefused] = useState<readonly string[]>([]);
  const submit = async () => {
    setCount(0);
    try {
      const secrets = { from: { passphrase: from }, to: { passphrase: to } };
      const onProgress = ({ count: done }: { count: number }) => setCount(done);
      const report = await coffer().changePassphrase(vault, secrets, { onProgress });
      if (report.refused.length > 0) return setRefused(report.refused);
      toast(texts.changed(vault, report.resealed.length + report.unchanged.length));
      onClose();
    } finally {
      setCount(null);
    }
  };
  if (refused.length > 0) return <Refused paths={refused} onClose={onClose} />;
  return (
    <FormDialog
      title={texts.title}
      submitText={texts.submit}
      isIncomplete={from === '' || to.length < LENGTH_MIN || to !== again || to === from}
      onClose={onClose}
      submit={submit}
    >
      <p class="soft">{texts.text}</p>
      <TextField label={texts.from} type="password" {...form.text('from')} isRequired isFocused />
      <TextField
        label={texts.to}
        hint={passphraseTexts.strength[strengthOf(to)]}
        problem={to !== '' && to === from ? texts.same : null}
        type="password"
        {...form.text('to')}
        isRequired
      />
      <TextField
        label={passphraseTexts.again}
        hint={passphraseTexts.lost}
        problem={again !== '' && again !== to ? passphraseTexts.differs : null}
        type="password"
        {...form.text('again')}
        isRequired
      />
      <div role="status">{count === null ? null : <Notice>{texts.progress(count)}</Notice>}</div>
    </FormDialog>
  );
}

/** The change is over only when no value is left that neither passphrase opens. */
function Refused({ paths, onClose }: { paths: readonly string[]; onClose: () => void }) {
  return (
    <Dialog title={texts.title} onClose={onClose}>
      <Notice kind="warning">
        {texts.refused}
        <ul>
          {paths.map((path) => (
            <li key={path}>
              <code>{path}</code>
            </li>
          ))}
        </ul>
      </Notice>
      <div class="dialog-foot">
        <Button kind="primary" onClick={onClose}>
          {shared.close}
        </Button>
      </div>
    </Dialog>
  );
}
