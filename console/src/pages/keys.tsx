import type { RouteOutput } from '@coffer/client';
import { useState } from 'preact/hooks';
import { call } from '../api.ts';
import { type Check, useMay } from '../capabilities.ts';
import { lazyPart } from '../lazy-part.tsx';
import { loadList } from '../load-list.ts';
import { useAction } from '../loading.ts';
import { href, navigate } from '../router.ts';
import type { PageProps } from '../routes.ts';
import { keysTexts as texts } from '../texts/keys.ts';
import { shared } from '../texts/shared.ts';
import { Badge } from '../ui/badge.tsx';
import { FormDialog } from '../ui/dialog.tsx';
import { Checkbox, TextField } from '../ui/field.tsx';
import { ListOrItem, ListPage } from '../ui/list-page.tsx';
import { Table } from '../ui/table.tsx';
import { Time } from '../ui/time.tsx';
import { toast } from '../ui/toasts.tsx';

const EncryptionKey = lazyPart(() => import('./encryption-key.tsx'));

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
  const action = useAction();
  const [name, setName] = useState('');
  const [description, setDescription] = useState('');
  const [isProtected, setProtected] = useState(true);
  const submit = async () => {
    await call('POST /eaas/keys', {
      body: { name, delete_protection: isProtected, ...(description !== '' && { description }) },
    });
    toast(texts.created(name));
    navigate(href('keys', name));
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
      <Checkbox
        field="delete_protection"
        label={texts.protection}
        hint={texts.protectionHint}
        isChecked={isProtected}
        onChange={setProtected}
      />
    </FormDialog>
  );
}
