import { useState } from 'preact/hooks';
import { call } from '../app/api.ts';
import { type Check, useMay } from '../app/capabilities.ts';
import { loadList } from '../app/load-list.ts';
import { useAction } from '../app/loading.ts';
import { href, navigate, place, setQuery } from '../app/router.ts';
import { membersTexts } from '../grants/index.ts';
import { Badge, EnvironmentBadge } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { listOf } from '../ui/comma-list.ts';
import { FormDialog } from '../ui/dialog.tsx';
import { Checkbox, Select, TextField } from '../ui/field.tsx';
import { useForm } from '../ui/form-values.ts';
import { ListPage } from '../ui/list-page.tsx';
import { ErrorNote } from '../ui/notice.tsx';
import { waitsForApproval } from '../ui/pending-approval.ts';
import { Table } from '../ui/table.tsx';
import { shared } from '../ui/texts.ts';
import { Time } from '../ui/time.tsx';
import { toast } from '../ui/toasts.tsx';
import { vaultsTexts as texts } from './texts.ts';

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
  const isDeleted = place.value.query.has('deleted');
  const query = isDeleted ? { status: 'deleted' as const } : {};
  return (
    <ListPage
      texts={isDeleted ? { ...texts, ...DELETED } : texts}
      mayCreate={['vaults:create', 'vault/example']}
      load={(signal) => loadList('GET /v1/vaults', 'vaults', signal, { query })}
      inputs={[isDeleted]}
      search={{ label: texts.filter, none: texts.none, textOf: ({ name }) => name }}
      filters={(search) => (
        <div class="row between">
          {search}
          <Checkbox
            label={texts.showDeleted}
            isChecked={isDeleted}
            onChange={(isChecked) => setQuery({ deleted: isChecked ? '1' : null })}
          />
        </div>
      )}
      form={({ close }) => <CreateVault onClose={close} />}
    >
      {(vaults, { reload }) =>
        isDeleted ? <DeletedVaults vaults={vaults} onRestored={reload} /> : <VaultTable vaults={vaults} />
      }
    </ListPage>
  );
}

const DELETED = { title: texts.showDeleted, empty: texts.deletedEmpty, emptyText: undefined };

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
  const form = useForm({ name: '', description: '', tags: '', isZeroKnowledge: false });
  const { name, description, tags, isZeroKnowledge } = form.values;
  const [chosen, setChosen] = useState<Environment | null>(null);
  const [isTried, setTried] = useState(false);
  const environment = chosen ?? environmentIn(name);
  const submit = async () => {
    setTried(true);
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
    <FormDialog title={texts.createTitle} submitText={shared.create} onClose={onClose} submit={submit}>
      <TextField label={shared.name} hint={texts.nameHint} {...form.text('name')} isRequired isFocused isMono />
      <Select<Environment | ''>
        field="environment"
        label={shared.environment}
        hint={texts.environmentHint}
        problem={isTried && environment === null ? texts.environmentMissing : null}
        value={environment ?? ''}
        onChange={(value) => setChosen(value === '' ? null : value)}
        choices={[...(environment === null ? [NONE_CHOSEN] : []), ...ENVIRONMENTS]}
      />
      <TextField label={shared.description} {...form.text('description')} />
      <TextField label={texts.tags} hint={texts.tagsHint} {...form.text('tags')} />
      <Checkbox
        label={texts.zeroKnowledge}
        hint={texts.zeroKnowledgeHint}
        {...form.check('isZeroKnowledge', 'is_zero_knowledge')}
      />
    </FormDialog>
  );
}
