import type { RouteOutput } from '@coffer/client';
import { call } from '../app/api.ts';
import { type Check, useMay } from '../app/capabilities.ts';
import { loadList } from '../app/load-list.ts';
import type { PageProps } from '../app/page.ts';
import { href, navigate } from '../app/router.ts';
import { Badge } from '../ui/badge.tsx';
import { FormDialog } from '../ui/dialog.tsx';
import { Checkbox, TextField } from '../ui/field.tsx';
import { useForm } from '../ui/form-values.ts';
import { lazyPart } from '../ui/lazy-part.tsx';
import { ListOrItem, ListPage } from '../ui/list-page.tsx';
import { Table } from '../ui/table.tsx';
import { shared } from '../ui/texts.ts';
import { Time } from '../ui/time.tsx';
import { toast } from '../ui/toasts.tsx';
import { keysTexts as texts } from './texts.ts';

const EncryptionKey = lazyPart(() => import('./page.tsx'));

export default function KeysPage({ rest }: PageProps) {
  return (
    <ListOrItem
      rest={rest}
      title={texts.title}
      list={<Keys />}
      check={(name) => ['eaas:read', `eaas/${name}`]}
      item={(name) => <EncryptionKey name={name} />}
    />
  );
}

function Keys() {
  return (
    <ListPage
      texts={texts}
      mayList={['eaas:list', 'eaas']}
      mayCreate={['eaas:create', 'eaas']}
      load={(signal) => loadList('GET /eaas/keys', 'keys', signal)}
      form={({ close }) => <CreateKey onClose={close} />}
    >
      {(keys) => <KeyTable keys={keys} />}
    </ListPage>
  );
}

type KeyItem = RouteOutput<'GET /eaas/keys'>['keys'][number];

/** Somebody may list keys without being allowed to open one. */
function KeyTable({ keys }: { keys: readonly KeyItem[] }) {
  const may = useMay<string>(
    Object.fromEntries(keys.map(({ name }): [string, Check] => [name, ['eaas:read', `eaas/${name}`]])),
  );
  return (
    <Table
      caption={texts.title}
      rows={keys}
      keyOf={({ name }) => name}
      columns={[
        {
          title: shared.name,
          cell: ({ name, description }) => (
            <>
              {may[name] === true ? <a href={href('keys', name)}>{name}</a> : name}
              {description === '' ? null : <div class="soft">{description}</div>}
            </>
          ),
        },
        { title: texts.version, cell: ({ latest_version }) => latest_version },
        {
          title: shared.status,
          cell: ({ status, delete_protection }) => (
            <span class="row">
              {delete_protection ? <Badge tone="good">{texts.protected}</Badge> : null}
              {status === 'pending_approval' ? <Badge tone="warning">{texts.pending}</Badge> : null}
            </span>
          ),
        },
        { title: texts.rotated, cell: ({ rotated_at }) => <Time at={rotated_at} none={shared.never} /> },
        { title: shared.created, cell: ({ created_at }) => <Time at={created_at} /> },
      ]}
    />
  );
}

function CreateKey({ onClose }: { onClose: () => void }) {
  const form = useForm({ name: '', description: '', isProtected: true });
  const { name, description, isProtected } = form.values;
  const submit = async () => {
    await call('POST /eaas/keys', {
      body: { name, delete_protection: isProtected, ...(description !== '' && { description }) },
    });
    toast(texts.created(name));
    navigate(href('keys', name));
  };
  return (
    <FormDialog title={texts.createTitle} submitText={shared.create} onClose={onClose} submit={submit}>
      <TextField label={shared.name} hint={texts.nameHint} {...form.text('name')} isRequired isFocused isMono />
      <TextField label={shared.description} {...form.text('description')} />
      <Checkbox
        label={texts.protection}
        hint={texts.protectionHint}
        {...form.check('isProtected', 'delete_protection')}
      />
    </FormDialog>
  );
}
