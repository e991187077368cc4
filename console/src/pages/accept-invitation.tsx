import { useState } from 'preact/hooks';
import { call, loadMe } from '../api.ts';
import { openedInvitation } from '../invitation-link.ts';
import { useAction, useLoaded } from '../loading.ts';
import { signInTexts as texts } from '../texts/sign-in.ts';
import { TextField } from '../ui/field.tsx';
import { ErrorNote, Notice } from '../ui/notice.tsx';
import { NewPassword, SignInForm } from './sign-in-form.tsx';

/** An invitation as a whole, such as `cv_inv_` with 49 characters; nothing is asked about what is still typed. */
const WHOLE = /^cv_inv_[0-9A-Za-z]{49}$/;

export function AcceptInvitation() {
  const action = useAction();
  const isOpened = openedInvitation.value !== null;
  const [text, setText] = useState(openedInvitation.value ?? '');
  const [password, setPassword] = useState('');
  const [repeated, setRepeated] = useState('');
  const token = text.trim();
  const submit = async () => {
    if (password !== repeated) return;
    await call('POST /auth/accept-invite', { body: { token, password } }, { isSignIn: true });
    openedInvitation.value = null;
    await loadMe();
  };
  return (
    <SignInForm action={action} submitText={texts.accept} onSubmit={submit}>
      <Purpose key={token} token={token} />
      <TextField
        field="token"
        label={texts.invitationToken}
        hint={texts.invitationHint}
        value={text}
        onInput={setText}
        isRequired
        isFocused={!isOpened}
        isMono
      />
      <NewPassword
        field="password"
        value={password}
        onInput={setPassword}
        repeated={repeated}
        onRepeat={setRepeated}
        isFocused={isOpened}
      />
    </SignInForm>
  );
}

/** What the invitation is for, before somebody chooses a password for it. */
function Purpose({ token }: { token: string }) {
  const invitation = useLoaded(
    (signal) =>
      WHOLE.test(token)
        ? call('POST /auth/read-invite', { body: { token } }, { isSignIn: true, isRead: true, signal })
        : Promise.resolve(null),
    [token],
  );
  if (invitation.error !== null) return <ErrorNote error={invitation.error} />;
  if (!invitation.data) return null;
  const { organization, email, role, invited_by, expires_at } = invitation.data;
  return (
    <Notice>
      <p>{texts.invited(organization, invited_by)}</p>
      <dl class="facts">
        <dt>{texts.email}</dt>
        <dd>{email}</dd>
        <dt>{texts.role}</dt>
        <dd>{texts.roles[role]}</dd>
        <dt>{texts.validUntil}</dt>
        <dd>{new Date(expires_at).toLocaleString('en', { dateStyle: 'long', timeStyle: 'short' })}</dd>
      </dl>
    </Notice>
  );
}
