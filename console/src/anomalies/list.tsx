import type { RouteOutput } from '@coffer/client';
import { call } from '../app/api.ts';
import { useMay } from '../app/capabilities.ts';
import { useAction } from '../app/loading.ts';
import type { PageProps } from '../app/page.ts';
import { href, place, setQuery } from '../app/router.ts';
import { Badge, SeverityBadge } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { Select } from '../ui/field.tsx';
import { lazyPart } from '../ui/lazy-part.tsx';
import { ListPage } from '../ui/list-page.tsx';
import { ErrorNote } from '../ui/notice.tsx';
import { Table } from '../ui/table.tsx';
import { Time } from '../ui/time.tsx';
import { toast } from '../ui/toasts.tsx';
import { anomaliesTexts as texts } from './texts.ts';

type Status = keyof typeof texts.statuses;
type Severity = keyof typeof texts.severities;

const Anomaly = lazyPart(() => import('./page.tsx'));

export default function AnomaliesPage({ rest }: PageProps) {
  const [id] = rest;
  return id === undefined ? <AnomalyList /> : <Anomaly key={id} id={id} />;
}

function AnomalyList() {
  const { query } = place.value;
  const status = (query.get('status') ?? 'open') as Status;
  const severity = (query.get('severity') ?? '') as Severity;
  const may = useMay({ scan: ['anomalies:scan', 'anomaly-scans'], all: ['anomalies:read', 'anomaly/*'] });
  const action = useAction();
  const emptyText = status !== 'open' ? texts.emptyFiltered : may.all ? texts.emptyText : texts.emptyOwn;
  const scan = async () => {
    await call('POST /anomalies/scan', {});
    toast(texts.scanned);
  };
  return (
    <ListPage
      texts={{ ...texts, emptyText }}
      load={(signal) => load(status, severity, signal)}
      inputs={[status, severity]}
      actions={
        may.scan ? (
          <Button isBusy={action.isRunning} onClick={() => action.run(scan)}>
            {texts.scan}
          </Button>
        ) : null
      }
      filters={() => (
        <>
          <ErrorNote error={action.error} />
          <Filters status={status} severity={severity} />
        </>
      )}
    >
      {(anomalies) => <AnomalyTable anomalies={anomalies} />}
    </ListPage>
  );
}

async function load(status: Status, severity: Severity, signal: AbortSignal) {
  const query = { status, limit: 200, ...(severity !== '' && { severity }) };
  return (await call('GET /anomalies', { query }, { signal })).anomalies;
}

function Filters({ status, severity }: { status: Status; severity: Severity }) {
  return (
    <div class="row">
      <Select
        label={texts.status}
        value={status}
        onChange={(chosen) => setQuery({ status: chosen === 'open' ? null : chosen })}
        choices={Object.entries(texts.statuses) as [Status, string][]}
      />
      <Select
        label={texts.severity}
        value={severity}
        onChange={(chosen) => setQuery({ severity: chosen })}
        choices={Object.entries(texts.severities) as [Severity, string][]}
      />
    </div>
  );
}

type AnomalyItem = RouteOutput<'GET /anomalies'>['anomalies'][number];

function AnomalyTable({ anomalies }: { anomalies: readonly AnomalyItem[] }) {
  return (
    <Table
      caption={texts.list}
      rows={anomalies}
      keyOf={({ id }) => id}
      columns={[
        { title: texts.severity, cell: (each) => <SeverityBadge severity={each.severity} /> },
        {
          title: texts.what,
          cell: (each) => (
            <>
              <a href={href('anomalies', each.id)}>{texts.types[each.type]}</a>
              <div class="soft mono">{each.resource}</div>
            </>
          ),
        },
        { title: texts.lastSeen, cell: (each) => <Time at={each.last_seen_at} /> },
        { title: texts.occurrences, cell: (each) => each.occurrences },
        { title: texts.status, cell: (each) => <Badge>{texts.statuses[each.status]}</Badge> },
      ]}
    />
  );
}
