import { type WayGraph, type WayNode, waysGraph } from '../plots/build-path-graph.ts';

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

/** What all paths lead through, each thing once. */
export function pathGraph(paths: readonly AttackPath[]): WayGraph {
  return waysGraph(paths.map((path) => ({ key: path.id, weight: path.score, nodes: chainOf(path) })));
}

function chainOf({ steps }: AttackPath): WayNode[] {
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

/** The weakest step, and the edge by which the picture marks it: the one that leaves what is weak. */
export function weakestOf({ steps, weakness }: AttackPath): { step: Step; index: number } | null {
  const index = steps.findIndex((step) => step.weakness === weakness);
  const step = steps[index];
  return step === undefined ? null : { step, index };
}
