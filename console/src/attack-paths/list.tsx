import { Fragment } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { all, call } from '../app/api.ts';
import { useMay } from '../app/capabilities.ts';
import { useAction, useLoaded } from '../app/loading.ts';
import { href } from '../app/router.ts';
import { WaysPlot } from '../plots/way-graph.tsx';
import { Badge } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { Empty, ErrorNote, WhenLoaded } from '../ui/notice.tsx';
import { PageHead } from '../ui/page-head.tsx';
import { Table } from '../ui/table.tsx';
import { shared } from '../ui/texts.ts';
import { Time } from '../ui/time.tsx';
import { toast } from '../ui/toasts.tsx';
import { WhenAllowed } from '../ui/when-allowed.tsx';
import { type AttackPath, COLUMNS, pathGraph, type Step, weakestOf } from './path-graph.ts';
import { attackPathTexts as texts } from './texts.ts';

const HIGH = 70;
const SOME = 40;
const PAGE = 100;
const PATHS_MAX = 2000;
const ROWS = 50;

export default function AttackPathsPage() {
  return (
    <WhenAllowed title={texts.title} check={['attack_paths:list', 'attack-path/*']}>
      {() => <AttackPaths />}
    </WhenAllowed>
  );
}

function AttackPaths() {
  const may = useMay({ recompute: ['attack_paths:recompute', 'attack-path/*'] });
  const action = useAction();
  const paths = useLoaded(loadPaths, []);
  const recompute = async () => {
    await call('POST /attack-paths/recompute', {});
    toast(texts.recomputed);
  };
  return (
    <>
      <PageHead
        title={texts.title}
        intro={texts.intro}
        actions={
          may.recompute ? (
            <Button isBusy={action.isRunning} onClick={() => action.run(recompute)}>
              {texts.recompute}
            </Button>
          ) : null
        }
      />
      <ErrorNote error={action.error} />
      <WhenLoaded of={paths}>
        {({ list, computedAt }) =>
          list.length === 0 ? (
            <Empty title={texts.empty}>{texts.emptyText}</Empty>
          ) : (
            <Paths list={list} computedAt={computedAt} />
          )
        }
      </WhenLoaded>
    </>
  );
}

/** The worst come first, so the first pages have what matters. */
async function loadPaths(signal: AbortSignal) {
  let computedAt: string | null = null;
  const list = await all(async (cursor) => {
    const query = { limit: PAGE, ...(cursor !== undefined && { cursor }) };
    const { attack_paths: items, computed_at, next_cursor } = await call('GET /attack-paths', { query }, { signal });
    computedAt = computed_at;
    return { items, next_cursor };
  }, PATHS_MAX);
  return { list, computedAt };
}

/** All paths as one picture, the chosen one step by step, and the table. */
function Paths({ list, computedAt }: { list: readonly AttackPath[]; computedAt: string | null }) {
  const [id, setId] = useState(list[0]?.id);
  const [shown, setShown] = useState(ROWS);
  const graph = useMemo(() => pathGraph(list), [list]);
  const path = list.find((each) => each.id === id) ?? list[0];
  if (path === undefined) return null;
  const weakest = weakestOf(path);
  return (
    <>
      <WaysPlot
        columns={COLUMNS.map((name) => ({ name, title: texts.columns[name] }))}
        graph={graph}
        chain={graph.chains.get(path.id) ?? []}
        weakest={weakest?.index ?? null}
      />
      <section class="card" aria-live="polite">
        <div class="row between">
          <h2>{texts.from(path.steps[0]?.name ?? '', path.steps.at(-1)?.name ?? '')}</h2>
          <Score score={path.score} />
        </div>
        {weakest === null ? null : <p>{texts.easiest(weakest.step.name, weakest.step.why)}</p>}
        <Path steps={path.steps} weakness={path.weakness} />
      </section>
      <section class="stack">
        <h2>{texts.all(list.length)}</h2>
        <p class="soft">
          {texts.scales} {texts.computed} <Time at={computedAt} />.
        </p>
        <PathTable list={list.slice(0, shown)} chosen={path.id} onChoose={setId} />
        {shown < list.length ? (
          <div>
            <Button onClick={() => setShown(shown + ROWS)}>{shared.more}</Button>
          </div>
        ) : null}
      </section>
    </>
  );
}

