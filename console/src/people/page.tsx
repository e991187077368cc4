import { useState } from 'preact/hooks';
import { call, me } from '../app/api.ts';
import { useMay } from '../app/capabilities.ts';
import { href, navigate } from '../app/router.ts';
import { useCall } from '../app/use-call.ts';
import { Button } from '../ui/button.tsx';
import { Confirm } from '../ui/confirm.tsx';
import { FormDialog } from '../ui/dialog.tsx';
import { Facts } from '../ui/facts.tsx';
import { TextField } from '../ui/field.tsx';
import { Notice } from '../ui/notice.tsx';
import { PageHead } from '../ui/page-head.tsx';
import { waitsForApproval } from '../ui/pending-approval.ts';
import { shared } from '../ui/texts.ts';
import { Time } from '../ui/time.tsx';
import { toast } from '../ui/toasts.tsx';
import { WhenFound } from '../ui/when-found.tsx';
import type { User } from './data.ts';
import { EndAccess } from './end-access.tsx';
import { FactorList } from './factors.tsx';
import { InvitationCode, type Invited } from './invitation.tsx';
import { PersonReach } from './reach.tsx';
import { endTexts } from './reach-texts.ts';
import { roleTexts } from './role-texts.ts';
import { type Role, RoleChoice, StatusBadge } from './status.tsx';
import { peopleTexts as texts } from './texts.ts';
import PersonVaults from './vaults.tsx';

type Opened = 'end' | 'role' | 'name' | 'disable' | 'enable' | 'invite' | 'factor' | 'trust' | 'delete';

export default function PersonPage({ id }: { id: string }) {
  const user = useCall('GET /v1/users/{user_id}', { path: { user_id: id } });
  const crumbs = <a href={href('people')}>{texts.title}</a>;
  return (
    <WhenFound of={user} title={id} crumbs={crumbs} texts={texts}>
      {(found) => <Person user={found} crumbs={crumbs} onChanged={user.reload} />}
    </WhenFound>
  );
}

function Person({ user, crumbs, onChanged }: { user: User; crumbs: preact.ComponentChildren; onChanged: () => void }) {
  const { id, email, name, role, status, has_password: hasPassword } = user;
  const resource = `user/${id}`;
  const may = useMay({
    update: ['users:update', resource],
    delete: ['users:delete', resource],
    invite: ['users:invite', resource],
    factor: ['users:reset_mfa', resource],
    trust: ['users:trust_mfa', resource],
    approvals: ['approvals:list', 'self/approvals'],
    owner: ['users:grant_owner', 'user'],
    access: ['access_paths:list', 'access-path/*'],
  });
  const [opened, setOpened] = useState<Opened | null>(null);
  const [changes, setChanges] = useState(0);
  const [invited, setInvited] = useState<Invited | null>(null);
  const isMe = id === me.value?.user.id;
  // Owners are changed by owners only.
  const mayChange = role !== 'owner' || may.owner;
  const mayUpdate = may.update && mayChange;
  const hasFactor = user.second_factors.length > 0;
  // Whoever has a second factor signs in with it, and an invitation would get past it.
  const mayInvite = may.invite && mayChange && status !== 'disabled' && !hasPassword && !hasFactor;
  const isNew = user.second_factors.some(({ opens_fortress_from }) => Date.parse(opens_fortress_from) > Date.now());
  const open = (part: Opened, text: string, kind?: 'destructive') => (
    <Button {...(kind && { kind })} onClick={() => setOpened(part)}>
      {text}
    </Button>
  );
  const actions = (
    <>
      {mayInvite ? open('invite', texts.resend) : null}
      {may.factor && mayChange && status === 'active' && !isMe && hasFactor ? open('factor', texts.resetFactor) : null}
      {may.trust && mayChange && status === 'active' && !isMe && isNew ? open('trust', texts.trustFactor) : null}
      {mayUpdate && !isMe && status === 'disabled' ? open('enable', texts.enable) : null}
      {mayUpdate && !isMe && status !== 'disabled' ? open('disable', texts.disable) : null}
      {mayUpdate ? open('role', texts.changeRole) : null}
      {mayUpdate && may.access && !isMe ? open('end', endTexts.open, 'destructive') : null}
      {may.delete && mayChange && !isMe ? open('delete', texts.delete, 'destructive') : null}
    </>
  );
  const changed = () => {
    setOpened(null);
    setChanges(changes + 1);
    onChanged();
  };
  return (
    <>
      <PageHead title={email} crumbs={crumbs} actions={actions} />
      {may.trust && may.approvals && !isMe ? <AsksForTrust id={id} /> : null}
      <section class="card">
        <div class="row between">
          <h2>{texts.about}</h2>
          {mayUpdate ? (
            <Button kind="quiet" isSmall onClick={() => setOpened('name')}>
              {texts.rename}
            </Button>
          ) : null}
        </div>
        <Facts
          of={[
            [texts.fullName, name === '' ? '–' : name],
            [
              texts.role,
              <>
                {roleTexts.roles[role]}: <span class="soft">{roleTexts.roleMeanings[role]}</span>
              </>,
            ],
            [shared.status, <StatusBadge status={status} />],
            [texts.signsIn, hasPassword ? shared.yes : shared.no],
            [texts.secondFactor, <FactorList factors={user.second_factors} />],
            [texts.added, <Time at={user.created_at} />],
            [texts.lastSeen, <Time at={user.last_seen_at} none={shared.never} />],
          ]}
        />
      </section>
      <PersonVaults key={`vaults ${changes}`} user={user} />
      <PersonReach key={`reach ${changes}`} user={user} />
      {opened === null ? null : (
        <Change
          opened={opened}
          user={user}
          onClose={() => setOpened(null)}
          onDone={changed}
          onInvited={(done) => {
            setInvited(done);
            changed();
          }}
        />
      )}
      {invited === null ? null : <InvitationCode invited={invited} onClose={() => setInvited(null)} />}
    </>
  );
}

