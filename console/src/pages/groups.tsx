import { useState } from 'preact/hooks';
import { call } from '../api.ts';
import { lazyPart } from '../lazy-part.tsx';
import { useAction } from '../loading.ts';
import { type Group, loadGroups } from '../people.ts';
import { href, navigate } from '../router.ts';
import type { PageProps } from '../routes.ts';
import { groupsTexts as texts } from '../texts/people.ts';
import { shared } from '../texts/shared.ts';
import { FormDialog } from '../ui/dialog.tsx';
import { TextField } from '../ui/field.tsx';
import { ListOrItem, ListPage } from '../ui/list-page.tsx';
import { Table } from '../ui/table.tsx';
import { Time } from '../ui/time.tsx';
import { toast } from '../ui/toasts.tsx';

const GroupPage = lazyPart(() => import('./group.tsx'));

export default function GroupsPage({ rest }: PageProps) {
  return (
    <ListOrItem
      rest={rest}
      title={texts.title}
      list={<GroupList />}
      check={(id) => ['groups:read', `group/${id}`]}
      item={(id) => <GroupPage id={id} />}
    />
  );
}

function GroupList() {
  return (
    <ListPage
      texts={texts}
      mayList={['groups:list', 'group']}
      mayCreate={['groups:create', 'group']}
      load={(signal) => loadGroups(signal)}
      search={{ label: texts.filter, none: texts.none, textOf: ({ name }) => name }}
      form={({ close }) => <CreateGroup onClose={close} />}
    >
      {(groups) => <Groups groups={groups} />}
    </ListPage>
  );
}

function Groups({ groups }: { groups: readonly Group[] }) {
  return (
    <Table
      caption={texts.title}
      rows={groups}
      keyOf={({ id }) => id}
      columns={[
        {
          title: shared.name,
          cell: ({ id, name, description }) => (
            <>
              <a href={href('groups', id)}>{name}</a>
              {description === '' ? null : <div class="soft">{description}</div>}
            </>
          ),
        },
        { title: texts.members, cell: ({ members_count }) => members_count },
        { title: shared.created, cell: ({ created_at }) => <Time at={created_at} /> },
      ]}
    />
  );
}

function CreateGroup({ onClose }: { onClose: () => void }) {
  const action = useAction();
  const [name, setName] = useState('');
  const [description, setDescription] = useState('');
  const submit = async () => {
    const body = { name, ...(description !== '' && { description }) };
    const { id } = await call('POST /v1/groups', { body });
    toast(texts.created(name));
    navigate(href('groups', id));
  };
  return (
    <FormDialog
      title={texts.createTitle}
      action={action}
      submitText={shared.create}
      onClose={onClose}
      onSubmit={() => void action.run(submit)}
    >
      <TextField
        field="name"
        label={shared.name}
        hint={texts.nameHint}
        value={name}
        onInput={setName}
        isRequired
        isFocused
        isMono
      />
      <TextField field="description" label={shared.description} value={description} onInput={setDescription} />
    </FormDialog>
  );
}
