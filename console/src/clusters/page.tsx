import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { call } from '../app/api.ts';
import { useMay } from '../app/capabilities.ts';
import { href, navigate } from '../app/router.ts';
import { useCall } from '../app/use-call.ts';
import { Badge, EnvironmentBadge, type Tone } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { Confirm } from '../ui/confirm.tsx';
import { FormDialog } from '../ui/dialog.tsx';
import { Examples } from '../ui/examples.tsx';
import { Facts } from '../ui/facts.tsx';
import { Select } from '../ui/field.tsx';
import { WhenLoaded } from '../ui/notice.tsx';
import { PageHead } from '../ui/page-head.tsx';
import { Table } from '../ui/table.tsx';
import { shared } from '../ui/texts.ts';
import { Time } from '../ui/time.tsx';
import { toast } from '../ui/toasts.tsx';
import { WhenFound } from '../ui/when-found.tsx';
import type { ClusterItem } from './data.ts';
import { clusterExamples } from './example-texts.ts';
import { ClusterPolicies } from './policies.tsx';
import { ClusterState, ClusterToken } from './status.tsx';
import { clustersTexts as texts } from './texts.ts';

const LOG_SHOWN = 50;

export default function Cluster({ id }: { id: string }) {
  const cluster = useCall('GET /clusters/{cluster_id}', { path: { cluster_id: id } });
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
      {may.rotate ? <Button onClick={() => setOpened('rotate')}>{texts.rotate}</Button> : null}
      {may.delete ? (
        <Button kind="destructive" onClick={() => setOpened('delete')}>
          {texts.delete}
        </Button>
      ) : null}
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
      <Facts
        of={[
          [texts.state, <ClusterState cluster={cluster} />],
          [texts.kind, texts.kinds[cluster.kind]],
          [texts.id, <span class="mono">{cluster.id}</span>],
          cluster.environment === null
            ? null
            : [shared.environment, <EnvironmentBadge environment={cluster.environment} />],
          cluster.kind === 'hosts'
            ? null
            : [texts.lastReport, <Time at={cluster.last_report_at} none={shared.never} />],
          [texts.tokenMade, <Time at={cluster.token_created_at} />],
          cluster.former_token_until === null ? null : [texts.formerToken, <Time at={cluster.former_token_until} />],
        ]}
      />
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
  const [overlap, setOverlap] = useState<Overlap>('3600');
  const submit = async () => {
    const rotated = await call('POST /clusters/{cluster_id}/rotate-token', {
      path: { cluster_id: clusterId },
      body: { overlap_seconds: Number(overlap) },
    });
    onDone(rotated.cluster_token);
  };
  return (
    <FormDialog title={texts.rotateTitle} submitText={texts.rotate} onClose={onClose} submit={submit}>
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
  const log = useCall('GET /clusters/{cluster_id}/audit', {
    path: { cluster_id: clusterId },
    query: { limit: LOG_SHOWN },
  });
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
