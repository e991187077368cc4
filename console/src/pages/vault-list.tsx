import { useState } from 'preact/hooks';
import { all, call } from '../api.ts';
import { waitsForApproval } from '../approval.ts';
import { type Check, useMay } from '../capabilities.ts';
import { useAction, useLoaded } from '../loading.ts';
import { href, navigate, place, setQuery } from '../router.ts';
import { shared } from '../texts/shared.ts';
import { membersTexts } from '../texts/vault-members.ts';
import { vaultsTexts as texts } from '../texts/vaults.ts';
import { Badge, EnvironmentBadge } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { FormDialog } from '../ui/dialog.tsx';
import { Checkbox, Select, TextField } from '../ui/field.tsx';
import { PageHead } from '../ui/layout.tsx';
import { Empty, ErrorNote, WhenLoaded } from '../ui/notice.tsx';
import { Table } from '../ui/table.tsx';
import { Time } from '../ui/time.tsx';
import { toast } from '../ui/toasts.tsx';
import { listOf } from '../words.ts';

type Environment = keyof typeof texts.environments;
const ENVIRONMENTS = Object.entries(texts.environments) as [Environment, string][];
const NONE_CHOSEN = ['', texts.chooseEnvironment] as const;
/** How names of vaults often end. */
const ENDINGS: readonly (readonly [RegExp, Environment])[] = [
  [/[-_.](?:prod|production)$/i, 'production'],
  [/[-_.](?:stag|stage|staging)$/i, 'staging'],
  [/[-_.](?:dev|development)$/i, 'development'],
];

/** The environment that the name of a vault tells. */
function environmentIn(name: string): Environment | null {
  const [, environment] = ENDINGS.find(([ending]) => ending.test(name.trim())) ?? [];
  return environment ?? null;
}

export default function VaultList() {
  const { query } = place.value;
  const isDeleted = query.has('deleted');
  const may = useMay({ create: ['vaults:create', 'vault/example'] });
  const [filter, setFilter] = useState('');
  const vaults = useLoaded(
    (signal) =>
      all(async (cursor) => {
        const query = { limit: 200, ...(isDeleted && { status: 'deleted' as const }), ...(cursor && { cursor }) };
        const page = await call('GET /v1/vaults', { query }, { signal });
        return { items: page.vaults, next_cursor: page.next_cursor };
      }),
    [isDeleted],
  );
  const create = may.create ? (
    <Button kind="primary" onClick={() => setQuery({ new: '1' })}>
      {texts.create}
    </Button>
  ) : null;
  return (
    <>
      <PageHead title={isDeleted ? texts.showDeleted : texts.title} intro={texts.intro} actions={create} />
      <div class="row between">
        <TextField label={texts.filter} type="search" value={filter} onInput={setFilter} />
        <Checkbox
          label={texts.showDeleted}
          isChecked={isDeleted}
          onChange={(isChecked) => setQuery({ deleted: isChecked ? '1' : null })}
        />
      </div>
      <WhenLoaded of={vaults}>
        {(list) => {
          const shown = list.filter(({ name }) => name.toLowerCase().includes(filter.trim().toLowerCase()));
          if (list.length === 0 && isDeleted) return <Empty title={texts.deletedEmpty} />;
          if (list.length === 0) {
            return (
              <Empty title={texts.empty} action={create}>
                {texts.emptyText}
              </Empty>
            );
          }
          if (shown.length === 0) return <Empty title={texts.none} />;
          return isDeleted ? (
            <DeletedVaults vaults={shown} onRestored={vaults.reload} />
          ) : (
            <VaultTable vaults={shown} />
          );
        }}
      </WhenLoaded>
      {query.has('new') && may.create ? <CreateVault onClose={() => setQuery({ new: null })} /> : null}
    </>
  );
}

interface Summary {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly environment: string;
  readonly tags: readonly string[];
  readonly status: string;
  readonly secrets_count: number;
  readonly your_role: keyof typeof membersTexts.roles | null;
  readonly is_zero_knowledge: boolean;
  readonly updated_at: string;
  readonly deleted_at: string | null;
  readonly purge_at: string | null;
}

