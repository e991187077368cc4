import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { call } from '../api.ts';
import { useMay } from '../capabilities.ts';
import { useAction, useLoaded } from '../loading.ts';
import { href, navigate } from '../router.ts';
import { clusterExamples } from '../texts/cluster-examples.ts';
import { clustersTexts as texts } from '../texts/clusters.ts';
import { shared } from '../texts/shared.ts';
import { Badge, EnvironmentBadge, type Tone } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { Confirm } from '../ui/confirm.tsx';
import { FormDialog } from '../ui/dialog.tsx';
import { Examples } from '../ui/examples.tsx';
import { Select } from '../ui/field.tsx';
import { PageHead } from '../ui/layout.tsx';
import { WhenLoaded } from '../ui/notice.tsx';
import { Table } from '../ui/table.tsx';
import { Time } from '../ui/time.tsx';
import { toast } from '../ui/toasts.tsx';
import { WhenFound } from '../ui/when-found.tsx';
import { ClusterPolicies } from './cluster-policies.tsx';
import { type ClusterItem, ClusterState, ClusterToken } from './clusters.tsx';

const LOG_SHOWN = 50;

export default function Cluster({ id }: { id: string }) {
  const cluster = useLoaded(
    (signal) => call('GET /clusters/{cluster_id}', { path: { cluster_id: id } }, { signal }),
    [id],
  );
  const crumbs = <a href={href('clusters')}>{texts.title}</a>;
  return (
    <WhenFound of={cluster} title={id} crumbs={crumbs} texts={texts}>
      {(found) => <Found cluster={found} crumbs={crumbs} onChanged={cluster.reload} />}
    </WhenFound>
  );
}

interface FoundProps {
  cluster: ClusterItem;
  crumbs: ComponentChildren;
  onChanged: () => void;
}

function Found({ cluster, crumbs, onChanged }: FoundProps) {
  const { id, name, kind } = cluster;
  const resource = `cluster/${id}`;
  const may = useMay({ rotate: ['clusters:rotate', resource], delete: ['clusters:delete', resource] });
  const [opened, setOpened] = useState<'rotate' | 'delete' | null>(null);
  const [token, setToken] = useState<string | null>(null);
  const remove = async () => {
    await call('DELETE /clusters/{cluster_id}', { path: { cluster_id: id } });
    toast(texts.deleted(name));
    navigate(href('clusters'));
  };
  const close = () => setOpened(null);
  const actions = (
    <>
      {may.delete ? <Button onClick={() => setOpened('delete')}>{texts.delete}</Button> : null}
      {may.rotate ? <Button onClick={() => setOpened('rotate')}>{texts.rotate}</Button> : null}
    </>
  );
  return (
    <>
      <PageHead title={name} crumbs={crumbs} actions={actions} />
      <About cluster={cluster} />
      {cluster.last_report_at === null ? <NextStep cluster={cluster} /> : null}
      {kind === 'kubernetes' ? <ClusterPolicies clusterId={id} /> : null}
      {kind === 'kubernetes' ? <ApplyLog clusterId={id} /> : null}
      {opened === 'rotate' ? (
        <Rotate
          clusterId={id}
          onClose={close}
          onDone={(made) => {
            close();
            setToken(made);
            onChanged();
          }}
        />
      ) : null}
      {opened === 'delete' ? (
        <Confirm title={texts.deleteTitle(name)} submitText={texts.delete} typed={name} work={remove} onClose={close}>
          {texts.deleteText}
        </Confirm>
      ) : null}
      {token === null ? null : <ClusterToken id={id} token={token} onClose={() => setToken(null)} />}
    </>
  );
}

/** A cluster that never reported has nothing that works with its token yet. */
function NextStep({ cluster: { id, kind } }: { cluster: ClusterItem }) {
  return (
    <section class="card">
      <h2>{texts.nextTitles[kind]}</h2>
      <p>{kind === 'kubernetes' ? texts.nextKubernetes : texts.nextHosts}</p>
      <Examples label={texts.nextCode} examples={clusterExamples(kind, location.origin, id)} />
    </section>
  );
}

