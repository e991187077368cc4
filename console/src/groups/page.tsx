import { useState } from 'preact/hooks';
import { all, call } from '../app/api.ts';
import { useMay } from '../app/capabilities.ts';
import { useLoaded } from '../app/loading.ts';
import { href, navigate } from '../app/router.ts';
import { useCall } from '../app/use-call.ts';
import { type Directory, type Group, useDirectory } from '../people/index.ts';
import { Button } from '../ui/button.tsx';
import { Confirm } from '../ui/confirm.tsx';
import { FormDialog } from '../ui/dialog.tsx';
import { TextField } from '../ui/field.tsx';
import { Empty, WhenLoaded } from '../ui/notice.tsx';
import { PageHead } from '../ui/page-head.tsx';
import { waitsForApproval } from '../ui/pending-approval.ts';
import { Table } from '../ui/table.tsx';
import { shared } from '../ui/texts.ts';
import { Time } from '../ui/time.tsx';
import { toast } from '../ui/toasts.tsx';
import { WhenFound } from '../ui/when-found.tsx';
import { groupsTexts as texts } from './texts.ts';

const PAGE = 200;

export default function GroupPage({ id }: { id: string }) {
  const group = useCall('GET /v1/groups/{group_id}', { path: { group_id: id } });
  const directory = useDirectory();
  const crumbs = <a href={href('groups')}>{texts.title}</a>;
  return (
    <WhenFound of={group} title={texts.one} crumbs={crumbs} texts={texts}>
      {(found) => (
        <WhenLoaded of={directory}>
          {(known) => <GroupDetail group={found} directory={known} onChanged={group.reload} />}
        </WhenLoaded>
      )}
    </WhenFound>
  );
}

type Opened = { what: 'add' | 'describe' | 'delete' } | { what: 'remove'; user: string; email: string };

function GroupDetail({ group, directory, onChanged }: { group: Group; directory: Directory; onChanged: () => void }) {
  const { id, name, description } = group;
  const resource = `group/${id}`;
  const may = useMay({ update: ['groups:update', resource], delete: ['groups:delete', resource] });
  const [opened, setOpened] = useState<Opened | null>(null);
  const members = useLoaded(
    (signal) =>
      all(async (cursor) => {
        const query = { limit: PAGE, ...(cursor && { cursor }) };
        const page = await call('GET /v1/groups/{group_id}/members', { path: { group_id: id }, query }, { signal });
        return { items: page.members, next_cursor: page.next_cursor };
      }),
    [id],
  );
  const add = may.update ? (
    <Button kind="primary" onClick={() => setOpened({ what: 'add' })}>
      {texts.addMember}
    </Button>
  ) : null;
  const close = () => setOpened(null);
  const changed = () => {
    close();
    members.reload();
    onChanged();
  };
  return (
    <>
      <PageHead
        title={name}
        crumbs={<a href={href('groups')}>{texts.title}</a>}
        intro={description}
        actions={
          <>
            {may.update ? <Button onClick={() => setOpened({ what: 'describe' })}>{texts.describe}</Button> : null}
            {add}
            {may.delete ? (
              <Button kind="destructive" onClick={() => setOpened({ what: 'delete' })}>
                {texts.delete}
              </Button>
            ) : null}
          </>
        }
      />
      <h2>{texts.members}</h2>
      <WhenLoaded of={members}>
        {(list) =>
          list.length === 0 ? (
            <Empty title={texts.noMembers} action={add}>
              {texts.noMembersText}
            </Empty>
          ) : (
            <Table
              caption={texts.members}
              rows={list}
              keyOf={({ user_id }) => user_id}
              columns={[
                {
                  title: texts.email,
                  cell: ({ user_id }) => <a href={href('people', user_id)}>{directory.nameOf('user', user_id)}</a>,
                },
                { title: texts.since, cell: ({ added_at }) => <Time at={added_at} /> },
                {
                  title: shared.actions,
                  isActions: true,
                  cell: ({ user_id: user }) => {
                    const email = directory.nameOf('user', user);
                    return may.update ? (
                      <Button
                        isSmall
                        label={texts.removeTitle(email)}
                        onClick={() => setOpened({ what: 'remove', user, email })}
                      >
                        {texts.remove}
                      </Button>
                    ) : null;
                  },
                },
              ]}
            />
          )
        }
      </WhenLoaded>
      {opened?.what === 'add' ? (
        <AddMember group={group} directory={directory} onClose={close} onDone={changed} />
      ) : null}
      {opened?.what === 'describe' ? <Describe group={group} onClose={close} onDone={changed} /> : null}
      {opened?.what === 'delete' ? <DeleteGroup group={group} onClose={close} /> : null}
      {opened?.what === 'remove' ? (
        <Confirm
          title={texts.removeTitle(opened.email)}
          submitText={texts.remove}
          onClose={close}
          work={async () => {
            const path = { group_id: id, user_id: opened.user };
            const answer = await call('DELETE /v1/groups/{group_id}/members/{user_id}', { path });
            if (!waitsForApproval(answer)) toast(texts.removed(opened.email));
            changed();
          }}
        >
          {texts.removeText}
        </Confirm>
      ) : null}
    </>
  );
}

interface ChangeProps {
  group: Group;
  onClose: () => void;
  onDone: () => void;
}

function AddMember({ group, directory, onClose, onDone }: ChangeProps & { directory: Directory }) {
  const [email, setEmail] = useState('');
  const address = email.trim().toLowerCase();
  const person = directory.users.find((each) => each.email === address || each.id === email.trim());
  const isUnknown = address !== '' && person === undefined && address.includes('@') && directory.users.length > 0;
  const submit = async () => {
    const path = { group_id: group.id };
    const body = { user_id: person?.id ?? email.trim() };
    const answer = await call('POST /v1/groups/{group_id}/members', { path, body });
    if (!waitsForApproval(answer)) toast(texts.added(person?.email ?? email));
    onDone();
  };
  return (
    <FormDialog
      title={texts.addTitle(group.name)}
      submitText={shared.add}
      isIncomplete={address === '' || isUnknown}
      onClose={onClose}
      submit={submit}
    >
      <TextField
        field="user_id"
        label={texts.person}
        hint={texts.personHint}
        problem={isUnknown ? texts.unknownPerson : null}
        value={email}
        onInput={setEmail}
        choices={directory.users.map((each) => each.email)}
        isRequired
        isFocused
      />
    </FormDialog>
  );
}

function Describe({ group, onClose, onDone }: ChangeProps) {
  const [description, setDescription] = useState(group.description);
  const submit = async () => {
    await call('PATCH /v1/groups/{group_id}', { path: { group_id: group.id }, body: { description } });
    toast(texts.described);
    onDone();
  };
  return (
    <FormDialog title={texts.describe} submitText={shared.save} onClose={onClose} submit={submit}>
      <TextField
        field="description"
        label={shared.description}
        value={description}
        onInput={setDescription}
        isFocused
      />
    </FormDialog>
  );
}

function DeleteGroup({ group, onClose }: Pick<ChangeProps, 'group' | 'onClose'>) {
  const work = async () => {
    const answer = await call('DELETE /v1/groups/{group_id}', { path: { group_id: group.id } });
    if (!waitsForApproval(answer)) toast(texts.deleted(group.name));
    navigate(href('groups'));
  };
  return (
    <Confirm
      title={texts.deleteTitle(group.name)}
      submitText={texts.delete}
      typed={group.name}
      work={work}
      onClose={onClose}
    >
      {texts.deleteText}
    </Confirm>
  );
}
