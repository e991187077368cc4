import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { place } from '../app/router.ts';
import { Button } from '../ui/button.tsx';
import { TextField } from '../ui/field.tsx';
import { onWaysWith, type WayGraph, type WayNode } from './build-path-graph.ts';
import { collapse, orderColumns } from './layered.ts';
import { wayGraphTexts as texts } from './texts.ts';

const NODE = { width: 190, height: 40, gap: 12 };
const COLUMN_WIDTH = 250;
const HEAD_HEIGHT = 34;
/** Nodes of a column before somebody asks for more, and how many are added then. */
const SHOWN = 8;
const ADDED = 24;
const NAME_CHARS = 24;
/** In smaller letters. */
const DETAIL_CHARS = 34;
const ZOOMS = [0.5, 0.7, 0.85, 1, 1.25, 1.5, 2];
/** Smaller letters could not be read, so a narrow screen scrolls. */
const ZOOM_MIN_AT_FIRST = 0.7;
const BOX_PADDING = 18;

interface Placed {
  node: WayNode;
  x: number;
  y: number;
}

export interface GraphColumn {
  readonly name: string;
  readonly title: string;
}

/** Who reaches what, from left to right. Choosing something shows all ways through it, in both directions. */
export function WaysPlot({
  columns: heads,
  graph,
  chain,
  weakest,
}: {
  columns: readonly GraphColumn[];
  graph: WayGraph;
  /** The nodes of the chosen path. */
  chain: readonly string[];
  /** Which of them is the weakest. */
  weakest: number | null;
}) {
  const [text, setText] = useState(place.value.query.get('find') ?? '');
  const [chosen, setChosen] = useState<string | null>(null);
  const [zoom, setZoom] = useState(ZOOMS.indexOf(1));
  const [more, setMore] = useState<Readonly<Record<number, number>>>({});
  const box = useRef<HTMLDivElement>(null);
  const shown = useMemo(() => narrowed(graph, text), [graph, text]);
  const { columns, left } = useMemo(() => {
    const inAnyCase = new Set([...chain, ...(chosen === null ? [] : [chosen])]);
    const { graph: small, left } = collapse(shown, (column) => SHOWN + (more[column] ?? 0) * ADDED, inAnyCase);
    return { columns: orderColumns(small, heads.length), left };
  }, [shown, chain, chosen, more]);
  const rows = Math.max(1, ...columns.map((column) => column.length));
  const height = HEAD_HEIGHT + rows * (NODE.height + NODE.gap);
  const width = (heads.length - 1) * COLUMN_WIDTH + NODE.width + 2;
  useEffect(() => {
    const room = ((box.current?.clientWidth ?? width) - BOX_PADDING) / width;
    const fits = ZOOMS.filter((each) => each <= Math.min(1, Math.max(room, ZOOM_MIN_AT_FIRST)));
    setZoom(fits.length - 1);
  }, []);
  const placed = useMemo(() => placesOf(columns, height), [columns, height]);
  const lit = useMemo(() => (chosen === null ? null : onWaysWith(graph, new Set([chosen]))), [graph, chosen]);
  const isOnPath = (from: string, to: string) => chain.some((id, i) => id === from && chain[i + 1] === to);
  const edges = shown.edges.filter(({ from, to }) => placed.has(from) && placed.has(to));
  const factor = ZOOMS[zoom] ?? 1;
  const change = (step: number) => setZoom(Math.max(0, Math.min(ZOOMS.length - 1, zoom + step)));
  const move = (to: string | undefined) => {
    if (to !== undefined) box.current?.querySelector<SVGGElement>(`[data-node="${CSS.escape(to)}"]`)?.focus();
  };
  const onKey = (event: KeyboardEvent, { node }: Placed) => {
    const column = columns[node.column] ?? [];
    const index = column.findIndex(({ id }) => id === node.id);
    if (event.key === 'Enter' || event.key === ' ') setChosen(chosen === node.id ? null : node.id);
    else if (event.key === 'Escape') setChosen(null);
    else if (event.key === '+') change(1);
    else if (event.key === '-') change(-1);
    else if (event.key === 'ArrowDown') move(column[index + 1]?.id);
    else if (event.key === 'ArrowUp') move(column[index - 1]?.id);
    else if (event.key === 'ArrowRight') move(edges.find(({ from }) => from === node.id)?.to);
    else if (event.key === 'ArrowLeft') move(edges.find(({ to }) => to === node.id)?.from);
    else return;
    event.preventDefault();
  };
  return (
    <section class="card">
      <div class="row between graph-tools">
        <TextField label={texts.find} value={text} onInput={setText} />
        <div class="row">
          <Button isSmall onClick={() => change(-1)} label={texts.smaller}>
            −
          </Button>
          <Button isSmall onClick={() => change(1)} label={texts.larger}>
            +
          </Button>
        </div>
      </div>
      <p class="soft" role="status">
        {chosen === null ? texts.counts(shown.nodes.length) : texts.reach(nameOf(graph, chosen), (lit?.size ?? 1) - 1)}
      </p>
      <div class="graph-box" ref={box}>
        <svg
          width={width * factor}
          height={height * factor}
          viewBox={`0 0 ${width} ${height}`}
          class={lit === null ? 'graph' : 'graph has-chosen'}
        >
          <title>{texts.graph}</title>
          {heads.map(({ name, title }, column) => (
            <text class="graph-head" key={name} x={column * COLUMN_WIDTH + 1} y={16}>
              {title}
            </text>
          ))}
          <g>
            {edges.map(({ from, to }) => {
              const isLit = lit?.has(from) === true && lit.has(to);
              const isPath = isOnPath(from, to);
              const isWeak = isPath && weakest !== null && chain[weakest] === from;
              const kind = `${isPath ? ' on-path' : ''}${isLit ? ' lit' : ''}${isWeak ? ' weak' : ''}`;
              return <path key={`${from} ${to}`} class={`graph-edge${kind}`} d={edgePath(placed, from, to)} />;
            })}
          </g>
          {[...placed.values()].map((each) => (
            <Node
              key={each.node.id}
              placed={each}
              kindOfColumn={heads[each.node.column]?.name ?? ''}
              isChosen={each.node.id === chosen}
              isLit={lit?.has(each.node.id) ?? false}
              isOnPath={chain.includes(each.node.id)}
              isWeakest={weakest !== null && chain[weakest] === each.node.id}
              onChoose={() => setChosen(each.node.id === chosen ? null : each.node.id)}
              onKey={(event) => onKey(event, each)}
            />
          ))}
        </svg>
      </div>
      <div class="row">
        {heads.map(({ name, title }, column) =>
          (left[column] ?? 0) > 0 ? (
            <Button isSmall key={name} onClick={() => setMore({ ...more, [column]: (more[column] ?? 0) + 1 })}>
              {texts.moreOf(left[column] ?? 0, title)}
            </Button>
          ) : null,
        )}
      </div>
      <p class="faint">{texts.graphKeys}</p>
    </section>
  );
}

