import type { Severity } from '../webhooks/index.ts';

/** How many times past its threshold a value must be. */
const STEPS: readonly [number, Severity][] = [
  [8, 'critical'],
  [4, 'high'],
  [2, 'medium'],
];

/** `ratio` is the observed value by its threshold. */
export function severityOf(ratio: number, isProductionFortress: boolean): Severity {
  if (isProductionFortress) return 'critical';
  return STEPS.find(([least]) => ratio >= least)?.[1] ?? 'low';
}
