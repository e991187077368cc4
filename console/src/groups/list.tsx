import { call } from '../app/api.ts';
import type { PageProps } from '../app/page.ts';
import { href, navigate } from '../app/router.ts';
import { type Group, loadGroups } from '../people/index.ts';
import { FormDialog } from '../ui/dialog.tsx';
import { TextField } from '../ui/field.tsx';
import { useForm } from '../ui/form-values.ts';
import { lazyPart } from '../ui/lazy-part.tsx';
import { ListOrItem, ListPage } from '../ui/list-page.tsx';
import { Table } from '../ui/table.tsx';
import { shared } from '../ui/texts.ts';
import { Time } from '../ui/time.tsx';
import { toast } from '../ui/toasts.tsx';
import { groupsTexts as texts } from './texts.ts';

const GroupPage = lazyPart(() => import('./page.tsx'));

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
  const form = useForm({ name: '', description: '' });
  const { name, description } = form.values;
  const submit = async () => {
    const body = { name, ...(description !== '' && { description }) };
    const { id } = await call('POST /v1/groups', { body });
    toast(texts.created(name));
    navigate(href('groups', id));
  };
  return (
    <FormDialog title={texts.createTitle} submitText={shared.create} onClose={onClose} submit={submit}>
      <TextField label={shared.name} hint={texts.nameHint} {...form.text('name')} isRequired isFocused isMono />
      <TextField label={shared.description} {...form.text('description')} />
    </FormDialog>
  );
}