function Node({
  placed: { node, x, y },
  kindOfColumn,
  isChosen,
  isLit,
  isOnPath,
  isWeakest,
  onChoose,
  onKey,
}: {
  placed: Placed;
  kindOfColumn: string;
  isChosen: boolean;
  isLit: boolean;
  isOnPath: boolean;
  isWeakest: boolean;
  onChoose: () => void;
  onKey: (event: KeyboardEvent) => void;
}) {
  const kind = `${isOnPath ? ' on-path' : ''}${isLit ? ' lit' : ''}${isWeakest ? ' weak' : ''}`;
  const detail = isWeakest ? `${node.detail}, ${texts.weakest}` : node.detail;
  return (
    // biome-ignore lint/a11y/useSemanticElements: a button cannot stand in an SVG
    <g
      class={`graph-node ${kindOfColumn}${kind}`}
      role="button"
      // Attributes of SVG are case-sensitive.
      tabindex={0}
      aria-pressed={isChosen}
      data-node={node.id}
      onClick={onChoose}
      onKeyDown={onKey}
    >
      <rect x={x} y={y} width={NODE.width} height={NODE.height} rx="6">
        {node.name.length > NAME_CHARS ? <title>{node.name}</title> : null}
      </rect>
      <text class="graph-name" x={x + 10} y={y + 17}>
        {cut(node.name, NAME_CHARS)}
      </text>
      <text class="graph-detail" x={x + 10} y={y + 32}>
        {cut(detail, DETAIL_CHARS)}
      </text>
    </g>
  );
}

/** The whole graph, or all ways through what matches. */
function narrowed(graph: WayGraph, text: string): Pick<WayGraph, 'nodes' | 'edges'> {
  const { nodes, edges } = graph;
  const typed = text.trim().toLowerCase();
  if (typed === '') return { nodes, edges };
  const matches = nodes.filter(({ fullName, detail }) => `${fullName} ${detail}`.toLowerCase().includes(typed));
  const within = onWaysWith(graph, new Set(matches.map(({ id }) => id)));
  return {
    nodes: nodes.filter(({ id }) => within.has(id)),
    edges: edges.filter(({ from, to }) => within.has(from) && within.has(to)),
  };
}

/** Columns with fewer nodes than the longest stand in its middle. */
function placesOf(columns: readonly (readonly WayNode[])[], height: number): ReadonlyMap<string, Placed> {
  const placed = new Map<string, Placed>();
  const step = NODE.height + NODE.gap;
  for (const [column, nodes] of columns.entries()) {
    const top = HEAD_HEIGHT + (height - HEAD_HEIGHT - nodes.length * step) / 2;
    for (const [row, node] of nodes.entries())
      placed.set(node.id, { node, x: column * COLUMN_WIDTH + 1, y: top + row * step });
  }
  return placed;
}

function edgePath(placed: ReadonlyMap<string, Placed>, from: string, to: string): string {
  const [a, b] = [placed.get(from), placed.get(to)];
  if (a === undefined || b === undefined) return '';
  const [x1, y1] = [a.x + NODE.width, a.y + NODE.height / 2];
  const [x2, y2] = [b.x, b.y + NODE.height / 2];
  const middle = (x1 + x2) / 2;
  return `M${x1} ${y1}C${middle} ${y1} ${middle} ${y2} ${x2} ${y2}`;
}

function nameOf({ nodes }: WayGraph, id: string): string {
  return nodes.find((node) => node.id === id)?.name ?? '';
}

function cut(text: string, max: number): string {
  return text.length > max ? `${text.slice(0, max - 1)}…` : text;
}
