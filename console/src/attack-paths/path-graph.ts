import type { Graph, GraphEdge, GraphNode } from '../plots/layered.ts';

export interface Step {
  readonly kind: 'principal' | 'credential' | 'grant' | 'secret';
  readonly type: string;
  readonly id: string;
  readonly name: string;
  readonly weakness: number | null;
  readonly why: string;
}

export interface AttackPath {
  readonly id: string;
  readonly score: number;
  readonly weakness: number;
  readonly steps: readonly Step[];
}

export const COLUMNS = ['principal', 'credential', 'grant', 'vault', 'secret'] as const;
export type ColumnName = (typeof COLUMNS)[number];

export interface PathNode extends GraphNode {
  readonly name: string;
  /** What it is: a type, or what its weakness is. */
  readonly detail: string;
  /** By what it is also found: a secret by its vault and path. */
  readonly fullName: string;
}

export interface PathGraph extends Graph<PathNode> {
  /** The nodes of each path, in order. */
  readonly chains: ReadonlyMap<string, readonly string[]>;
}

/** What all paths lead through, each thing once. */
export function pathGraph(paths: readonly AttackPath[]): PathGraph {
  const nodes = new Map<string, PathNode>();
  const edges = new Map<string, GraphEdge>();
  const chains = new Map<string, string[]>();
  for (const path of paths) {
    const chain = chainOf(path);
    for (const node of chain) {
      const weight = Math.max(nodes.get(node.id)?.weight ?? 0, path.score);
      nodes.set(node.id, { ...node, weight });
    }
    const ids = chain.map(({ id }) => id);
    for (const [i, to] of ids.entries()) {
      const from = ids[i - 1];
      if (from !== undefined) edges.set(`${from}\n${to}`, { from, to });
    }
    chains.set(path.id, ids);
  }
  return { nodes: [...nodes.values()], edges: [...edges.values()], chains };
}

function chainOf({ steps }: AttackPath): PathNode[] {
  return steps.flatMap((step) => {
    const { kind, type, name } = step;
    const detail = type.replaceAll('_', ' ');
    if (kind !== 'secret') {
      const id = JSON.stringify([kind, type, step.id === '' ? identityOf(step, steps) : step.id]);
      return [
        {
          id,
          column: COLUMNS.indexOf(kind),
          weight: 0,
          name: name === '' ? detail : name,
          fullName: name,
          detail: textOf(step),
        },
      ];
    }
    const [vault = '', ...path] = name.split('/');
    return [
      {
        id: JSON.stringify(['vault', vault]),
        column: COLUMNS.indexOf('vault'),
        weight: 0,
        name: vault,
        fullName: vault,
        detail: 'vault',
      },
      {
        id: JSON.stringify(['secret', name]),
        column: COLUMNS.indexOf('secret'),
        weight: 0,
        name: path.join('/'),
        fullName: name,
        detail,
      },
    ];
  });
}

/** A password belongs to its person. A membership is the same for all who have that role in the vault. */
function identityOf({ kind, name, why }: Step, steps: readonly Step[]): string {
  return kind === 'credential' ? `${steps[0]?.type} ${steps[0]?.id}` : `${name} ${why}`;
}

/** What a step is, for a small label. */
function textOf({ kind, type, weakness }: Step): string {
  const name = type.replaceAll('_', ' ');
  return kind === 'credential' && weakness !== null ? `${name}, weakness ${weakness}` : name;
}

/** All that is on a path together with one of these. */
export function onWaysWith({ chains }: PathGraph, ids: ReadonlySet<string>): Set<string> {
  return new Set([...chains.values()].filter((chain) => chain.some((id) => ids.has(id))).flat());
}

/** The weakest step, and the edge by which the picture marks it: the one that leaves what is weak. */
export function weakestOf({ steps, weakness }: AttackPath): { step: Step; index: number } | null {
  const index = steps.findIndex((step) => step.weakness === weakness);
  const step = steps[index];
  return step === undefined ? null : { step, index };
}
