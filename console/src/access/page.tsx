import { useEffect, useMemo, useState } from 'preact/hooks';
import { place, setQuery } from '../app/router.ts';
import { WaysPlot } from '../plots/way-graph.tsx';
import { Button } from '../ui/button.tsx';
import { Checkbox, Select, TextField } from '../ui/field.tsx';
import { Empty, ErrorNote, Notice } from '../ui/notice.tsx';
import { PageHead } from '../ui/page-head.tsx';
import { WhenAllowed } from '../ui/when-allowed.tsx';
import { accessGraph, COLUMNS, keyOf } from './build-graph.ts';
import { FOCUS_KINDS, type Focus, focusOf, queryOf } from './focus.ts';
import { type FoundWays, useWays } from './load-paths.ts';
import { WaysTable } from './paths-table.tsx';
import { accessTexts as texts } from './texts.ts';

export default function AccessPage() {
  const query = place.value.query;
  const focus = focusOf(query);
  return (
    <>
      <PageHead title={texts.title} intro={texts.intro} />
      <WhenAllowed check={['access_paths:list', 'access-path/*']}>
        {() => (
          <>
            <ChooseFocus key={query.toString()} focus={focus} />
            <Ways query={queryOf(focus)} />
          </>
        )}
      </WhenAllowed>
    </>
  );
}

function ChooseFocus({ focus }: { focus: Focus }) {
  const [kind, setKind] = useState(focus.kind);
  const [name, setName] = useState(focus.name);
  const [endsAtSecrets, setEndsAtSecrets] = useState(focus.endsAtSecrets);
  const isPathMissing = kind === 'secret' && name !== '' && !/^[^/]+\/./.test(name);
  const submit = (event: Event) => {
    event.preventDefault();
    if (isPathMissing) return;
    const nothing = Object.fromEntries([...FOCUS_KINDS, 'path', 'depth', 'find'].map((each) => [each, null]));
    setQuery({ ...nothing, ...queryOf({ kind, name: name.trim(), endsAtSecrets }) });
  };
  return (
    <form class="card" onSubmit={submit}>
      <div class="row graph-tools">
        <Select
          label={texts.from}
          value={kind}
          onChange={(chosen) => {
            setKind(chosen);
            setName('');
          }}
          choices={FOCUS_KINDS.map((each) => [each, texts.focuses[each]])}
        />
        {kind === 'everything' ? null : (
          <TextField
            label={texts.names[kind]}
            value={name}
            onInput={setName}
            problem={isPathMissing ? texts.needsPath : null}
            isRequired
          />
        )}
        {kind === 'secret' ? null : (
          <Checkbox label={texts.toSecrets} isChecked={endsAtSecrets} onChange={setEndsAtSecrets} />
        )}
        <Button kind="primary" type="submit">
          {texts.show}
        </Button>
      </div>
    </form>
  );
}

function Ways({ query }: { query: Record<string, string> }) {
  const ways = useWays(query);
  const { paths, hidden, isLoading, error, loadMore } = ways;
  return (
    <>
      <ErrorNote error={error} />
      <p class="soft" role="status">
        {isLoading ? texts.loading(paths.length) : texts.counts(paths.length)}
        {hidden > 0 ? ` ${texts.hidden(hidden)}` : ''}
      </p>
      {paths.length === 0 && !isLoading && error === null ? <Empty title={texts.empty}>{texts.emptyText}</Empty> : null}
      {paths.length > 0 ? <Drawn ways={ways} /> : null}
      {loadMore === null ? null : (
        <Notice>
          {texts.more(paths.length)}{' '}
          <Button isSmall onClick={loadMore}>
            {texts.loadMore}
          </Button>
        </Notice>
      )}
    </>
  );
}

/** The picture and the table of the same ways. One of them can be chosen to be marked in the picture. */
function Drawn({ ways: { paths } }: { ways: FoundWays }) {
  const [withCredentials, setWithCredentials] = useState(true);
  const [chosen, setChosen] = useState<string | null>(null);
  const graph = useMemo(() => accessGraph(paths, withCredentials, texts.nodes), [paths, withCredentials]);
  useEffect(() => {
    if (chosen !== null && !graph.chains.has(chosen)) setChosen(null);
  }, [graph, chosen]);
  const chain = (chosen === null ? undefined : graph.chains.get(chosen)) ?? [];
  const used = COLUMNS.map((_, column) => graph.nodes.some((node) => node.column === column));
  const { nodes, columns } = useMemo(() => packed(graph.nodes, used), [graph, used.join()]);
  const hasCredential = paths.find((path) => keyOf(path) === chosen)?.credentials.length !== 0;
  return (
    <>
      <Checkbox label={texts.withCredentials} isChecked={withCredentials} onChange={setWithCredentials} />
      <WaysPlot
        columns={columns}
        graph={{ ...graph, nodes }}
        chain={chain}
        weakest={chosen !== null && withCredentials && hasCredential ? 1 : null}
      />
      <WaysTable paths={paths} chosen={chosen} onChoose={setChosen} />
    </>
  );
}

/** A column in which nothing stands takes no room. */
function packed<N extends { column: number }>(nodes: readonly N[], used: readonly boolean[]) {
  const place = used.map((_, column) => used.slice(0, column).filter(Boolean).length);
  return {
    nodes: nodes.map((node) => ({ ...node, column: place[node.column] ?? 0 })),
    columns: COLUMNS.filter((_, column) => used[column]).map((name) => ({ name, title: texts.columns[name] })),
  };
}