function Score({ score }: { score: number }) {
  return <Badge tone={score >= HIGH ? 'danger' : score >= SOME ? 'warning' : undefined}>{texts.score(score)}</Badge>;
}

function PathTable({
  list,
  chosen,
  onChoose,
}: {
  list: readonly AttackPath[];
  chosen: string;
  onChoose: (id: string) => void;
}) {
  const step = ({ steps }: AttackPath, kind: Step['kind']) => steps.find((each) => each.kind === kind);
  return (
    <Table
      caption={texts.table}
      rows={list}
      keyOf={({ id }) => id}
      columns={[
        { title: texts.danger, cell: ({ score }) => <Score score={score} /> },
        {
          title: texts.columns.principal,
          cell: (path) => <div class="breakable">{step(path, 'principal')?.name}</div>,
        },
        { title: texts.columns.credential, cell: (path) => <Named step={step(path, 'credential')} /> },
        { title: texts.columns.grant, cell: (path) => <Named step={step(path, 'grant')} /> },
        { title: texts.columns.secret, cell: (path) => <SecretLink name={step(path, 'secret')?.name ?? ''} /> },
        {
          title: shared.actions,
          isActions: true,
          cell: ({ id }) =>
            id === chosen ? (
              <span class="soft">{texts.isShown}</span>
            ) : (
              <Button isSmall onClick={() => onChoose(id)}>
                {texts.show}
              </Button>
            ),
        },
      ]}
    />
  );
}

function Named({ step }: { step: Step | undefined }) {
  if (step === undefined) return null;
  return (
    <>
      <div class="breakable">{step.name}</div>
      <div class="soft">{step.type.replaceAll('_', ' ')}</div>
    </>
  );
}

/** A chain of boxes with arrows, which wraps where the screen ends. */
function Path({ steps, weakness }: { steps: readonly Step[]; weakness: number }) {
  const weakest = steps.findIndex((step) => step.weakness === weakness);
  return (
    <ol class="path" aria-label={texts.picture(steps.map(({ name }) => name).join(', '))}>
      {steps.map((step, index) => (
        <li key={`${step.kind} ${step.id}`} class={`path-step ${step.kind}${index === weakest ? ' weakest' : ''}`}>
          {index === 0 ? null : (
            <svg class="path-arrow" viewBox="0 0 28 12" width="28" height="12" aria-hidden="true">
              <path d="M0 6h22M17 1l6 5-6 5" fill="none" stroke="currentColor" stroke-width="2" />
            </svg>
          )}
          <div class="path-box">
            <div class="soft">
              {texts.kinds[step.kind]} · {step.type.replaceAll('_', ' ')}
            </div>
            <strong>{step.kind === 'secret' ? <SecretLink name={step.name} /> : step.name}</strong>
            <div>{step.why}</div>
            <span class="row">
              {step.weakness === null ? null : <Badge>{texts.weakness(step.weakness)}</Badge>}
              {index === weakest ? <Badge tone="warning">{texts.weakest}</Badge> : null}
            </span>
          </div>
        </li>
      ))}
    </ol>
  );
}

/** A secret is named by its vault and its path. */
function SecretLink({ name }: { name: string }) {
  const [vault = '', ...path] = name.split('/');
  if (path.length === 0) return <span>{name}</span>;
  return (
    <a href={href('vaults', vault, 'secret', ...path)}>
      <Breakable path={name} />
    </a>
  );
}

/** A path that is broken behind its slashes where it does not fit into a line. */
function Breakable({ path }: { path: string }) {
  const [first, ...others] = path.split('/');
  return (
    <>
      {first}
      {others.map((segment, index) => (
        <Fragment key={index}>
          /<wbr />
          {segment}
        </Fragment>
      ))}
    </>
  );
}
