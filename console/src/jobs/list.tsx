import type { RouteOutput } from '@coffer/client';
import { call } from '../app/api.ts';
import { useMay } from '../app/capabilities.ts';
import { useAction, useLoaded } from '../app/loading.ts';
import { Badge } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { Facts } from '../ui/facts.tsx';
import { ErrorNote, WhenLoaded } from '../ui/notice.tsx';
import { PageHead } from '../ui/page-head.tsx';
import { Table } from '../ui/table.tsx';
import { shared } from '../ui/texts.ts';
import { Time } from '../ui/time.tsx';
import { toast } from '../ui/toasts.tsx';
import { WhenAllowed } from '../ui/when-allowed.tsx';
import { jobsTexts as texts } from './texts.ts';

type Job = RouteOutput<'GET /admin/jobs'>['jobs'][number];

const TONES = { success: 'good', failure: 'danger', refused: 'warning' } as const;

export default function JobsPage() {
  return (
    <>
      <PageHead title={texts.title} intro={texts.intro} />
      <WhenAllowed check={['jobs:list', 'job']}>
        {() => (
          <>
            <LoadedNodes />
            <LoadedJobs />
          </>
        )}
      </WhenAllowed>
    </>
  );
}

/** For operators: which nodes there are, and whether each was seen lately. */
function LoadedNodes() {
  const may = useMay({ nodes: ['nodes:list', 'node'] });
  return may.nodes ? <Nodes /> : null;
}

/** A node reports itself every ten seconds. */
const SEEN_WITHIN_MS = 60_000;

function Nodes() {
  const loaded = useLoaded((signal) => call('GET /admin/nodes', {}, { signal }), []);
  return (
    <section class="stack">
      <h2>{texts.nodes}</h2>
      <WhenLoaded of={loaded}>
        {({ nodes }) => {
          const newest = Math.max(...nodes.map(({ schema_version }) => schema_version));
          const lastSeen = Math.max(...nodes.map(({ seen_at }) => Date.parse(seen_at)));
          return (
            <div class="grid">
              {nodes.map((node) => {
                const isSilent = lastSeen - Date.parse(node.seen_at) > SEEN_WITHIN_MS;
                return (
                  <div class="card" key={node.id}>
                    <div class="row between">
                      <strong class="breakable">{node.region ?? node.id}</strong>
                      <Badge tone={isSilent ? 'danger' : 'good'}>{isSilent ? texts.silent : texts.seen}</Badge>
                    </div>
                    <Facts
                      of={[
                        [texts.node, node.is_answering ? texts.answering(node.id) : node.id],
                        [texts.release, node.release],
                        node.schema_version < newest ? [texts.schema, texts.older(node.schema_version, newest)] : null,
                        [texts.nodeStarted, <Time at={node.started_at} />],
                        [texts.lastSeen, <Time at={node.seen_at} />],
                      ]}
                    />
                  </div>
                );
              })}
            </div>
          );
        }}
      </WhenLoaded>
    </section>
  );
}

function LoadedJobs() {
  const loaded = useLoaded((signal) => call('GET /admin/jobs', {}, { signal }), []);
  return <WhenLoaded of={loaded}>{({ jobs }) => <Jobs jobs={jobs} onChanged={loaded.reload} />}</WhenLoaded>;
}

function Jobs({ jobs, onChanged }: { jobs: readonly Job[]; onChanged: () => void }) {
  const may = useMay({ run: ['jobs:run', 'job/*'] });
  const running = useAction();
  const run = async (name: string) => {
    await call('POST /admin/jobs/{job}/run', { path: { job: name } });
    toast(texts.started(name));
    onChanged();
  };
  return (
    <>
      <ErrorNote error={running.error} />
      <Table
        caption={texts.title}
        rows={jobs}
        keyOf={({ name }) => name}
        columns={[
          { title: shared.name, cell: ({ name }) => name },
          { title: texts.lastRun, cell: (job) => <LastRun job={job} /> },
          {
            title: texts.nextRun,
            cell: ({ next_run_at: at }) => <Time at={at} none={texts.asSoonAsFree} />,
          },
          {
            title: texts.lastError,
            cell: ({ last_error: error, last_failed_at: at }) =>
              error === null ? null : (
                <>
                  <Time at={at} />
                  <div class="soft">{error}</div>
                </>
              ),
          },
          {
            title: texts.actions,
            isActions: true,
            cell: ({ name }) =>
              may.run ? (
                <Button
                  isSmall
                  isBusy={running.isRunning}
                  label={texts.runNamed(name)}
                  onClick={() => running.run(() => run(name))}
                >
                  {texts.run}
                </Button>
              ) : null,
          },
        ]}
      />
    </>
  );
}

function LastRun({ job: { is_running: isRunning, last_finished_at: at, last_outcome: outcome } }: { job: Job }) {
  return (
    <>
      {isRunning ? <Badge>{texts.running}</Badge> : null}
      {outcome === null ? null : <Badge tone={TONES[outcome]}>{texts.outcomes[outcome]}</Badge>}{' '}
      <Time at={at} none={shared.never} />
    </>
  );
}
