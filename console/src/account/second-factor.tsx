import type { RouteOutput } from '@coffer/client';
import { useState } from 'preact/hooks';
import { call, loadMe } from '../app/api.ts';
import { useMay } from '../app/capabilities.ts';
import { useAction } from '../app/loading.ts';
import { useCall } from '../app/use-call.ts';
import { AskTrust, isNewFactor, OpensFortress, useAreAllNew } from '../fortress/index.ts';
import { Button } from '../ui/button.tsx';
import { Confirm } from '../ui/confirm.tsx';
import { FormDialog } from '../ui/dialog.tsx';
import { TextField } from '../ui/field.tsx';
import { ErrorNote, WhenLoaded } from '../ui/notice.tsx';
import { waitsForApproval } from '../ui/pending-approval.ts';
import { ShownOnce } from '../ui/shown-once.tsx';
import { Time } from '../ui/time.tsx';
import { toast } from '../ui/toasts.tsx';
import { passkeyCount } from './data.ts';
import { QrPicture } from './qr-picture.tsx';
import { meTexts as texts } from './texts.ts';

type Enrolment = RouteOutput<'POST /auth/mfa/totp'>;

/** The list of passkeys knows of one that was just added. */
const hasPasskey = (loaded: number) => (passkeyCount.value ?? loaded) > 0;

export function SecondFactor() {
  const may = useMay({
    enrol: ['mfa:enrol', 'self/mfa'],
    disable: ['mfa:disable', 'self/mfa'],
    trust: ['mfa:ask_trust', 'self/mfa'],
  });
  const factor = useCall('GET /auth/mfa');
  const areAllNew = useAreAllNew();
  const action = useAction();
  const [enrolment, setEnrolment] = useState<Enrolment | null>(null);
  const [codes, setCodes] = useState<readonly string[] | null>(null);
  const [isRemoving, setRemoving] = useState(false);
  return (
    <section class="card">
      <h2>{texts.factor}</h2>
      <p class="soft">{texts.factorIntro}</p>
      <WhenLoaded of={factor}>
        {({ totp, passkeys, recovery_codes_left: left }) =>
          totp.enrolled && totp.confirmed_at !== null ? (
            <>
              <p>
                {texts.factorSince} <Time at={totp.confirmed_at} />. {texts.codesLeft(left)}
              </p>
              <p>
                <OpensFortress from={totp.opens_fortress_from} />
              </p>
              {isNewFactor(totp.opens_fortress_from) && may.trust ? (
                <AskTrust areAllNew={areAllNew.data ?? false} />
              ) : null}
              {may.disable ? (
                <div>
                  <Button onClick={() => setRemoving(true)}>{texts.removeFactor}</Button>
                </div>
              ) : null}
            </>
          ) : may.enrol ? (
            <>
              {hasPasskey(passkeys) ? <p>{texts.passkeyCounts}</p> : null}
              <div>
                <Button
                  {...(!hasPasskey(passkeys) && { kind: 'primary' as const })}
                  isBusy={action.isRunning}
                  onClick={() => void action.run(async () => setEnrolment(await call('POST /auth/mfa/totp', {})))}
                >
                  {texts.addFactor}
                </Button>
              </div>
            </>
          ) : null
        }
      </WhenLoaded>
      <ErrorNote error={action.error} />
      {enrolment === null ? null : (
        <Enrol
          enrolment={enrolment}
          onClose={() => setEnrolment(null)}
          onDone={(made) => {
            setEnrolment(null);
            setCodes(made);
            factor.reload();
          }}
        />
      )}
      {codes === null ? null : (
        <ShownOnce
          title={texts.codesTitle}
          label={texts.codesLabel}
          value={codes.join('\n')}
          isList
          fileName={texts.codesFile}
          onClose={() => setCodes(null)}
        >
          <p>{texts.codesText}</p>
        </ShownOnce>
      )}
      {isRemoving ? (
        <Confirm
          title={texts.removeFactor}
          submitText={texts.removeFactor}
          onClose={() => setRemoving(false)}
          work={async () => {
            const answer = await call('DELETE /auth/mfa/totp', {});
            if (!waitsForApproval(answer)) toast(texts.factorRemoved);
            setRemoving(false);
            factor.reload();
          }}
        >
          {texts.removeFactorText}
        </Confirm>
      ) : null}
    </section>
  );
}

function Enrol({
  enrolment: { secret, otpauth_uri: address },
  onClose,
  onDone,
}: {
  enrolment: Enrolment;
  onClose: () => void;
  onDone: (codes: readonly string[]) => void;
}) {
  const [otp, setOtp] = useState('');
  const submit = async () => {
    const body = { otp: otp.trim(), step_up: true };
    const { recovery_codes: codes } = await call('POST /auth/mfa/totp/confirm', { body });
    toast(texts.factorAdded);
    onDone(codes);
    await loadMe();
  };
  return (
    <FormDialog title={texts.addTitle} submitText={texts.confirm} onClose={onClose} submit={submit}>
      <p>{texts.scan}</p>
      <QrPicture text={address} label={texts.picture} />
      <div class="field">
        <span class="label">{texts.key}</span>
        <div class="value">
          <output class="value-text" aria-label={texts.key}>
            {secret}
          </output>
        </div>
      </div>
      <a href={address}>{texts.openApp}</a>
      <TextField
        field="otp"
        label={texts.code}
        value={otp}
        onInput={setOtp}
        autocomplete="one-time-code"
        maxLength={6}
        isRequired
        isFocused
        isMono
      />
    </FormDialog>
  );
}
