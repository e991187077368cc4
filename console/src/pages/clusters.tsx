import type { RouteOutput } from '@coffer/client';
import { useState } from 'preact/hooks';
import { call } from '../api.ts';
import { lazyPart } from '../lazy-part.tsx';
import { loadList } from '../load-list.ts';
import { useAction } from '../loading.ts';
import { href, navigate } from '../router.ts';
import type { PageProps } from '../routes.ts';
import { clustersTexts as texts } from '../texts/clusters.ts';
import { shared } from '../texts/shared.ts';
import { vaultsTexts } from '../texts/vaults.ts';
import { Badge, EnvironmentBadge } from '../ui/badge.tsx';
import { FormDialog } from '../ui/dialog.tsx';
import { Select, TextField } from '../ui/field.tsx';
import { ListOrItem, ListPage } from '../ui/list-page.tsx';
import { ShownOnce } from '../ui/shown-once.tsx';
import { Table } from '../ui/table.tsx';
import { Time } from '../ui/time.tsx';

const Cluster = lazyPart(() => import('./cluster.tsx'));

export type ClusterItem = RouteOutput<'GET /clusters/{cluster_id}'>;
type Kind = ClusterItem['kind'];

export default function ClustersPage({ rest }: PageProps) {
  return (
    <ListOrItem
      rest={rest}
      title={texts.title}
      list={<Clusters />}
      check={(id) => ['clusters:read', `cluster/${id}`]}
      item={(id) => <Cluster id={id} />}
    />
  );
}

function Clusters() {
  const [made, setMade] = useState<{ id: string; cluster_token: string } | null>(null);
  return (
    <>
      <ListPage
        texts={texts}
        mayList={['clusters:list', 'cluster/*']}
        mayCreate={['clusters:create', 'cluster/*']}
        load={(signal) => loadList('GET /clusters', 'clusters', signal)}
        form={({ close }) => (
          <CreateCluster
            onClose={close}
            onDone={(created) => {
              close();
              setMade(created);
            }}
          />
        )}
      >
        {(clusters) => (
          <Table
            caption={texts.title}
            rows={clusters}
            keyOf={({ id }) => id}
            columns={[
              { title: shared.name, cell: ({ id, name }) => <a href={href('clusters', id)}>{name}</a> },
              { title: texts.kind, cell: ({ kind }) => texts.kinds[kind] },
              {
                title: shared.environment,
                cell: ({ environment }) => <EnvironmentBadge environment={environment} />,
              },
              { title: texts.state, cell: (cluster) => <ClusterState cluster={cluster} /> },
              {
                title: texts.lastReport,
                cell: ({ kind, last_report_at: at }) => <Time at={at} none={kind === 'hosts' ? '–' : shared.never} />,
              },
            ]}
          />
        )}
      </ListPage>
      {made === null ? null : (
        <ClusterToken
          id={made.id}
          token={made.cluster_token}
          onClose={() => {
            setMade(null);
            navigate(href('clusters', made.id));
          }}
        />
      )}
    </>
  );
}

export function ClusterToken({ id, token, onClose }: { id: string; token: string; onClose: () => void }) {
  return (
    <ShownOnce title={texts.tokenTitle} label={texts.token} value={token} fileName="cluster.token" onClose={onClose}>
      <p>{texts.tokenText}</p>
      <p>
        {texts.id}: <code>{id}</code>
      </p>
    </ShownOnce>
  );
}

export function ClusterState({ cluster }: { cluster: ClusterItem }) {
  const { kind, generation, applied_generation, failed, last_report_at } = cluster;
  if (kind === 'hosts') return <a href={href('hosts')}>{texts.seeHosts}</a>;
  if (last_report_at === null) return <Badge>{texts.silent}</Badge>;
  if (failed > 0) return <Badge tone="danger">{texts.failed(failed)}</Badge>;
  if (applied_generation < generation) {
    return <Badge tone="warning">{texts.behind(generation - applied_generation)}</Badge>;
  }
  return <Badge tone="good">{texts.current}</Badge>;
}

function CreateCluster({
  onClose,
  onDone,
}: {
  onClose: () => void;
  onDone: (created: { id: string; cluster_token: string }) => void;
}) {
  const action = useAction();
  const [name, setName] = useState('');
  const [kind, setKind] = useState<Kind>('kubernetes');
  const [environment, setEnvironment] = useState('');
  const submit = async () =>
    onDone(await call('POST /clusters', { body: { name, kind, ...(environment !== '' && { environment }) } }));
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
      <Select
        field="kind"
        label={texts.kind}
        hint={texts.kindHint}
        value={kind}
        onChange={setKind}
        choices={Object.entries(texts.kinds) as [Kind, string][]}
      />
      <Select
        field="environment"
        label={shared.environment}
        hint={texts.environmentHint}
        value={environment}
        onChange={setEnvironment}
        choices={[['', texts.anyEnvironment], ...Object.entries(vaultsTexts.environments)]}
      />
    </FormDialog>
  );
}
