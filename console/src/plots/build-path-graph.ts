import type { Graph, GraphEdge, GraphNode } from './layered.ts';

export interface WayNode extends GraphNode {
  readonly name: string;
  /** What it is: a type, or what its weakness is. */
  readonly detail: string;
  /** By what it is also found: a secret by its vault and path. */
  readonly fullName: string;
}

export interface WayGraph extends Graph<WayNode> {
  /** The nodes of each way, in order. */
  readonly chains: ReadonlyMap<string, readonly string[]>;
}

interface WayThrough {
  readonly key: string;
  /** A thing weighs as much as the heaviest way through it. */
  readonly weight: number;
  readonly nodes: readonly WayNode[];
}

/** What all ways lead through, each thing once. */
export function waysGraph(ways: Iterable<WayThrough>): WayGraph {
  const nodes = new Map<string, WayNode>();
  const edges = new Map<string, GraphEdge>();
  const chains = new Map<string, string[]>();
  for (const { key, weight, nodes: chain } of ways) {
    for (const node of chain) {
      nodes.set(node.id, { ...node, weight: Math.max(nodes.get(node.id)?.weight ?? 0, weight) });
    }
    const ids = chain.map(({ id }) => id);
    for (const [i, to] of ids.entries()) {
      const from = ids[i - 1];
      if (from !== undefined) edges.set(`${from}\n${to}`, { from, to });
    }
    chains.set(key, ids);
  }
  return { nodes: [...nodes.values()], edges: [...edges.values()], chains };
}

/** All that is on a way together with one of these. */
export function onWaysWith({ chains }: Pick<WayGraph, 'chains'>, ids: ReadonlySet<string>): Set<string> {
  return new Set([...chains.values()].filter((chain) => chain.some((id) => ids.has(id))).flat());
}
