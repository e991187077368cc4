import { loadList } from '../app/load-list.ts';
import type { PageProps } from '../app/page.ts';
import { href } from '../app/router.ts';
import { Badge } from '../ui/badge.tsx';
import { lazyPart } from '../ui/lazy-part.tsx';
import { ListOrItem, ListPage } from '../ui/list-page.tsx';
import { Table } from '../ui/table.tsx';
import { shared } from '../ui/texts.ts';
import { Time } from '../ui/time.tsx';
import type { ExporterItem } from './data.ts';
import { ExporterStateBadge } from './status.tsx';
import { exportersTexts as texts } from './texts.ts';

const EditExporter = lazyPart(() => import('./edit.tsx'));
const Exporter = lazyPart(() => import('./page.tsx'));

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
