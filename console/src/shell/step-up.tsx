import { startAuthentication } from '@simplewebauthn/browser';
import { useState } from 'preact/hooks';
import { call, loadMe, signOut } from '../app/api.ts';
import { useAction, useLoaded } from '../app/loading.ts';
import { href, navigate, withWayBack } from '../app/router.ts';
import { stepUpRequest } from '../app/step-up-prompt.ts';
import { Button } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { TextField } from '../ui/field.tsx';
import { Form } from '../ui/form.tsx';
import { ErrorNote, WhenLoaded } from '../ui/notice.tsx';
import { asRefusal } from '../ui/passkey-refusal.ts';
import { stepUpTexts as texts } from '../ui/step-up-texts.ts';
import { shared } from '../ui/texts.ts';

/** Sends a proof. The service puts the new session into the cookie, and the old one ends. */
async function sendProof(body: { otp: string } | { response: never }): Promise<void> {
  await call('POST /auth/step-up', { body }, { isSignIn: true });
  await loadMe();
}

export default function StepUp() {
  const request = stepUpRequest.value;
  if (request === null) return null;
  const end = (isShown: boolean) => {
    stepUpRequest.value = null;
    request.decide(isShown);
  };
  return request.proof === 'sign_in' ? <SignInAgain onCancel={() => end(false)} /> : <ShowFactor end={end} />;
}

/** Signing in reloads the page, so the user repeats the action afterwards. */
function SignInAgain({ onCancel }: { onCancel: () => void }) {
  const action = useAction();
  return (
    <Dialog title={texts.title} onClose={onCancel}>
      <p>{texts.signIn}</p>
      <ErrorNote error={action.error} />
      <div class="dialog-foot">
        <Button onClick={onCancel}>{shared.cancel}</Button>
        <Button kind="primary" isBusy={action.isRunning} onClick={() => action.run(() => signOut('again'))}>
          {texts.signInAgain}
        </Button>
      </div>
    </Dialog>
  );
}

function ShowFactor({ end }: { end: (isShown: boolean) => void }) {
  const action = useAction();
  const [otp, setOtp] = useState('');
  const options = useLoaded((signal) => call('POST /auth/step-up/options', {}, { signal, isSignIn: true }), []);
  const enrol = () => {
    end(false);
    navigate(withWayBack(href('me')));
  };
  const withPasskey = async () => {
    const response = await startAuthentication({ optionsJSON: options.data?.options as never }).catch(asRefusal);
    await sendProof({ response: response as never });
    end(true);
  };
  const withCode = async () => {
    await sendProof({ otp: otp.trim() });
    end(true);
  };
  return (
    <Dialog title={texts.title} onClose={() => end(false)}>
      <p>{texts.text}</p>
      <WhenLoaded of={options}>
        {({ methods }) =>
          methods.length === 0 ? (
            <>
              <p>{texts.none}</p>
              <div class="dialog-foot">
                <Button onClick={() => end(false)}>{shared.cancel}</Button>
                <Button kind="primary" onClick={enrol}>
                  {texts.enrol}
                </Button>
              </div>
            </>
          ) : (
            <Form error={action.error} onSubmit={() => void action.run(withCode)}>
              {methods.includes('passkey') ? (
                <Button kind="primary" isBusy={action.isRunning} onClick={() => action.run(withPasskey)}>
                  {texts.passkey}
                </Button>
              ) : null}
              {methods.some((method) => method !== 'passkey') ? (
                <TextField
                  field="otp"
                  label={texts.code}
                  hint={texts.codeHint}
                  value={otp}
                  onInput={setOtp}
                  autocomplete="one-time-code"
                  isRequired
                />
              ) : null}
              <ErrorNote error={action.error} />
              <div class="dialog-foot">
                <Button onClick={() => end(false)}>{shared.cancel}</Button>
                {methods.some((method) => method !== 'passkey') ? (
                  <Button type="submit" isBusy={action.isRunning}>
                    {texts.submit}
                  </Button>
                ) : null}
              </div>
            </Form>
          )
        }
      </WhenLoaded>
    </Dialog>
  );
}
