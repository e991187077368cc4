import type { RouteOutput } from '@coffer/client';
import { useState } from 'preact/hooks';
import { call } from '../api.ts';
import { waitsForApproval } from '../approval.ts';
import { mayOne, useMay } from '../capabilities.ts';
import { loadList } from '../load-list.ts';
import { useAction, useLoaded } from '../loading.ts';
import { href } from '../router.ts';
import { clustersTexts as texts } from '../texts/clusters.ts';
import { shared } from '../texts/shared.ts';
import { Button } from '../ui/button.tsx';
import { Confirm } from '../ui/confirm.tsx';
import { FormDialog } from '../ui/dialog.tsx';
import { Select, TextArea, TextField } from '../ui/field.tsx';
import { WhenLoaded } from '../ui/notice.tsx';
import { Table } from '../ui/table.tsx';
import { toast } from '../ui/toasts.tsx';

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
  const action = useAction();
  const [namespace, setNamespace] = useState('');
  const [name, setName] = useState('');
  const [type, setType] = useState('');
  const [source, setSource] = useState<Source>('mappings');
  const [vault, setVault] = useState('');
  const [lines, setLines] = useState('');
  const [prefix, setPrefix] = useState('');
  const [environment, setEnvironment] = useState(String(environments[0]?.id ?? ''));
  const vaults = useLoaded((signal) => call('GET /v1/vaults', { query: { limit: 200 } }, { signal }), []);
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
      action={action}
      submitText={shared.create}
      isIncomplete={source === 'mappings' ? mappings === null : source === 'environment' && environment === ''}
      onClose={onClose}
      onSubmit={() => void action.run(submit)}
    >
      <p class="soft">{texts.policyRights}</p>
      <TextField
        field="namespace"
        label={texts.namespace}
        value={namespace}
        onInput={setNamespace}
        isRequired
        isFocused
        isMono
      />
      <TextField field="secret_name" label={texts.secretName} value={name} onInput={setName} isRequired isMono />
      <TextField
        field="secret_type"
        label={texts.secretType}
        hint={texts.secretTypeHint}
        value={type}
        onInput={setType}
        isMono
      />
      <Select
        label={texts.source}
        value={source}
        onChange={setSource}
        choices={Object.entries(texts.sources) as [Source, string][]}
      />
      {source === 'environment' ? (
        <Select
          field="environment_id"
          label={texts.environmentId}
          hint={environments.length === 0 ? texts.noEnvironments : texts.environmentHintPick}
          value={environment}
          onChange={setEnvironment}
          choices={environments.map((each) => [String(each.id), each.name] as const)}
        />
      ) : (
        <TextField
          field="vault"
          label={texts.vault}
          value={vault}
          onInput={setVault}
          choices={(vaults.data?.vaults ?? []).map((each) => each.name)}
          isRequired
          isMono
        />
      )}
      {source === 'prefix' ? (
        <TextField
          field="prefix"
          label={texts.prefix}
          hint={texts.prefixHint}
          value={prefix}
          onInput={setPrefix}
          isRequired
          isMono
        />
      ) : null}
      {source === 'mappings' ? (
        <TextArea
          field="mappings"
          label={texts.mappings}
          hint={texts.mappingsHint}
          problem={mappings === null && lines.trim() !== '' ? texts.mappingsProblem : null}
          value={lines}
          onInput={setLines}
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
