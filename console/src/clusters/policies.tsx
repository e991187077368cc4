import type { RouteOutput } from '@coffer/client';
import { useState } from 'preact/hooks';
import { call } from '../app/api.ts';
import { mayOne, useMay } from '../app/capabilities.ts';
import { loadList } from '../app/load-list.ts';
import { useLoaded } from '../app/loading.ts';
import { href } from '../app/router.ts';
import { useCall } from '../app/use-call.ts';
import { Button } from '../ui/button.tsx';
import { Confirm } from '../ui/confirm.tsx';
import { FormDialog } from '../ui/dialog.tsx';
import { Select, TextArea, TextField } from '../ui/field.tsx';
import { useForm } from '../ui/form-values.ts';
import { WhenLoaded } from '../ui/notice.tsx';
import { waitsForApproval } from '../ui/pending-approval.ts';
import { Table } from '../ui/table.tsx';
import { shared } from '../ui/texts.ts';
import { toast } from '../ui/toasts.tsx';
import { clustersTexts as texts } from './texts.ts';

type Policy = RouteOutput<'GET /clusters/{cluster_id}/policies'>['policies'][number];

/** Which secrets become which Kubernetes Secret. */
export function ClusterPolicies({ clusterId }: { clusterId: string }) {
  const resource = `cluster/${clusterId}`;
  const may = useMay({ create: ['cluster_policies:create', resource], delete: ['cluster_policies:delete', resource] });
  const [opened, setOpened] = useState<{ kind: 'create' } | { kind: 'delete'; policy: Policy } | null>(null);
  const policies = useLoaded(
    (signal) =>
      loadList('GET /clusters/{cluster_id}/policies', 'policies', signal, { path: { cluster_id: clusterId } }),
    [clusterId],
  );
  const environments = useLoaded(loadEnvironments, []);
  const close = () => setOpened(null);
  const done = () => {
    close();
    policies.reload();
  };
  return (
    <section class="card">
      <div class="row between">
        <h2>{texts.policies}</h2>
        {may.create ? (
          <Button isSmall onClick={() => setOpened({ kind: 'create' })}>
            {texts.addPolicy}
          </Button>
        ) : null}
      </div>
      <WhenLoaded of={policies}>
        {(list) =>
          list.length === 0 ? (
            <p class="soft">{texts.policiesEmpty}</p>
          ) : (
            <Table
              caption={texts.policies}
              rows={list}
              keyOf={({ id }) => id}
              columns={[
                {
                  title: texts.secretName,
                  cell: ({ namespace, secret_name, secret_type }) => (
                    <>
                      <code>{`${namespace}/${secret_name}`}</code>
                      <div class="soft">{secret_type}</div>
                    </>
                  ),
                },
                {
                  title: texts.from,
                  cell: (policy) => <From policy={policy} environments={environments.data ?? []} />,
                },
                {
                  title: shared.actions,
                  isActions: true,
                  cell: (policy) =>
                    may.delete ? (
                      <Button isSmall onClick={() => setOpened({ kind: 'delete', policy })}>
                        {texts.removePolicy}
                      </Button>
                    ) : null,
                },
              ]}
            />
          )
        }
      </WhenLoaded>
      {opened?.kind === 'create' ? (
        <CreatePolicy clusterId={clusterId} environments={environments.data ?? []} onClose={close} onDone={done} />
      ) : null}
      {opened?.kind === 'delete' ? (
        <Remove clusterId={clusterId} policy={opened.policy} onClose={close} onDone={done} />
      ) : null}
    </section>
  );
}

interface Environment {
  readonly id: number;
  readonly name: string;
}

/** The composed environments that the person may see; their policies say only the number. */
async function loadEnvironments(signal: AbortSignal): Promise<readonly Environment[]> {
  if (!(await mayOne(['environments:list', 'environment']))) return [];
  return loadList('GET /environments', 'environments', signal);
}

function From({
  policy: { vault, mappings, prefix, environment_id },
  environments,
}: {
  policy: Policy;
  environments: readonly Environment[];
}) {
  if (environment_id !== null) {
    const name = environments.find(({ id }) => id === environment_id)?.name ?? String(environment_id);
    return <a href={href('environments', environment_id)}>{texts.environmentOf(name)}</a>;
  }
  if (mappings === null) return <>{texts.allBelow(vault ?? '', prefix ?? '')}</>;
  return (
    <>
      {mappings.map(({ key, path }) => (
        <div key={key} class="mono">{`${key} = ${vault}/${path}`}</div>
      ))}
    </>
  );
}

