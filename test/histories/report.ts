import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { History, Violation } from './history.ts';
import { VIOLATIONS } from './history.ts';
import type { Nemesis } from './nemesis.ts';

const FOLDER = join(import.meta.dirname, '../../node_modules/.cache/coffer-histories');
const SHOWN = 20;

function counted(items: readonly string[]): string {
  const groups = [...Map.groupBy(items, (item) => item)].toSorted(([a], [b]) => a.localeCompare(b));
  return groups.map(([item, all]) => `${all.length} × ${item}`).join(', ') || 'none';
}

/** The figures of a run, one line each. */
export function summary(seed: number, history: History, nemesis: Nemesis, violations: readonly Violation[]): string[] {
  const { operations, finals, audit, verifications } = history;
  const versions = [...finals.values()].map((byPlace) => [...byPlace.values()][0]?.length ?? 0);
  const acknowledged = operations.filter(({ outcome }) => outcome === 'ok');
  const repeats = operations.reduce((sum, { exchanges }) => sum + Math.max(0, exchanges.length - 1), 0);
  return [
    `seed ${seed}: ${operations.length} operations, of which ${acknowledged.length} acknowledged: ${counted(acknowledged.map(({ kind }) => kind))}`,
    `others: ${counted(operations.filter(({ outcome }) => outcome !== 'ok').map(({ outcome, kind }) => `${outcome} ${kind}`))}; ${repeats} repeats under a key`,
    `${nemesis.begun.length} faults: ${counted(nemesis.begun.map(({ kind }) => kind))}`,
    `versions: ${versions.join(', ')}; ${audit.length} audit entries; ${verifications.length} verifications`,
    `violations: ${VIOLATIONS.map((kind) => `${violations.filter((one) => one.kind === kind).length} ${kind}`).join(', ')}`,
    ...violations.slice(0, SHOWN).map(({ kind, text }) => `${kind}: ${text}`),
  ];
}

/** Leaves the whole history of a run that failed, and returns where. It holds no secret but the values of the registers. */
export function leave(name: string, seed: number, history: History, nemesis: Nemesis): string {
  mkdirSync(FOLDER, { recursive: true });
  const file = join(FOLDER, `${name}-${seed}.json`);
  const finals = Object.fromEntries([...history.finals].map(([key, values]) => [key, Object.fromEntries(values)]));
  writeFileSync(file, JSON.stringify({ ...history, finals, faults: nemesis.begun }, null, 1));
  return file;
}
