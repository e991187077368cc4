import { relative } from 'node:path';
import type { EventLine } from './event-lines.ts';
import type { Outcome } from './processes.ts';

const SLOWEST_SHOWN = 30;

/** Prints what failed, what took longest and how many tests there were, and returns whether all is well. Each of the files must have run a test. */
export function report(files: readonly string[], outcomes: readonly Outcome[]): boolean {
  const lines = outcomes.flatMap((outcome) => outcome.lines);
  const failed = [...failuresIn(lines), ...cutOffIn(files, lines)];
  const count = (type: EventLine['type']) => lines.filter((line) => line.type === type).length;
  printSlowest(
    's of processor time in',
    outcomes.map((one) => [one.name, processorSecondsOf(one)]),
  );
  printSlowest(
    's',
    outcomes.map(({ name, seconds }) => [name, seconds]),
  );
  printSlowest('s of processor time in', processorSecondsByFile(outcomes));
  printSlowest('s', secondsByFile(lines));
  for (const what of failed) process.stdout.write(`\n✖ ${what}`);
  const all = outcomes.reduce((sum, one) => sum + processorSecondsOf(one), 0);
  process.stdout.write(`\n${(all / 60).toFixed(1)} minutes of processor time, without those of PostgreSQL\n`);
  process.stdout.write(`\n${count('passed')} passed, ${failed.length} failed, ${count('skipped')} skipped\n`);
  return failed.length === 0 && count('passed') > 0;
}

function failuresIn(lines: readonly EventLine[]): string[] {
  return lines.flatMap((line) =>
    line.type === 'failed' ? [`${line.name} (${relative('.', line.file)})\n${line.error}`] : [],
  );
}

/** A process that dies quietly takes the rest of its files with it, so each file must be heard of, and what was announced must also have ended. */
function cutOffIn(files: readonly string[], lines: readonly EventLine[]): string[] {
  const announced = new Map<string, number>();
  const heard = new Set<string>();
  for (const line of lines) {
    if (line.type !== 'announced' && line.type !== 'ended') continue;
    const place = `${line.name} (${relative('.', line.file)}:${line.line})`;
    announced.set(place, (announced.get(place) ?? 0) + (line.type === 'announced' ? 1 : -1));
    heard.add(relative('.', line.file));
  }
  const silent = files.filter((file) => !heard.has(file)).map((file) => `no test ran in ${file}`);
  return [
    ...silent,
    ...[...announced].filter(([, open]) => open > 0).map(([place]) => `began and never ended: ${place}`),
  ];
}

function processorSecondsOf({ lines }: Outcome): number {
  const used = lines.findLast((line) => line.type === 'processor');
  return used?.seconds ?? 0;
}

/** The tests of a process run one after the other, so what it has used since the last one is that of the file whose tests ended. */
function processorSecondsByFile(outcomes: readonly Outcome[]): [string, number][] {
  const seconds = new Map<string, number>();
  for (const { lines } of outcomes) {
    let before = 0;
    let file = 'loading';
    for (const line of lines) {
      // A suite that a support file declares has the name of that.
      if (line.type === 'ended' && line.file.endsWith('.test.ts')) file = relative('.', line.file);
      if (line.type !== 'processor') continue;
      seconds.set(file, (seconds.get(file) ?? 0) + line.seconds - before);
      before = line.seconds;
    }
  }
  return [...seconds];
}

function secondsByFile(lines: readonly EventLine[]): [string, number][] {
  const seconds = new Map<string, number>();
  for (const line of lines) {
    if (line.type !== 'passed') continue;
    const file = relative('.', line.file);
    seconds.set(file, (seconds.get(file) ?? 0) + line.ms / 1000);
  }
  return [...seconds];
}

function printSlowest(unit: string, durations: readonly (readonly [name: string, seconds: number])[]): void {
  const slowest = durations.toSorted(([, a], [, b]) => b - a).slice(0, SLOWEST_SHOWN);
  process.stdout.write('\n');
  for (const [name, seconds] of slowest) process.stdout.write(`${seconds.toFixed(0).padStart(5)} ${unit}  ${name}\n`);
}
