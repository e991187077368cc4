import { useEffect, useState } from 'preact/hooks';
import { call } from '../app/api.ts';
import { useAction } from '../app/loading.ts';
import { Button } from '../ui/button.tsx';
import { TextArea, TextField } from '../ui/field.tsx';
import { useForm } from '../ui/form-values.ts';
import { ErrorNote } from '../ui/notice.tsx';
import { hideWhenLeft } from '../ui/secret-value.tsx';
import { shared } from '../ui/texts.ts';
import { toast } from '../ui/toasts.tsx';
import { keysTexts as texts } from './texts.ts';

/** Encrypts and decrypts a text in the page. A text that was decrypted is removed when the window is left. */
export function TryKey({ name, mayEncrypt, mayDecrypt }: { name: string; mayEncrypt: boolean; mayDecrypt: boolean }) {
  const encrypting = useAction();
  const decrypting = useAction();
  const form = useForm({ plaintext: '', aad: '' });
  const { plaintext, aad } = form.values;
  const [envelope, setEnvelope] = useState('');
  const [decrypted, setDecrypted] = useState<string | null>(null);
  useEffect(() => hideWhenLeft(() => setDecrypted(null)), []);
  const context = aad === '' ? {} : { aad };
  const encrypt = async () => {
    const body = { plaintext, ...context };
    const made = await call('POST /eaas/keys/{name}/encrypt', { path: { name }, body }, { isRead: true });
    setEnvelope(made.envelope);
    form.set({ plaintext: '' });
    setDecrypted(null);
  };
  const decrypt = async () => {
    setDecrypted(null);
    const body = { envelope: envelope.trim(), ...context };
    const opened = await call('POST /eaas/keys/{name}/decrypt', { path: { name }, body }, { isRead: true });
    setDecrypted(opened.plaintext);
  };
  const copy = async () => {
    await navigator.clipboard.writeText(envelope);
    toast(shared.copied);
  };
  return (
    <section class="card">
      <h2>{texts.tryIt}</h2>
      <p class="soft">{texts.tryText}</p>
      <TextField label={texts.aad} hint={texts.aadHint} {...form.text('aad', null)} isMono />
      {mayEncrypt ? (
        <>
          <TextArea label={texts.plaintext} {...form.text('plaintext', null)} rows={2} isSecret />
          <div>
            <Button isBusy={encrypting.isRunning} isDisabled={plaintext === ''} onClick={() => encrypting.run(encrypt)}>
              {texts.encrypt}
            </Button>
          </div>
          <ErrorNote error={encrypting.error} />
        </>
      ) : null}
      <TextArea
        label={texts.envelope}
        hint={texts.envelopeHint}
        value={envelope}
        onInput={(text) => {
          setEnvelope(text);
          setDecrypted(null);
        }}
        rows={3}
      />
      <div class="row">
        {mayDecrypt ? (
          <Button isBusy={decrypting.isRunning} isDisabled={envelope === ''} onClick={() => decrypting.run(decrypt)}>
            {texts.decrypt}
          </Button>
        ) : null}
        <Button isDisabled={envelope === ''} onClick={() => void copy()}>
          {shared.copyName}
        </Button>
      </div>
      <ErrorNote error={decrypting.error} />
      <div role="status">
        {decrypted === null ? null : (
          <output class="value-text" aria-label={texts.decrypted}>
            {decrypted}
          </output>
        )}
      </div>
    </section>
  );
}
