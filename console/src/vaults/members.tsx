import type { RouteOutput } from '@coffer/client';
import { useState } from 'preact/hooks';
import { all, call } from '../app/api.ts';
import { useMay } from '../app/capabilities.ts';
import { useLoaded } from '../app/loading.ts';
import { href } from '../app/router.ts';
import { membersTexts as texts } from '../grants/index.ts';
import { type Directory, useDirectory } from '../people/index.ts';
import { Badge } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { Confirm } from '../ui/confirm.tsx';
import { FormDialog } from '../ui/dialog.tsx';
import { Select, TextField } from '../ui/field.tsx';
import { useForm } from '../ui/form-values.ts';
import { Empty, WhenLoaded } from '../ui/notice.tsx';
import { waitsForApproval } from '../ui/pending-approval.ts';
import { Table } from '../ui/table.tsx';
import { shared } from '../ui/texts.ts';
import { Time } from '../ui/time.tsx';
import { toast } from '../ui/toasts.tsx';
import VaultOthers from './others.tsx';

type Member = RouteOutput<'GET /v1/vaults/{vault}/members'>['members'][number];
type Role = Member['role'];
type Kind = Member['kind'];
type Opened = { what: 'add' | 'review' } | { what: 'role' | 'remove'; member: Member };

const PAGE = 200;
const PAGES = { user: 'people', group: 'groups' } as const;

export function loadMembers(vault: string, signal: AbortSignal): Promise<Member[]> {
  return all(async (cursor) => {
    const query = { limit: PAGE, ...(cursor && { cursor }) };
    const page = await call('GET /v1/vaults/{vault}/members', { path: { vault }, query }, { signal });
    return { items: page.members, next_cursor: page.next_cursor };
  });
}

export default function VaultMembers({ vault, vaultId }: { vault: string; vaultId: string }) {
  const members = useLoaded((signal) => loadMembers(vault, signal), [vault]);
  const directory = useDirectory();
  return (
    <WhenLoaded of={directory}>
      {(known) => (
        <WhenLoaded of={members}>
          {(list) => (
            <>
              <Members vault={vault} members={list} directory={known} onChanged={members.reload} />
              <VaultOthers vault={vault} vaultId={vaultId} groups={groupsIn(list, known)} />
            </>
          )}
        </WhenLoaded>
      )}
    </WhenLoaded>
  );
}

function groupsIn(members: readonly Member[], directory: Directory): string[] {
  return members.filter(({ kind }) => kind === 'group').map(({ kind, id }) => directory.nameOf(kind, id));
}

