import { Coffer, CofferError } from '@coffer/client';
import { useEffect, useState } from 'preact/hooks';
import { call, enter, providerSignOut, signedOutBecause } from '../app/api.ts';
import { openedInvitation } from '../app/invitation-link.ts';
import { useAction } from '../app/loading.ts';
import type { PageProps } from '../app/page.ts';
import { replace } from '../app/router.ts';
import { Button } from '../ui/button.tsx';
import { TextField } from '../ui/field.tsx';
import { useForm } from '../ui/form-values.ts';
import { Icon } from '../ui/icon.tsx';
import { Mark } from '../ui/mark.tsx';
import { ErrorNote, Notice } from '../ui/notice.tsx';
import { asRefusal } from '../ui/passkey-refusal.ts';
import { NewPassword, SignInForm } from './form.tsx';
import { AcceptInvitation } from './invitation.tsx';
import { goToProvider, takeProviderAnswer } from './provider.ts';
import { signInTexts as texts } from './texts.ts';

/** One question at a time. Who has neither an address nor a passkey here chooses one of the others. */
type Way = 'email' | 'sign-on' | 'invitation' | 'first-start';

export default function SignInPage({ rest }: PageProps) {
  return rest[0] === SIGNED_ON ? <SignedOn /> : <SignIn />;
}

function SignIn() {
  const isFirstStart = document.getElementById('app')?.dataset['firstStart'] !== undefined;
  const [way, setWay] = useState<Way>(isFirstStart ? 'first-start' : 'email');
  const invitation = openedInvitation.value;
  useEffect(() => {
    if (invitation !== null) setWay('invitation');
  }, [invitation]);
  return (
    <main class="centered sign-in-page">
      <div class="sign-in card">
        <div class="row">
          <Mark />
          <h1>{texts.title}</h1>
        </div>
        <SignedOutNotice />
        {way === 'email' ? <WithEmail onSignOn={() => setWay('sign-on')} /> : null}
        {way === 'sign-on' ? <WithSignOn /> : null}
        {way === 'invitation' ? <AcceptInvitation /> : null}
        {way === 'first-start' ? <FirstStart /> : null}
        <div class="row between sign-in-others">
          {way === 'email' ? (
            <>
              <Other text={texts.haveInvitation} onClick={() => setWay('invitation')} />
              <Other text={texts.haveToken} onClick={() => setWay('first-start')} />
            </>
          ) : (
            <Other text={texts.otherWays} onClick={() => setWay('email')} />
          )}
        </div>
      </div>
    </main>
  );
}

function Other({ text, onClick }: { text: string; onClick: () => void }) {
  return (
    <Button kind="quiet" isSmall onClick={onClick}>
      {text}
    </Button>
  );
}

function SignedOutNotice() {
  const reason = signedOutBecause.value;
  if (reason === null) return null;
  return (
    <Notice>
      {texts.reason(reason)}
      {providerSignOut === null ? null : (
        <>
          {' '}
          <a href={providerSignOut.url} rel="noreferrer">
            {texts.signOutAtProvider(providerSignOut.provider)}
          </a>
        </>
      )}
    </Notice>
  );
}

interface Login {
  email: string;
  password: string;
  tenant?: string;
  otp?: string;
}

/** The service puts the new session into a cookie that scripts cannot read. */
async function logIn(login: Login): Promise<void> {
  await enter(await call('POST /auth/login', { body: login }, { isSignIn: true }));
}

/** The browser offers the passkeys that it has for this service, so nothing has to be typed. */
function WithPasskey() {
  const action = useAction();
  if (!('PublicKeyCredential' in globalThis)) return null;
  const signIn = async () => {
    const { startAuthentication } = await import('@simplewebauthn/browser');
    const { options } = await call('POST /auth/passkeys/options', {}, { isSignIn: true });
    const response = await startAuthentication({ optionsJSON: options as never }).catch(asRefusal);
    await enter(await call('POST /auth/passkeys/login', { body: { response: response as never } }, { isSignIn: true }));
  };
  return (
    <>
      <Button isBusy={action.isRunning} onClick={() => action.run(signIn)}>
        <Icon name="passkey" />
        {texts.passkey}
      </Button>
      <ErrorNote error={action.error} />
    </>
  );
}

