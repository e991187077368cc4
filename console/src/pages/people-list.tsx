import { useState } from 'preact/hooks';
import { call, me } from '../api.ts';
import { waitsForApproval } from '../approval.ts';
import { useMay } from '../capabilities.ts';
import { invitationLink } from '../invitation-link.ts';
import { useAction, useLoaded } from '../loading.ts';
import { loadUsers, type User } from '../people.ts';
import { href, place, setQuery } from '../router.ts';
import { peopleTexts as texts } from '../texts/people.ts';
import { shared } from '../texts/shared.ts';
import { Badge, type Tone } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { Dialog, FormDialog } from '../ui/dialog.tsx';
import { Checkbox, Select, TextField } from '../ui/field.tsx';
import { PageHead } from '../ui/layout.tsx';
import { Empty, Notice, WhenLoaded } from '../ui/notice.tsx';
import { copyForAWhile } from '../ui/secret-value.tsx';
import { Table } from '../ui/table.tsx';
import { Time } from '../ui/time.tsx';
import { toast } from '../ui/toasts.tsx';
import { WhenAllowed } from '../ui/when-allowed.tsx';
import { FactorBadge } from './person-factors.tsx';
import { type Grant, VaultGrants } from './vault-grants.tsx';

export type Role = User['role'];
const STATUS_TONES: Readonly<Record<User['status'], Tone>> = {
  active: 'good',
  invited: 'warning',
  disabled: 'danger',
};

export function StatusBadge({ status }: { status: User['status'] }) {
  return <Badge tone={STATUS_TONES[status]}>{texts.statuses[status]}</Badge>;
}

/** An invitation that was just made. */
export interface Invited {
  readonly email: string;
  readonly token: string;
}

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
        { title: texts.role, cell: ({ role }) => texts.roles[role] },
        { title: shared.status, cell: ({ status }) => <StatusBadge status={status} /> },
        { title: texts.secondFactor, cell: ({ second_factors }) => <FactorBadge factors={second_factors} /> },
        { title: texts.lastSeen, cell: ({ last_seen_at }) => <Time at={last_seen_at} none={shared.never} /> },
        { title: texts.added, cell: ({ created_at }) => <Time at={created_at} /> },
      ]}
    />
  );
}

/** What only owners may give is offered to owners only. */
export function RoleChoice({ value, onChange }: { value: Role; onChange: (role: Role) => void }) {
  const may = useMay({ owner: ['users:grant_owner', 'user'] });
  const roles = (Object.keys(texts.roles) as Role[]).filter(
    (role) => role !== 'owner' || may.owner || value === 'owner',
  );
  return (
    <Select
      field="role"
      label={texts.role}
      hint={texts.roleMeanings[value]}
      value={value}
      onChange={onChange}
      choices={roles.map((role) => [role, texts.roles[role]] as const)}
    />
  );
}

function Invite({ onClose, onDone }: { onClose: () => void; onDone: (invited: Invited | null) => void }) {
  const action = useAction();
  const [email, setEmail] = useState('');
  const [name, setName] = useState('');
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
      action={action}
      submitText={texts.sendInvitation}
      isIncomplete={grants === null}
      onClose={onClose}
      onSubmit={() => void action.run(submit)}
    >
      <TextField field="email" label={texts.email} type="email" value={email} onInput={setEmail} isRequired isFocused />
      <TextField field="name" label={texts.fullName} hint={texts.optional} value={name} onInput={setName} />
      <RoleChoice value={role} onChange={setRole} />
      <VaultGrants onChange={setGrants} />
    </FormDialog>
  );
}

/** The code is in the fragment of the link, which no browser sends anywhere. It is in the document only while this is open. */
export function InvitationCode({ invited, onClose }: { invited: Invited; onClose: () => void }) {
  const link = invitationLink(invited.token);
  const message = texts.invitationMessage(me.value?.tenant.name ?? '', link);
  return (
    <Dialog title={texts.invitationTitle(invited.email)} onClose={onClose} isKept>
      <p>{texts.invitationTell}</p>
      <Notice kind="warning">{shared.shownOnce}</Notice>
      <div class="value">
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a long value scrolls, which must be possible by keyboard */}
        <output class="value-text" aria-label={texts.invitationLink} tabIndex={0}>
          {link}
        </output>
      </div>
      <details>
        <summary>{texts.withoutLink}</summary>
        <p>{texts.withoutLinkTell(`${location.origin}/`)}</p>
        <div class="value">
          <output class="value-text" aria-label={texts.invitationLabel}>
            {invited.token}
          </output>
        </div>
      </details>
      <div class="dialog-foot">
        <Button onClick={onClose}>{shared.close}</Button>
        <Button onClick={() => void copyForAWhile(message)}>{texts.copyMessage}</Button>
        <Button kind="primary" onClick={() => void copyForAWhile(link)}>
          {texts.copyLink}
        </Button>
      </div>
    </Dialog>
  );
}
