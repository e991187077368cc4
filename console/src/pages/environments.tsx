import { useState } from 'preact/hooks';
import { call } from '../api.ts';
import { lazyPart } from '../lazy-part.tsx';
import { loadList } from '../load-list.ts';
import { useAction } from '../loading.ts';
import { href, navigate } from '../router.ts';
import type { PageProps } from '../routes.ts';
import { environmentsTexts as texts } from '../texts/environments.ts';
import { shared } from '../texts/shared.ts';
import { FormDialog } from '../ui/dialog.tsx';
import { Select, TextField } from '../ui/field.tsx';
import { ListPage } from '../ui/list-page.tsx';
import { Table } from '../ui/table.tsx';
import { Time } from '../ui/time.tsx';
import { toast } from '../ui/toasts.tsx';

const Environment = lazyPart(() => import('./environment.tsx'));

export default function EnvironmentsPage({ rest }: PageProps) {
  const [id] = rest;
  return id === undefined ? <EnvironmentList /> : <Environment key={id} id={id} />;
}

function EnvironmentList() {
  return (
    <ListPage
      texts={texts}
      mayList={['environments:list', 'environment']}
      mayCreate={['environments:create', 'environment']}
      load={(signal) => loadList('GET /environments', 'environments', signal)}
      form={({ items, close }) => (
        <CreateEnvironment others={items.map(({ id, name }) => [String(id), name])} onClose={close} />
      )}
    >
      {(environments) => (
        <Table
          caption={texts.list}
          rows={environments}
          keyOf={({ id }) => id}
          columns={[
            {
              title: shared.name,
              cell: ({ id, name, description }) => (
                <>
                  <a href={href('environments', id)}>{name}</a>
                  {description === '' ? null : <div class="soft">{description}</div>}
                </>
              ),
            },
            {
              title: texts.parent,
              cell: ({ parent_id }) => environments.find(({ id }) => id === parent_id)?.name ?? '–',
            },
            { title: shared.updated, cell: ({ updated_at }) => <Time at={updated_at} /> },
          ]}
        />
      )}
    </ListPage>
  );
}

function CreateEnvironment({
  others,
  onClose,
}: {
  others: readonly (readonly [string, string])[];
  onClose: () => void;
}) {
  const action = useAction();
  const [name, setName] = useState('');
  const [description, setDescription] = useState('');
  const [parent, setParent] = useState('');
  const submit = async () => {
    const body = {
      name,
      ...(description !== '' && { description }),
      ...(parent !== '' && { parent_id: Number(parent) }),
    };
    const created = await call('POST /environments', { body });
    toast(texts.created(name));
    navigate(href('environments', created.id));
  };
  return (
    <FormDialog
      title={texts.createTitle}
      action={action}
      submitText={shared.create}
      onClose={onClose}
      onSubmit={() => void action.run(submit)}
    >
      <TextField field="name" label={shared.name} value={name} onInput={setName} isRequired isFocused isMono />
      <Select
        field="parent_id"
        label={texts.parent}
        value={parent}
        onChange={setParent}
        choices={[['', texts.noParent], ...others]}
      />
      <TextField field="description" label={shared.description} value={description} onInput={setDescription} />
    </FormDialog>
  );
}
