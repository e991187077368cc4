import { call } from '../api.ts';
import { useMay } from '../capabilities.ts';
import { lazyPart } from '../lazy-part.tsx';
import { useAction, useLoaded } from '../loading.ts';
import { href, place, setQuery } from '../router.ts';
import type { PageProps } from '../routes.ts';
import { anomaliesTexts as texts } from '../texts/anomalies.ts';
import { Badge, SeverityBadge } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { Select } from '../ui/field.tsx';
import { PageHead } from '../ui/layout.tsx';
import { Empty, ErrorNote, WhenLoaded } from '../ui/notice.tsx';
import { Table } from '../ui/table.tsx';
import { Time } from '../ui/time.tsx';
import { toast } from '../ui/toasts.tsx';

type Status = keyof typeof texts.statuses;
type Severity = keyof typeof texts.severities;

const Anomaly = lazyPart(() => import('./anomaly.tsx'));

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
  const anomalies = useLoaded(
    (signal) =>
      call('GET /anomalies', { query: { status, limit: 200, ...(severity !== '' && { severity }) } }, { signal }),
    [status, severity],
  );
  const scan = async () => {
    await call('POST /anomalies/scan', {});
    toast(texts.scanned);
  };
  return (
    <>
      <PageHead
        title={texts.title}
        intro={texts.intro}
        actions={
          may.scan ? (
            <Button isBusy={action.isRunning} onClick={() => action.run(scan)}>
              {texts.scan}
            </Button>
          ) : null
        }
      />
      <ErrorNote error={action.error} />
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
      <WhenLoaded of={anomalies}>
        {({ anomalies: list }) =>
          list.length === 0 ? (
            <Empty title={texts.empty}>
              {status !== 'open' ? texts.emptyFiltered : may.all ? texts.emptyText : texts.emptyOwn}
            </Empty>
          ) : (
            <Table
              caption={texts.list}
              rows={list}
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
          )
        }
      </WhenLoaded>
    </>
  );
}
