import { useState } from 'preact/hooks';
import { call, me } from '../app/api.ts';
import { useMay } from '../app/capabilities.ts';
import { useLoaded } from '../app/loading.ts';
import { href, place, setQuery } from '../app/router.ts';
import { type Grant, VaultGrants } from '../grants/index.ts';
import { Badge } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { FormDialog } from '../ui/dialog.tsx';
import { Checkbox, TextField } from '../ui/field.tsx';
import { useForm } from '../ui/form-values.ts';
import { Empty, WhenLoaded } from '../ui/notice.tsx';
import { PageHead } from '../ui/page-head.tsx';
import { waitsForApproval } from '../ui/pending-approval.ts';
import { Table } from '../ui/table.tsx';
import { shared } from '../ui/texts.ts';
import { Time } from '../ui/time.tsx';
import { toast } from '../ui/toasts.tsx';
import { WhenAllowed } from '../ui/when-allowed.tsx';
import { loadUsers, type User } from './data.ts';
import { FactorBadge } from './factors.tsx';
import { InvitationCode, type Invited } from './invitation.tsx';
import { roleTexts } from './role-texts.ts';
import { type Role, RoleChoice, StatusBadge } from './status.tsx';
import { peopleTexts as texts } from './texts.ts';

export default function PeopleList() {
  const may = useMay({ create: ['users:create', 'user'] });
  const [invited, setInvited] = useState<Invited | null>(null);
  const [count, setCount] = useState(0);
  const isInviting = place.value.query.has('new') && may.create;
  const invite = may.create ? (
    <Button kind="primary" onClick={() => setQuery({ new: '1' })}>
      {texts.invite}
    </Button>
  ) : null;
  return (
    <>
      <PageHead title={texts.title} intro={texts.intro} actions={invite} />
      <WhenAllowed check={['users:list', 'user']}>{() => <Everybody count={count} />}</WhenAllowed>
      {isInviting ? (
        <Invite
          onClose={() => setQuery({ new: null })}
          onDone={(done) => {
            setInvited(done);
            setQuery({ new: null });
            setCount(count + 1);
          }}
        />
      ) : null}
      {invited === null ? null : <InvitationCode invited={invited} onClose={() => setInvited(null)} />}
    </>
  );
}

/** Loaded again whenever the count changes. */
function Everybody({ count }: { count: number }) {
  const [filter, setFilter] = useState('');
  const isLacking = place.value.query.get('factor') === 'none';
  const people = useLoaded((signal) => loadUsers(signal), [count]);
  return (
    <>
      <div class="row between">
        <TextField label={texts.filter} type="search" value={filter} onInput={setFilter} />
        <Checkbox
          label={texts.onlyLacking}
          isChecked={isLacking}
          onChange={(isChecked) => setQuery({ factor: isChecked ? 'none' : null })}
        />
      </div>
      <WhenLoaded of={people}>{(list) => <People people={list} filter={filter} isLacking={isLacking} />}</WhenLoaded>
    </>
  );
}

/** Who can have a second factor and has none. An invited person adds theirs after the first sign-in. */
const lacksFactor = ({ status, second_factors }: User) => status === 'active' && second_factors.length === 0;

function People({ people, filter, isLacking }: { people: readonly User[]; filter: string; isLacking: boolean }) {
  const word = filter.trim().toLowerCase();
  const shown = people.filter(
    (user) => `${user.email} ${user.name}`.toLowerCase().includes(word) && (!isLacking || lacksFactor(user)),
  );
  if (people.length === 0) return <Empty title={texts.empty}>{texts.emptyText}</Empty>;
  if (shown.length === 0) return <Empty title={isLacking && word === '' ? texts.nobodyLacks : texts.none} />;
  return (
    <Table
      caption={texts.title}
      rows={shown}
      keyOf={({ id }) => id}
      columns={[
        {
          title: texts.email,
          cell: ({ id, email, name }) => (
            <>
              <a href={href('people', id)}>{email}</a> {id === me.value?.user.id ? <Badge>{texts.you}</Badge> : null}
              {name === '' || name === email ? null : <div class="soft">{name}</div>}
            </>
          ),
        },
        { title: texts.role, cell: ({ role }) => roleTexts.roles[role] },
        { title: shared.status, cell: ({ status }) => <StatusBadge status={status} /> },
        { title: texts.secondFactor, cell: ({ second_factors }) => <FactorBadge factors={second_factors} /> },
        { title: texts.lastSeen, cell: ({ last_seen_at }) => <Time at={last_seen_at} none={shared.never} /> },
        { title: texts.added, cell: ({ created_at }) => <Time at={created_at} /> },
      ]}
    />
  );
}

function Invite({ onClose, onDone }: { onClose: () => void; onDone: (invited: Invited | null) => void }) {
  const form = useForm({ email: '', name: '' });
  const { email, name } = form.values;
  const [role, setRole] = useState<Role>('member');
  const [grants, setGrants] = useState<readonly Grant[] | null>([]);
  const submit = async () => {
    const body = {
      email,
      role,
      invite: true,
      ...(name.trim() !== '' && { name: name.trim() }),
      ...(grants !== null && grants.length > 0 && { vaults: [...grants] }),
    };
    const answer = await call('POST /v1/users', { body });
    if (waitsForApproval(answer)) return onDone(null);
    if (answer.invitation === undefined) toast(texts.invitationMissing(answer.email));
    onDone(answer.invitation === undefined ? null : { email: answer.email, token: answer.invitation.token });
  };
  return (
    <FormDialog
      title={texts.inviteTitle}
      submitText={texts.sendInvitation}
      isIncomplete={grants === null}
      onClose={onClose}
      submit={submit}
    >
      <TextField label={texts.email} type="email" {...form.text('email')} isRequired isFocused />
      <TextField label={texts.fullName} hint={texts.optional} {...form.text('name')} />
      <RoleChoice value={role} onChange={setRole} />
      <VaultGrants onChange={setGrants} />
    </FormDialog>
  );
}
