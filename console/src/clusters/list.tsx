import { useState } from 'preact/hooks';
import { call } from '../app/api.ts';
import { loadList } from '../app/load-list.ts';
import type { PageProps } from '../app/page.ts';
import { href, navigate } from '../app/router.ts';
import { EnvironmentBadge } from '../ui/badge.tsx';
import { FormDialog } from '../ui/dialog.tsx';
import { Select, TextField } from '../ui/field.tsx';
import { useForm } from '../ui/form-values.ts';
import { lazyPart } from '../ui/lazy-part.tsx';
import { ListOrItem, ListPage } from '../ui/list-page.tsx';
import { Table } from '../ui/table.tsx';
import { shared } from '../ui/texts.ts';
import { Time } from '../ui/time.tsx';
import type { ClusterItem } from './data.ts';
import { ClusterState, ClusterToken } from './status.tsx';
import { clustersTexts as texts } from './texts.ts';

const Cluster = lazyPart(() => import('./page.tsx'));

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

function CreateCluster({
  onClose,
  onDone,
}: {
  onClose: () => void;
  onDone: (created: { id: string; cluster_token: string }) => void;
}) {
  const form = useForm({ name: '', kind: 'kubernetes' as Kind, environment: '' });
  const { name, kind, environment } = form.values;
  const submit = async () =>
    onDone(await call('POST /clusters', { body: { name, kind, ...(environment !== '' && { environment }) } }));
  return (
    <FormDialog title={texts.createTitle} submitText={shared.create} onClose={onClose} submit={submit}>
      <TextField label={shared.name} hint={texts.nameHint} {...form.text('name')} isRequired isFocused isMono />
      <Select
        label={texts.kind}
        hint={texts.kindHint}
        {...form.choice('kind')}
        choices={Object.entries(texts.kinds) as [Kind, string][]}
      />
      <Select
        label={shared.environment}
        hint={texts.environmentHint}
        {...form.choice('environment')}
        choices={[['', texts.anyEnvironment], ...Object.entries(shared.stages)]}
      />
    </FormDialog>
  );
}