function VaultTable({ vaults }: { vaults: readonly Summary[] }) {
  return (
    <Table
      caption={texts.title}
      rows={vaults}
      keyOf={({ id }) => id}
      columns={[
        {
          title: shared.name,
          cell: ({ name, description }) => (
            <>
              <a href={href('vaults', name)}>{name}</a>
              {description === '' ? null : <div class="soft">{description}</div>}
            </>
          ),
        },
        {
          title: shared.environment,
          cell: (vault) => (
            <span class="row">
              <EnvironmentBadge environment={vault.environment} />
              {vault.is_zero_knowledge ? <Badge tone="accent">{texts.zeroKnowledgeShort}</Badge> : null}
              {vault.status === 'pending_deletion' ? <Badge tone="warning">{texts.deletionAsked}</Badge> : null}
            </span>
          ),
        },
        {
          title: membersTexts.yourRole,
          cell: ({ your_role }) => (your_role === null ? null : membersTexts.roles[your_role]),
        },
        { title: texts.secrets, cell: ({ secrets_count }) => secrets_count },
        { title: texts.tags, cell: ({ tags }) => tags.map((tag) => <Badge key={tag}>{tag}</Badge>) },
        { title: texts.settingsChanged, cell: ({ updated_at }) => <Time at={updated_at} /> },
      ]}
    />
  );
}

const restoreOf = (vault: string): Check => ['vaults:restore', `vault/${vault}`];

function DeletedVaults({ vaults, onRestored }: { vaults: readonly Summary[]; onRestored: () => void }) {
  const action = useAction();
  const may = useMay(Object.fromEntries(vaults.map(({ name }): [string, Check] => [name, restoreOf(name)])));
  const restore = async (name: string) => {
    await call('POST /v1/vaults/{vault}/restore', { path: { vault: name } });
    toast(texts.restored(name));
    onRestored();
  };
  return (
    <>
      <ErrorNote error={action.error} />
      <Table
        caption={texts.showDeleted}
        rows={vaults}
        keyOf={({ id }) => id}
        columns={[
          { title: shared.name, cell: ({ name }) => name },
          { title: texts.deletedAt, cell: ({ deleted_at }) => <Time at={deleted_at} /> },
          { title: texts.purgedAt, cell: ({ purge_at }) => <Time at={purge_at} /> },
          {
            title: shared.actions,
            isActions: true,
            cell: ({ name }) =>
              may[name] ? (
                <Button isSmall isBusy={action.isRunning} onClick={() => action.run(() => restore(name))}>
                  {texts.restore}
                </Button>
              ) : null,
          },
        ]}
      />
    </>
  );
}

function CreateVault({ onClose }: { onClose: () => void }) {
  const action = useAction();
  const [name, setName] = useState('');
  const [description, setDescription] = useState('');
  const [chosen, setChosen] = useState<Environment | null>(null);
  const [isTried, setTried] = useState(false);
  const environment = chosen ?? environmentIn(name);
  const [tags, setTags] = useState('');
  const [isZeroKnowledge, setZeroKnowledge] = useState(false);
  const submit = async () => {
    if (environment === null) return;
    const body = {
      name,
      environment,
      ...(description !== '' && { description }),
      ...(tags.trim() !== '' && { tags: listOf(tags) }),
      ...(isZeroKnowledge && { is_zero_knowledge: true }),
    };
    const created = await call('POST /v1/vaults', { body });
    if (waitsForApproval(created)) return onClose();
    toast(texts.created(name));
    navigate(href('vaults', name));
  };
  return (
    <FormDialog
      title={texts.createTitle}
      action={action}
      submitText={shared.create}
      onClose={onClose}
      onSubmit={() => {
        setTried(true);
        if (environment !== null) void action.run(submit);
      }}
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
      <Select<Environment | ''>
        field="environment"
        label={shared.environment}
        hint={texts.environmentHint}
        problem={isTried && environment === null ? texts.environmentMissing : null}
        value={environment ?? ''}
        onChange={(value) => setChosen(value === '' ? null : value)}
        choices={[...(environment === null ? [NONE_CHOSEN] : []), ...ENVIRONMENTS]}
      />
      <TextField field="description" label={shared.description} value={description} onInput={setDescription} />
      <TextField field="tags" label={texts.tags} hint={texts.tagsHint} value={tags} onInput={setTags} />
      <Checkbox
        field="is_zero_knowledge"
        label={texts.zeroKnowledge}
        hint={texts.zeroKnowledgeHint}
        isChecked={isZeroKnowledge}
        onChange={setZeroKnowledge}
      />
    </FormDialog>
  );
}