function About({ cluster }: { cluster: ClusterItem }) {
  return (
    <section class="card">
      <h2>{texts.about}</h2>
      <dl class="facts">
        <dt>{texts.state}</dt>
        <dd>
          <ClusterState cluster={cluster} />
        </dd>
        <dt>{texts.kind}</dt>
        <dd>{texts.kinds[cluster.kind]}</dd>
        <dt>{texts.id}</dt>
        <dd class="mono">{cluster.id}</dd>
        {cluster.environment === null ? null : (
          <>
            <dt>{shared.environment}</dt>
            <dd>
              <EnvironmentBadge environment={cluster.environment} />
            </dd>
          </>
        )}
        {cluster.kind === 'hosts' ? null : (
          <>
            <dt>{texts.lastReport}</dt>
            <dd>
              <Time at={cluster.last_report_at} none={shared.never} />
            </dd>
          </>
        )}
        <dt>{texts.tokenMade}</dt>
        <dd>
          <Time at={cluster.token_created_at} />
        </dd>
        {cluster.former_token_until === null ? null : (
          <>
            <dt>{texts.formerToken}</dt>
            <dd>
              <Time at={cluster.former_token_until} />
            </dd>
          </>
        )}
      </dl>
    </section>
  );
}

type Overlap = keyof typeof texts.overlaps;

function Rotate({
  clusterId,
  onClose,
  onDone,
}: {
  clusterId: string;
  onClose: () => void;
  onDone: (token: string) => void;
}) {
  const action = useAction();
  const [overlap, setOverlap] = useState<Overlap>('3600');
  const submit = async () => {
    const rotated = await call('POST /clusters/{cluster_id}/rotate-token', {
      path: { cluster_id: clusterId },
      body: { overlap_seconds: Number(overlap) },
    });
    onDone(rotated.cluster_token);
  };
  return (
    <FormDialog
      title={texts.rotateTitle}
      action={action}
      submitText={texts.rotate}
      onClose={onClose}
      onSubmit={() => void action.run(submit)}
    >
      <Select
        field="overlap_seconds"
        label={texts.overlap}
        value={overlap}
        onChange={setOverlap}
        choices={Object.entries(texts.overlaps) as [Overlap, string][]}
      />
    </FormDialog>
  );
}

const RESULT_TONES: Readonly<Record<keyof typeof texts.resultStates, Tone | undefined>> = {
  applied: 'good',
  unchanged: undefined,
  failed: 'danger',
  pruned: 'warning',
};

function ApplyLog({ clusterId }: { clusterId: string }) {
  const log = useLoaded(
    (signal) =>
      call(
        'GET /clusters/{cluster_id}/audit',
        { path: { cluster_id: clusterId }, query: { limit: LOG_SHOWN } },
        { signal },
      ),
    [clusterId],
  );
  return (
    <section class="card">
      <h2>{texts.log}</h2>
      <p class="soft">{texts.logText}</p>
      <WhenLoaded of={log}>
        {({ entries }) =>
          entries.length === 0 ? (
            <p class="soft">{texts.logEmpty}</p>
          ) : (
            <Table
              caption={texts.log}
              rows={entries}
              keyOf={({ id }) => id}
              columns={[
                { title: texts.when, cell: ({ created_at }) => <Time at={created_at} /> },
                { title: texts.logKind, cell: ({ kind }) => texts.logKinds[kind] },
                { title: texts.generation, cell: ({ generation }) => generation },
                { title: texts.secrets, cell: ({ secrets }) => secrets },
                {
                  title: texts.withheld,
                  cell: ({ withheld }) => (withheld === 0 ? 0 : <Badge tone="warning">{withheld}</Badge>),
                },
                {
                  title: texts.results,
                  cell: ({ results }) =>
                    results.map(({ namespace, secret_name, state, message }) => (
                      <div key={`${namespace}/${secret_name}`}>
                        <Badge tone={RESULT_TONES[state]}>{texts.resultStates[state]}</Badge>{' '}
                        <code>{`${namespace}/${secret_name}`}</code>
                        {message ? <div class="soft">{message}</div> : null}
                      </div>
                    )),
                },
              ]}
            />
          )
        }
      </WhenLoaded>
    </section>
  );
}
