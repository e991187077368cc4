import { call } from '../app/api.ts';
import { loadList } from '../app/load-list.ts';
import type { PageProps } from '../app/page.ts';
import { href, navigate } from '../app/router.ts';
import { FormDialog } from '../ui/dialog.tsx';
import { Select, TextField } from '../ui/field.tsx';
import { useForm } from '../ui/form-values.ts';
import { lazyPart } from '../ui/lazy-part.tsx';
import { ListPage } from '../ui/list-page.tsx';
import { Table } from '../ui/table.tsx';
import { shared } from '../ui/texts.ts';
import { Time } from '../ui/time.tsx';
import { toast } from '../ui/toasts.tsx';
import { environmentsTexts as texts } from './texts.ts';

const Environment = lazyPart(() => import('./page.tsx'));

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
  const form = useForm({ name: '', description: '', parent: '' });
  const { name, description, parent } = form.values;
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
    <FormDialog title={texts.createTitle} submitText={shared.create} onClose={onClose} submit={submit}>
      <TextField label={shared.name} {...form.text('name')} isRequired isFocused isMono />
      <Select
        label={texts.parent}
        {...form.choice('parent', 'parent_id')}
        choices={[['', texts.noParent], ...others]}
      />
      <TextField label={shared.description} {...form.text('description')} />
    </FormDialog>
  );
}
