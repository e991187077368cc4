/** A graph in columns, whose edges lead from a column to one further right. */
export interface GraphNode {
  readonly id: string;
  readonly column: number;
  /** What is more important is shown first where there is not room for all. */
  readonly weight: number;
}

export interface GraphEdge {
  readonly from: string;
  readonly to: string;
}

export interface Graph<N extends GraphNode> {
  readonly nodes: readonly N[];
  readonly edges: readonly GraphEdge[];
}

/** How often all columns are ordered by their neighbours, to the right and back. */
const SWEEPS = 4;

/** The nodes of each column, ordered so that few edges cross: each stands at the mean of its neighbours. Linear in the edges, but for sorting. */
export function orderColumns<N extends GraphNode>({ nodes, edges }: Graph<N>, columns: number): N[][] {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const neighbours = neighboursOf(edges, byId);
  const ordered = Array.from({ length: columns }, (_, column) =>
    nodes.filter((node) => node.column === column).toSorted((a, b) => b.weight - a.weight || compare(a.id, b.id)),
  );
  const places = new Map<string, number>();
  for (const column of ordered) place(column, places);
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const isRightward = sweep % 2 === 0;
    for (const column of isRightward ? ordered.keys() : [...ordered.keys()].reverse()) {
      const current = ordered[column] ?? [];
      const means = new Map(
        current.map(({ id }) => [id, mean(neighbours.get(id)?.[isRightward ? 'before' : 'after'] ?? [], places)]),
      );
      // What has no neighbour on that side stays where it is.
      const key = ({ id }: N) => means.get(id) ?? places.get(id) ?? 0;
      ordered[column] = current.toSorted((a, b) => key(a) - key(b));
      place(ordered[column] ?? [], places);
    }
  }
  return ordered;
}

interface Neighbours {
  before: string[];
  after: string[];
}

function neighboursOf(edges: readonly GraphEdge[], byId: ReadonlyMap<string, unknown>): Map<string, Neighbours> {
  const found = new Map<string, Neighbours>();
  const of = (id: string) => {
    const neighbours = found.get(id) ?? { before: [], after: [] };
    found.set(id, neighbours);
    return neighbours;
  };
  for (const { from, to } of edges) {
    if (!byId.has(from) || !byId.has(to)) continue;
    of(from).after.push(to);
    of(to).before.push(from);
  }
  return found;
}

/** Between 0 and 1, so that columns of different length can be compared. */
function place(column: readonly GraphNode[], places: Map<string, number>): void {
  for (const [index, { id }] of column.entries()) places.set(id, (index + 0.5) / column.length);
}

function mean(ids: readonly string[], places: ReadonlyMap<string, number>): number | undefined {
  if (ids.length === 0) return undefined;
  return ids.reduce((sum, id) => sum + (places.get(id) ?? 0), 0) / ids.length;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}

export interface Collapsed<N extends GraphNode> {
  graph: Graph<N>;
  /** How many nodes of each column are left out. */
  left: number[];
}

/** At most so many nodes in each column, the most important ones, with the edges between them. `shown` are in it in any case. */
export function collapse<N extends GraphNode>(
  { nodes, edges }: Graph<N>,
  maxOf: (column: number) => number,
  shown: ReadonlySet<string>,
): Collapsed<N> {
  const byColumn = Map.groupBy(nodes, ({ column }) => column);
  const chosen = new Set<string>();
  const left: number[] = [];
  for (const [column, all] of byColumn) {
    const first = (node: N) => (shown.has(node.id) ? 1 : 0);
    const sorted = all.toSorted((a, b) => first(b) - first(a) || b.weight - a.weight || compare(a.id, b.id));
    const inAnyCase = all.filter(first).length;
    for (const { id } of sorted.slice(0, Math.max(maxOf(column), inAnyCase))) chosen.add(id);
    left[column] = Math.max(0, all.length - Math.max(maxOf(column), inAnyCase));
  }
  return {
    graph: {
      nodes: nodes.filter(({ id }) => chosen.has(id)),
      edges: edges.filter(({ from, to }) => chosen.has(from) && chosen.has(to)),
    },
    left,
  };
}