/** A request of this person that waits for administrators. */
function AsksForTrust({ id }: { id: string }) {
  const pending = useCall('GET /approvals', { query: { status: 'pending', limit: 200 } }, [id]);
  const asked = pending.data?.approvals.find((each) => each.kind === 'mfa_trust' && each.requested_by.id === id);
  if (asked === undefined) return null;
  return (
    <Notice kind="warning">
      {texts.asksForTrust} <a href={href('approvals', asked.id)}>{texts.seeRequest}</a>
    </Notice>
  );
}

interface ChangeProps {
  user: User;
  onClose: () => void;
  onDone: () => void;
}

function Change({
  opened,
  onInvited,
  ...props
}: ChangeProps & { opened: Opened; onInvited: (invited: Invited) => void }) {
  const { user, onClose, onDone } = props;
  const { id, email } = user;
  const path = { user_id: id };
  if (opened === 'end') return <EndAccess {...props} />;
  if (opened === 'role') return <ChangeRole {...props} />;
  if (opened === 'name') return <ChangeName {...props} />;
  if (opened === 'invite') {
    const work = async () => {
      const { token } = await call('POST /v1/users/{user_id}/invite', { path });
      onInvited({ email, token });
    };
    return (
      <Confirm
        title={`${texts.resend}: ${email}`}
        submitText={texts.sendInvitation}
        isDanger={false}
        work={work}
        onClose={onClose}
      >
        {texts.resendText}
      </Confirm>
    );
  }
  if (opened === 'factor') {
    const work = async () => {
      const answer = await call('DELETE /v1/users/{user_id}/mfa', { path });
      if (!waitsForApproval(answer)) toast(texts.factorRemoved(email));
      onDone();
    };
    return (
      <Confirm title={`${texts.resetFactor}: ${email}`} submitText={texts.resetFactor} work={work} onClose={onClose}>
        {texts.resetFactorText}
      </Confirm>
    );
  }
  if (opened === 'trust') {
    const work = async () => {
      const answer = await call('POST /v1/users/{user_id}/mfa/trust', { path });
      if (!waitsForApproval(answer)) toast(texts.factorTrusted(email));
      onDone();
    };
    return (
      <Confirm
        title={`${texts.trustFactor}: ${email}`}
        submitText={texts.trustFactor}
        isDanger={false}
        work={work}
        onClose={onClose}
      >
        {texts.trustFactorText}
      </Confirm>
    );
  }
  if (opened === 'delete') {
    const work = async () => {
      const answer = await call('DELETE /v1/users/{user_id}', { path });
      if (waitsForApproval(answer)) return onDone();
      toast(texts.deleted(email));
      navigate(href('people'));
    };
    return (
      <Confirm title={`${texts.delete} ${email}`} submitText={texts.delete} typed={email} work={work} onClose={onClose}>
        {texts.deleteText}
      </Confirm>
    );
  }
  const isEnabling = opened === 'enable';
  const work = async () => {
    const answer = await call('PATCH /v1/users/{user_id}', {
      path,
      body: { status: isEnabling ? 'active' : 'disabled' },
    });
    if (!waitsForApproval(answer)) toast(isEnabling ? texts.enabled(email) : texts.disabled(email));
    onDone();
  };
  const text = isEnabling ? texts.enable : texts.disable;
  return (
    <Confirm title={`${text} ${email}`} submitText={text} isDanger={!isEnabling} work={work} onClose={onClose}>
      {isEnabling ? texts.enabled(email) : texts.disableText}
    </Confirm>
  );
}

function ChangeRole({ user, onClose, onDone }: ChangeProps) {
  const [role, setRole] = useState<Role>(user.role);
  const submit = async () => {
    const answer = await call('PATCH /v1/users/{user_id}', { path: { user_id: user.id }, body: { role } });
    if (!waitsForApproval(answer)) toast(texts.roleChanged(user.email, roleTexts.roles[role]));
    onDone();
  };
  return (
    <FormDialog
      title={`${texts.changeRole}: ${user.email}`}
      submitText={texts.changeRole}
      isIncomplete={role === user.role}
      onClose={onClose}
      submit={submit}
    >
      <RoleChoice value={role} onChange={setRole} />
    </FormDialog>
  );
}

function ChangeName({ user, onClose, onDone }: ChangeProps) {
  const [name, setName] = useState(user.name);
  const submit = async () => {
    const answer = await call('PATCH /v1/users/{user_id}', { path: { user_id: user.id }, body: { name: name.trim() } });
    if (!waitsForApproval(answer)) toast(texts.renamed);
    onDone();
  };
  return (
    <FormDialog title={`${texts.rename}: ${user.email}`} submitText={shared.save} onClose={onClose} submit={submit}>
      <TextField field="name" label={texts.fullName} value={name} onInput={setName} isFocused />
    </FormDialog>
  );
}