/** How the second factor can be shown that a login lacked; null for another refusal. */
function methodsIn(error: unknown): readonly string[] | null {
  if (!(error instanceof CofferError) || error.code !== 'MFA_REQUIRED') return null;
  return (error.details['methods'] ?? ['totp']) as readonly string[];
}

/** The address, then the password, then a code if the account has a second factor. */
function WithEmail({ onSignOn }: { onSignOn: () => void }) {
  const action = useAction();
  const form = useForm({ email: '', password: '', tenant: '', otp: '' });
  const { email, password, tenant, otp } = form.values;
  const [isKnown, setKnown] = useState(false);
  const [methods, setMethods] = useState<readonly string[]>([]);
  const needsOtp = methods.some((method) => method !== 'passkey');
  const submit = async () => {
    try {
      await logIn({
        email,
        password,
        ...(tenant.trim() !== '' && { tenant: tenant.trim() }),
        ...(needsOtp && otp.trim() !== '' && { otp: otp.trim() }),
      });
    } catch (error) {
      const shown = methodsIn(error);
      if (shown === null || needsOtp) throw error;
      setMethods(shown);
    }
  };
  if (!isKnown) {
    return (
      <>
        <SignInForm action={action} submitText={texts.next} onSubmit={async () => setKnown(true)}>
          <TextField
            label={texts.email}
            type="email"
            {...form.text('email')}
            autocomplete="username"
            isRequired
            isFocused
          />
          <Organization tenant={form.text('tenant')} />
        </SignInForm>
        <div class="or">{texts.or}</div>
        <WithPasskey />
        <KnownProvider />
        <Button onClick={onSignOn}>
          <Icon name="signOn" />
          {texts.signOn}
        </Button>
      </>
    );
  }
  return (
    <>
      <SignInForm action={action} submitText={texts.submit} onSubmit={submit}>
        <Whom email={email} onChange={() => setKnown(false)} />
        <TextField
          label={texts.password}
          type="password"
          {...form.text('password')}
          autocomplete="current-password"
          isRequired
          isFocused
        />
        {methods.includes('passkey') ? <Notice>{texts.passkeyFirst}</Notice> : null}
        {needsOtp ? (
          <TextField
            label={methods.includes('totp') ? texts.otp : texts.recoveryCode}
            hint={methods.includes('totp') ? texts.otpHint : texts.recoveryCodeHint}
            {...form.text('otp')}
            autocomplete="one-time-code"
            isRequired
            isFocused
          />
        ) : null}
      </SignInForm>
      {methods.includes('passkey') ? <WithPasskey /> : null}
    </>
  );
}

/** For password managers it is a field, which they fill together with the password. */
function Whom({ email, onChange }: { email: string; onChange: () => void }) {
  return (
    <div class="row between">
      <input class="whom" value={email} readOnly tabIndex={-1} autocomplete="username" aria-label={texts.email} />
      <Other text={texts.notYou} onClick={onChange} />
    </div>
  );
}

/** Most services have one organization, so it is named only by somebody of another one. */
function Organization({ tenant }: { tenant: { value: string; onInput: (value: string) => void } }) {
  const [isShown, setShown] = useState(tenant.value !== '');
  if (isShown) {
    return <TextField label={texts.tenant} hint={texts.tenantHint} {...tenant} autocomplete="organization" isFocused />;
  }
  return (
    <div>
      <Other text={texts.otherOrganization} onClick={() => setShown(true)} />
    </div>
  );
}

interface Provider {
  readonly provider: string;
  readonly tenant: string;
}

/** The provider that was used in this browser before has a button of its own. */
const PROVIDER = 'coffer-provider';

function knownProvider(): Provider | null {
  const [provider = '', tenant = ''] = (localStorage.getItem(PROVIDER) ?? '').split(' ');
  return provider === '' ? null : { provider, tenant };
}

async function leaveFor({ provider, tenant }: Provider): Promise<void> {
  const begun = await call(
    'POST /auth/sso/{provider}/browser',
    { path: { provider }, body: tenant === '' ? {} : { tenant } },
    { isSignIn: true },
  );
  localStorage.setItem(PROVIDER, `${provider} ${tenant}`);
  goToProvider(begun);
}