function Members({
  vault,
  members,
  directory,
  onChanged,
}: {
  vault: string;
  members: readonly Member[];
  directory: Directory;
  onChanged: () => void;
}) {
  const resource = `vault/${vault}`;
  const may = useMay({
    add: ['members:add', resource],
    update: ['members:update', resource],
    remove: ['members:remove', resource],
    review: ['members:review', resource],
  });
  const [opened, setOpened] = useState<Opened | null>(null);
  const close = () => setOpened(null);
  const changed = () => {
    close();
    onChanged();
  };
  const nameOf = ({ kind, id }: Member) => directory.nameOf(kind, id);
  const change = { vault, onClose: close, onDone: changed };
  return (
    <>
      <div class="row between">
        <p class="soft">{texts.intro}</p>
        <div class="row">
          {may.review && members.length > 0 ? (
            <Button onClick={() => setOpened({ what: 'review' })}>{texts.review}</Button>
          ) : null}
          {may.add ? (
            <Button kind="primary" onClick={() => setOpened({ what: 'add' })}>
              {texts.add}
            </Button>
          ) : null}
        </div>
      </div>
      {members.length === 0 ? (
        <Empty title={texts.empty}>{texts.emptyText}</Empty>
      ) : (
        <Table
          caption={texts.members}
          rows={members}
          keyOf={({ kind, id }) => `${kind} ${id}`}
          columns={[
            {
              title: texts.name,
              cell: (member) => <a href={href(PAGES[member.kind], member.id)}>{nameOf(member)}</a>,
            },
            { title: texts.kind, cell: ({ kind }) => texts.kinds[kind] },
            { title: texts.role, cell: ({ role }) => <Badge>{texts.roles[role]}</Badge> },
            { title: texts.since, cell: ({ added_at }) => <Time at={added_at} /> },
            { title: texts.reviewed, cell: ({ reviewed_at }) => <Time at={reviewed_at} none={shared.never} /> },
            {
              title: shared.actions,
              isActions: true,
              cell: (member) => (
                <>
                  {may.update ? (
                    <Button
                      isSmall
                      label={texts.changeTitle(nameOf(member))}
                      onClick={() => setOpened({ what: 'role', member })}
                    >
                      {texts.changeRole}
                    </Button>
                  ) : null}{' '}
                  {may.remove ? (
                    <Button
                      isSmall
                      label={texts.removeTitle(nameOf(member))}
                      onClick={() => setOpened({ what: 'remove', member })}
                    >
                      {texts.remove}
                    </Button>
                  ) : null}
                </>
              ),
            },
          ]}
        />
      )}
      {opened?.what === 'add' ? <AddMember {...change} directory={directory} /> : null}
      {opened?.what === 'role' ? <ChangeRole {...change} member={opened.member} name={nameOf(opened.member)} /> : null}
      {opened?.what === 'remove' ? (
        <Confirm
          title={texts.removeTitle(nameOf(opened.member))}
          submitText={texts.remove}
          onClose={close}
          work={async () => {
            const path = { vault, member_id: opened.member.id };
            await call('DELETE /v1/vaults/{vault}/members/{member_id}', { path });
            toast(texts.removed(nameOf(opened.member)));
            changed();
          }}
        >
          {texts.removeText}
        </Confirm>
      ) : null}
      {opened?.what === 'review' ? (
        <Confirm
          title={texts.review}
          submitText={texts.review}
          isDanger={false}
          onClose={close}
          work={async () => {
            const { reviewed } = await call('POST /v1/vaults/{vault}/members/review', { path: { vault } });
            toast(texts.reviewDone(reviewed));
            changed();
          }}
        >
          {texts.reviewText}
        </Confirm>
      ) : null}
    </>
  );
}

interface ChangeProps {
  vault: string;
  onClose: () => void;
  onDone: () => void;
}

function RoleChoice({ value, onChange }: { value: Role; onChange: (role: Role) => void }) {
  return (
    <Select
      field="role"
      label={texts.role}
      hint={texts.roleMeanings[value]}
      value={value}
      onChange={onChange}
      choices={Object.entries(texts.roles) as [Role, string][]}
    />
  );
}

function AddMember({ vault, directory, onClose, onDone }: ChangeProps & { directory: Directory }) {
  const form = useForm({ kind: 'user' as Kind, name: '' });
  const { kind, name } = form.values;
  const [role, setRole] = useState<Role>('reader');
  const known = kind === 'user' ? directory.users.map(({ email }) => email) : directory.groups.map((each) => each.name);
  const submit = async () => {
    const body = { role, ...(kind === 'user' ? { user: name.trim() } : { group: name.trim() }) };
    const answer = await call('POST /v1/vaults/{vault}/members', { path: { vault }, body });
    if (!waitsForApproval(answer)) toast(texts.added(name.trim()));
    onDone();
  };
  return (
    <FormDialog title={texts.addTitle(vault)} submitText={shared.add} onClose={onClose} submit={submit}>
      <Select
        label={texts.kind}
        {...form.choice('kind', null)}
        choices={Object.entries(texts.kinds) as [Kind, string][]}
      />
      <TextField
        label={texts.name}
        hint={texts.nameHints[kind]}
        {...form.text('name', kind)}
        choices={known}
        isRequired
        isFocused
      />
      <RoleChoice value={role} onChange={setRole} />
    </FormDialog>
  );
}

function ChangeRole({ vault, member, name, onClose, onDone }: ChangeProps & { member: Member; name: string }) {
  const [role, setRole] = useState<Role>(member.role);
  const submit = async () => {
    const path = { vault, member_id: member.id };
    const answer = await call('PATCH /v1/vaults/{vault}/members/{member_id}', { path, body: { role } });
    if (!waitsForApproval(answer)) toast(texts.changed(name, texts.roles[role]));
    onDone();
  };
  return (
    <FormDialog
      title={texts.changeTitle(name)}
      submitText={texts.changeRole}
      isIncomplete={role === member.role}
      onClose={onClose}
      submit={submit}
    >
      <RoleChoice value={role} onChange={setRole} />
    </FormDialog>
  );
}
