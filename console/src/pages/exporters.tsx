import { type ExporterItem, exporterState, STATE_TONES } from '../exporters.ts';
import { lazyPart } from '../lazy-part.tsx';
import { loadList } from '../load-list.ts';
import { href } from '../router.ts';
import type { PageProps } from '../routes.ts';
import { exportersTexts as texts } from '../texts/exporters.ts';
import { shared } from '../texts/shared.ts';
import { Badge } from '../ui/badge.tsx';
import { ListOrItem, ListPage } from '../ui/list-page.tsx';
import { Table } from '../ui/table.tsx';
import { Time } from '../ui/time.tsx';

const EditExporter = lazyPart(() => import('./edit-exporter.tsx'));
const Exporter = lazyPart(() => import('./exporter.tsx'));

export default function ExportersPage({ rest }: PageProps) {
  return (
    <ListOrItem
      rest={rest}
      title={texts.title}
      list={<Exporters />}
      check={(id) => ['exporters:read', `exporter/${id}`]}
      item={(id) => <Exporter id={id} />}
    />
  );
}

function Exporters() {
  return (
    <ListPage
      texts={texts}
      mayList={['exporters:list', 'exporter/*']}
      mayCreate={['exporters:create', 'exporter/*']}
      load={(signal) => loadList('GET /v1/audit/exporters', 'exporters', signal)}
      form={({ close, reload }) => (
        <EditExporter
          exporter={null}
          onClose={close}
          onDone={() => {
            close();
            reload();
          }}
        />
      )}
    >
      {(exporters) => <ExporterTable exporters={exporters} />}
    </ListPage>
  );
}

function ExporterTable({ exporters }: { exporters: readonly ExporterItem[] }) {
  return (
    <Table
      caption={texts.title}
      rows={exporters}
      keyOf={({ id }) => id}
      columns={[
        {
          title: shared.name,
          cell: ({ id, name, type }) => (
            <>
              <a href={href('exporters', id)}>{name}</a>
              <div class="soft">{texts.types[type]}</div>
            </>
          ),
        },
        { title: texts.state, cell: (exporter) => <ExporterStateBadge exporter={exporter} /> },
        { title: texts.lag, cell: ({ lag_entries, lag_seconds }) => texts.lagOf(lag_entries, lag_seconds) },
        { title: texts.delivered, cell: ({ delivered }) => delivered },
        {
          title: texts.lost,
          cell: ({ rejected, skipped }) =>
            rejected + skipped === 0 ? 0 : <Badge tone="warning">{rejected + skipped}</Badge>,
        },
        { title: texts.lastSuccess, cell: ({ last_success_at: at }) => <Time at={at} none={shared.never} /> },
      ]}
    />
  );
}

export function ExporterStateBadge({ exporter }: { exporter: ExporterItem }) {
  const state = exporterState(exporter);
  return (
    <>
      <Badge tone={STATE_TONES[state]}>{texts.states[state]}</Badge>
      {exporter.last_error === null ? null : <div class="soft">{exporter.last_error}</div>}
    </>
  );
}
