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
import { Mark } from '../ui/mark.tsx';
import { ErrorNote, Notice } from '../ui/notice.tsx';
import { asRefusal } from '../ui/passkey-refusal.ts';
import { Tabs } from '../ui/tabs.tsx';
import { NewPassword, SignInForm } from './form.tsx';
import { AcceptInvitation } from './invitation.tsx';
import { goToProvider, takeProviderAnswer } from './provider.ts';
import { signInTexts as texts } from './texts.ts';

type Way = 'password' | 'sign-on' | 'invitation' | 'first-start';

export default function SignInPage({ rest }: PageProps) {
  return rest[0] === SIGNED_ON ? <SignedOn /> : <SignIn />;
}

function SignIn() {
  const isFirstStart = document.getElementById('app')?.dataset['firstStart'] !== undefined;
  const [way, setWay] = useState<Way>(isFirstStart ? 'first-start' : 'password');
  const invitation = openedInvitation.value;
  useEffect(() => {
    if (invitation !== null) setWay('invitation');
  }, [invitation]);
  const reason = signedOutBecause.value;
  return (
    <main class="centered">
      <div class="sign-in card">
        <div class="row">
          <Mark />
          <h1>{texts.title}</h1>
        </div>
        {reason === null ? null : (
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
        )}
        <Tabs
          label={texts.ways}
          current={way}
          onChange={setWay}
          tabs={[
            // Once somebody can sign in, it is for the few who have nothing but a token.
            ...(isFirstStart || way === 'first-start' ? [['first-start', texts.firstStart] as const] : []),
            ['password', texts.password],
            ['sign-on', texts.signOn],
            ['invitation', texts.invitation],
          ]}
        />
        <Chosen way={way} />
        {isFirstStart || way === 'first-start' ? null : (
          <div>
            <Button kind="quiet" isSmall onClick={() => setWay('first-start')}>
              {texts.haveToken}
            </Button>
          </div>
        )}
      </div>
    </main>
  );
}

function Chosen({ way }: { way: Way }) {
  if (way === 'password') {
    return (
      <>
        <WithPassword />
        <WithPasskey />
      </>
    );
  }
  if (way === 'sign-on') return <WithSignOn />;
  return way === 'invitation' ? <AcceptInvitation /> : <FirstStart />;
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
    <div class="stack">
      <Button isBusy={action.isRunning} onClick={() => action.run(signIn)}>
        {texts.passkey}
      </Button>
      <ErrorNote error={action.error} />
    </div>
  );
}

/** How the second factor can be shown that a login lacked; null for another refusal. */
function methodsIn(error: unknown): readonly string[] | null {
  if (!(error instanceof CofferError) || error.code !== 'MFA_REQUIRED') return null;
  return (error.details['methods'] ?? ['totp']) as readonly string[];
}

function WithPassword() {
  const action = useAction();
  const form = useForm({ email: '', password: '', tenant: '', otp: '' });
  const { email, password, tenant, otp } = form.values;
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
  return (
    <SignInForm action={action} submitText={texts.submit} onSubmit={submit}>
      <TextField
        label={texts.email}
        type="email"
        {...form.text('email')}
        autocomplete="username"
        isRequired
        isFocused
      />
      <TextField
        label={texts.password}
        type="password"
        {...form.text('password')}
        autocomplete="current-password"
        isRequired
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
      <TextField label={texts.tenant} hint={texts.tenantHint} {...form.text('tenant')} autocomplete="organization" />
    </SignInForm>
  );
}

/** Leaves for the provider, which sends the browser back to `SignedOn`. */
function WithSignOn() {
  const action = useAction();
  const form = useForm({ provider: '', tenant: '' });
  const { provider, tenant } = form.values;
  const submit = async () => {
    const begun = await call(
      'POST /auth/sso/{provider}/browser',
      { path: { provider: provider.trim() }, body: tenant.trim() === '' ? {} : { tenant: tenant.trim() } },
      { isSignIn: true },
    );
    goToProvider(begun);
  };
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
    <main class="centered">
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
