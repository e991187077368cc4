import { useState } from 'preact/hooks';
import { call, loadMe, me } from '../app/api.ts';
import { useMay } from '../app/capabilities.ts';
import { useAction } from '../app/loading.ts';
import { isPage } from '../app/page.ts';
import { addressOf, wayBack } from '../app/router.ts';
import { fortressTexts } from '../fortress/index.ts';
import { roleTexts } from '../people/index.ts';
import { Button } from '../ui/button.tsx';
import { FormDialog } from '../ui/dialog.tsx';
import { Facts } from '../ui/facts.tsx';
import { Checkbox, TextField } from '../ui/field.tsx';
import { Form } from '../ui/form.tsx';
import { useForm } from '../ui/form-values.ts';
import { lazyPart } from '../ui/lazy-part.tsx';
import { ErrorNote, Notice } from '../ui/notice.tsx';
import { PageHead } from '../ui/page-head.tsx';
import { shared } from '../ui/texts.ts';
import { Time } from '../ui/time.tsx';
import { toast } from '../ui/toasts.tsx';
import { SecondFactor } from './second-factor.tsx';
import { meTexts as texts } from './texts.ts';
import { MyTokens } from './tokens.tsx';

const MyLinks = lazyPart(() => import('./links.tsx'));
const MyPasskeys = lazyPart(() => import('./passkeys.tsx'));
const MySessions = lazyPart(() => import('./sessions.tsx'));

export default function MePage() {
  const may = useMay({
    password: ['password:update', 'self/password'],
    factor: ['mfa:read', 'self/mfa'],
    tokens: ['tokens:list', 'self/tokens'],
    sessions: ['sessions:list', 'self/sessions'],
  });
  return (
    <>
      <PageHead title={texts.title} />
      <WayBack />
      <div class="grid">
        <div class="stack">
          <About />
          {may.factor ? <SecondFactor /> : null}
          <ApproveDevice />
        </div>
        <div class="stack">
          {may.password ? <Password /> : null}
          {may.factor ? <MyPasskeys /> : null}
        </div>
      </div>
      <MyLinks />
      {may.tokens ? <MyTokens /> : null}
      {may.sessions ? <MySessions /> : null}
    </>
  );
}

/** For whoever was sent here to add a second factor. Only pages of this console are linked, whatever the address says. */
function WayBack() {
  const back = wayBack();
  const [first = '', , kind] = back?.segments ?? [];
  if (back === null || first === 'me' || !isPage(first)) return null;
  return (
    <p>
      <a href={addressOf(back)}>
        ← {first === 'vaults' && kind === 'secret' ? fortressTexts.backToSecret : fortressTexts.back}
      </a>
    </p>
  );
}

function About() {
  const may = useMay({ update: ['self:update', 'self'] });
  const [isNaming, setNaming] = useState(false);
  const person = me.value;
  if (!person) return null;
  const { user, tenant, credential } = person;
  return (
    <section class="card">
      <div class="row between">
        <h2>{texts.about}</h2>
        {may.update ? (
          <Button kind="quiet" isSmall onClick={() => setNaming(true)}>
            {texts.changeName}
          </Button>
        ) : null}
      </div>
      <Facts
        of={[
          [texts.email, user.email],
          [texts.fullName, user.name === '' ? '–' : user.name],
          [
            texts.role,
            <>
              {roleTexts.roles[user.role]}: <span class="soft">{roleTexts.roleMeanings[user.role]}</span>
            </>,
          ],
          [texts.tenant, tenant.name],
          [texts.signedInUntil, <Time at={credential.expires_at} />],
          [texts.factorAt, <Time at={credential.mfa_at} />],
        ]}
      />
      {isNaming ? <ChangeName name={user.name} onClose={() => setNaming(false)} /> : null}
    </section>
  );
}

function ChangeName({ name: current, onClose }: { name: string; onClose: () => void }) {
  const [name, setName] = useState(current);
  const submit = async () => {
    await call('PATCH /auth/me', { body: { name: name.trim() } });
    await loadMe();
    toast(texts.nameChanged);
    onClose();
  };
  return (
    <FormDialog title={texts.changeName} submitText={shared.save} onClose={onClose} submit={submit}>
      <TextField
        field="name"
        label={texts.fullName}
        hint={texts.nameHint}
        value={name}
        onInput={setName}
        autocomplete="name"
        isFocused
      />
    </FormDialog>
  );
}

function Password() {
  const action = useAction();
  const [current, setCurrent] = useState('');
  const [chosen, setChosen] = useState('');
  const [again, setAgain] = useState('');
  const form = useForm({ isRevoking: false, isKeeping: false });
  const { isRevoking, isKeeping } = form.values;
  const differ = again !== '' && chosen !== again;
  const submit = async () => {
    const body = {
      new_password: chosen,
      ...(current !== '' && { current_password: current }),
      ...(isRevoking ? { revoke_tokens: true } : isKeeping && { keep_tokens: true }),
    };
    await call('POST /auth/password', { body });
    for (const set of [setCurrent, setChosen, setAgain]) set('');
    toast(texts.passwordChanged);
  };
  return (
    <Form
      class="card"
      label={texts.password}
      error={action.error}
      onSubmit={() => {
        if (chosen === again) void action.run(submit);
      }}
    >
      <h2>{texts.password}</h2>
      <p class="soft">{texts.passwordIntro}</p>
      <TextField
        field="current_password"
        label={texts.currentPassword}
        hint={texts.currentHint}
        type="password"
        autocomplete="current-password"
        value={current}
        onInput={setCurrent}
      />
      <TextField
        field="new_password"
        label={texts.newPassword}
        hint={texts.newPasswordHint}
        type="password"
        autocomplete="new-password"
        value={chosen}
        onInput={setChosen}
        isRequired
      />
      <TextField
        label={texts.repeatPassword}
        problem={differ ? texts.passwordsDiffer : null}
        type="password"
        autocomplete="new-password"
        value={again}
        onInput={setAgain}
        isRequired
      />
      <Checkbox
        label={texts.revokeTokens}
        hint={texts.revokeTokensHint}
        {...form.check('isRevoking', 'revoke_tokens')}
      />
      {isRevoking ? null : (
        <Checkbox label={texts.keepTokens} hint={texts.keepTokensHint} {...form.check('isKeeping', 'keep_tokens')} />
      )}
      <ErrorNote error={action.error} />
      <div>
        <Button type="submit" kind="primary" isBusy={action.isRunning} isDisabled={differ}>
          {texts.changePassword}
        </Button>
      </div>
    </Form>
  );
}

function ApproveDevice() {
  const action = useAction();
  const [code, setCode] = useState('');
  const decide = (approve: boolean) =>
    action.run(async () => {
      const { approved } = await call('POST /auth/device/approve', { body: { user_code: code.trim(), approve } });
      setCode('');
      toast(approved ? texts.deviceApproved : texts.deviceRefused);
    });
  return (
    <Form class="card" label={texts.device} error={action.error} onSubmit={() => void decide(true)}>
      <h2>{texts.device}</h2>
      <p class="soft">{texts.deviceIntro}</p>
      <Notice kind="warning">{texts.deviceWarning}</Notice>
      <TextField field="user_code" label={texts.deviceCode} value={code} onInput={setCode} isRequired isMono />
      <ErrorNote error={action.error} />
      <div class="row">
        <Button type="submit" kind="primary" isBusy={action.isRunning}>
          {texts.approve}
        </Button>
        <Button isDisabled={code.trim() === ''} isBusy={action.isRunning} onClick={() => void decide(false)}>
          {texts.refuse}
        </Button>
      </div>
    </Form>
  );
}
