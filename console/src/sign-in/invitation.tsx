import { useState } from 'preact/hooks';
import { call, enter } from '../app/api.ts';
import { openedInvitation } from '../app/invitation-link.ts';
import { useAction, useLoaded } from '../app/loading.ts';
import { Facts } from '../ui/facts.tsx';
import { TextField } from '../ui/field.tsx';
import { ErrorNote, Notice } from '../ui/notice.tsx';
import { NewPassword, SignInForm } from './form.tsx';
import { signInTexts as texts } from './texts.ts';

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
    const session = await call('POST /auth/accept-invite', { body: { token, password } }, { isSignIn: true });
    openedInvitation.value = null;
    await enter(session);
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
      <Facts
        of={[
          [texts.email, email],
          [texts.role, texts.roles[role]],
          [texts.validUntil, new Date(expires_at).toLocaleString('en', { dateStyle: 'long', timeStyle: 'short' })],
        ]}
      />
    </Notice>
  );
}