function KnownProvider() {
  const action = useAction();
  const known = knownProvider();
  if (known === null) return null;
  return (
    <>
      <Button isBusy={action.isRunning} onClick={() => action.run(() => leaveFor(known))}>
        <Icon name="signOn" />
        {texts.continueWith(known.provider)}
      </Button>
      <ErrorNote error={action.error} />
    </>
  );
}

/** Leaves for the provider, which sends the browser back to `SignedOn`. */
function WithSignOn() {
  const action = useAction();
  const form = useForm({ provider: '', tenant: '' });
  const { provider, tenant } = form.values;
  const submit = () => leaveFor({ provider: provider.trim(), tenant: tenant.trim() });
  return (
    <SignInForm action={action} submitText={texts.signOnSubmit} onSubmit={submit}>
      <TextField label={texts.provider} hint={texts.providerHint} {...form.text('provider')} isRequired isFocused />
      <TextField label={texts.tenant} hint={texts.tenantHint} {...form.text('tenant')} autocomplete="organization" />
    </SignInForm>
  );
}

/** The page to which the service sends a browser that comes back from its provider. What is in the address is used once, and taken out of it. */
const SIGNED_ON = 'signed-on';

function SignedOn() {
  const action = useAction();
  useEffect(() => {
    const body = takeProviderAnswer('#/');
    void action.run(async () => {
      const session = await call('POST /auth/sso/session', { body }, { isSignIn: true });
      replace('#/');
      await enter(session);
    });
  }, []);
  return (
    <main class="centered sign-in-page">
      <div class="sign-in card">
        <h1>{action.error === null ? texts.signingOn : texts.signOnFailed}</h1>
        <ErrorNote error={action.error} />
        {action.error === null ? null : (
          <Button kind="primary" onClick={() => location.reload()}>
            {texts.again}
          </Button>
        )}
      </div>
    </main>
  );
}

/** The first owner has a token and no password. The token is used here once and is not stored. */
function FirstStart() {
  const action = useAction();
  const [token, setToken] = useState('');
  const [owner, setOwner] = useState<{ email: string; tenant: string } | null>(null);
  const admin = () => new Coffer({ url: location.origin, auth: { token: token.trim() } });
  const look = async () => {
    const { user, tenant } = await admin().call('GET /auth/me', {});
    setOwner({ email: user.email, tenant: tenant.name });
  };
  if (owner === null) {
    return (
      <SignInForm action={action} submitText={texts.firstStartNext} onSubmit={look}>
        <p class="soft">{texts.firstStartIntro}</p>
        <TextField
          label={texts.adminToken}
          hint={texts.adminTokenHint}
          type="password"
          value={token}
          onInput={setToken}
          isRequired
          isFocused
        />
      </SignInForm>
    );
  }
  const choose = async (email: string, password: string) => {
    const body = { new_password: password, ...(email !== owner.email && { email }) };
    await admin().call('POST /auth/password', { body });
    setToken('');
    await logIn({ email, password, tenant: owner.tenant });
  };
  return <FirstPassword known={owner.email} onChosen={choose} />;
}

function FirstPassword({
  known,
  onChosen,
}: {
  known: string;
  onChosen: (email: string, password: string) => Promise<void>;
}) {
  const action = useAction();
  const [email, setEmail] = useState(known);
  const [password, setPassword] = useState('');
  const [repeated, setRepeated] = useState('');
  const submit = async () => {
    if (password === repeated) await onChosen(email.trim(), password);
  };
  return (
    <SignInForm action={action} submitText={texts.firstStartSubmit} onSubmit={submit}>
      <TextField
        field="email"
        label={texts.email}
        hint={texts.firstStartEmail}
        type="email"
        value={email}
        onInput={setEmail}
        autocomplete="username"
        isRequired
        isFocused
      />
      <NewPassword
        field="new_password"
        value={password}
        onInput={setPassword}
        repeated={repeated}
        onRepeat={setRepeated}
      />
    </SignInForm>
  );
}