type Source = keyof typeof texts.sources;

function CreatePolicy({
  clusterId,
  environments,
  onClose,
  onDone,
}: {
  clusterId: string;
  environments: readonly Environment[];
  onClose: () => void;
  onDone: () => void;
}) {
  const form = useForm({
    namespace: '',
    name: '',
    type: '',
    source: 'mappings' as Source,
    vault: '',
    lines: '',
    prefix: '',
    environment: String(environments[0]?.id ?? ''),
  });
  const { namespace, name, type, source, vault, lines, prefix, environment } = form.values;
  const vaults = useCall('GET /v1/vaults', { query: { limit: 200 } });
  const mappings = mappingsOf(lines);
  const sources = {
    mappings: { vault, mappings: mappings ?? [] },
    prefix: { vault, prefix },
    environment: { environment_id: Number(environment) },
  };
  const submit = async () => {
    const answer = await call('POST /clusters/{cluster_id}/policies', {
      path: { cluster_id: clusterId },
      body: {
        namespace,
        secret_name: name,
        ...(type.trim() !== '' && { secret_type: type.trim() }),
        ...sources[source],
      },
    });
    if (!waitsForApproval(answer)) toast(texts.policySaved(name));
    onDone();
  };
  return (
    <FormDialog
      title={texts.addPolicyTitle}
      submitText={shared.create}
      isIncomplete={source === 'mappings' ? mappings === null : source === 'environment' && environment === ''}
      onClose={onClose}
      submit={submit}
    >
      <p class="soft">{texts.policyRights}</p>
      <TextField label={texts.namespace} {...form.text('namespace')} isRequired isFocused isMono />
      <TextField label={texts.secretName} {...form.text('name', 'secret_name')} isRequired isMono />
      <TextField label={texts.secretType} hint={texts.secretTypeHint} {...form.text('type', 'secret_type')} isMono />
      <Select
        label={texts.source}
        {...form.choice('source', null)}
        choices={Object.entries(texts.sources) as [Source, string][]}
      />
      {source === 'environment' ? (
        <Select
          label={texts.environmentId}
          hint={environments.length === 0 ? texts.noEnvironments : texts.environmentHintPick}
          {...form.choice('environment', 'environment_id')}
          choices={environments.map((each) => [String(each.id), each.name] as const)}
        />
      ) : (
        <TextField
          label={texts.vault}
          {...form.text('vault')}
          choices={(vaults.data?.vaults ?? []).map((each) => each.name)}
          isRequired
          isMono
        />
      )}
      {source === 'prefix' ? (
        <TextField label={texts.prefix} hint={texts.prefixHint} {...form.text('prefix')} isRequired isMono />
      ) : null}
      {source === 'mappings' ? (
        <TextArea
          label={texts.mappings}
          hint={texts.mappingsHint}
          problem={mappings === null && lines.trim() !== '' ? texts.mappingsProblem : null}
          {...form.text('lines', 'mappings')}
          rows={3}
          isRequired
        />
      ) : null}
    </FormDialog>
  );
}

/** Null if there is none, or if a line is not of this form. */
function mappingsOf(text: string): { key: string; path: string }[] | null {
  const lines = text
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean);
  const mappings = lines.flatMap((line) => {
    const [, key, path] = /^([^=\s]+)\s*=\s*(\S+)$/.exec(line) ?? [];
    return key === undefined || path === undefined ? [] : [{ key, path }];
  });
  return mappings.length === 0 || mappings.length < lines.length ? null : mappings;
}

function Remove({
  clusterId,
  policy: { id, secret_name },
  onClose,
  onDone,
}: {
  clusterId: string;
  policy: Policy;
  onClose: () => void;
  onDone: () => void;
}) {
  const work = async () => {
    await call('DELETE /clusters/{cluster_id}/policies/{policy_id}', {
      path: { cluster_id: clusterId, policy_id: id },
    });
    toast(texts.policyRemoved(secret_name));
    onDone();
  };
  return (
    <Confirm title={texts.removePolicyTitle(secret_name)} submitText={texts.removePolicy} work={work} onClose={onClose}>
      {texts.removePolicyText}
    </Confirm>
  );
}
