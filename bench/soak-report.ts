import { mkdirSync, writeFileSync } from 'node:fs';
import { type Conditions, shownConditions, stampOf } from './conditions.ts';
import { DATABASE_NAMES, type DatabaseKind } from './installation.ts';
import { markdownTable } from './report.ts';
import { QUANTITIES, type Sample } from './sampling.ts';
import { judge, shownVerdict, type Verdict } from './verdict.ts';

/** What one installation went through. */
export interface Soaked {
  database: DatabaseKind;
  samples: Sample[];
  /** How many answers of each kind, and how many that should have been others. */
  answers: Record<string, number>;
  unexpected: Record<string, number>;
}

export interface SoakReport extends Conditions {
  minutes: number;
  soaked: Soaked[];
  verdicts: Verdict[];
}

const FOLDER = 'bench/results';

/** What was seen is written before it is judged: too little of it to judge is also something to look at. */
export function writeSoak(around: Conditions, minutes: number, soaked: Soaked[]): SoakReport {
  const file = `${FOLDER}/soak-${stampOf(around)}`;
  mkdirSync(FOLDER, { recursive: true });
  writeFileSync(`${file}.csv`, csvOf(soaked));
  const verdicts = soaked.flatMap(({ database, samples }) => judge(database, samples));
  const report = { ...around, minutes, verdicts, soaked };
  writeFileSync(`${file}.json`, `${JSON.stringify(report, null, 2)}\n`);
  process.stdout.write(`\n${shownSoak(report)}\n${file}.csv and .json\n`);
  return report;
}

export function isWell({ verdicts, soaked }: SoakReport): boolean {
  const isAsExpected = soaked.every(({ unexpected }) => Object.keys(unexpected).length === 0);
  return isAsExpected && verdicts.every(({ isGrowing }) => !isGrowing);
}

function shownSoak({ soaked, verdicts }: SoakReport): string {
  return [...soaked.flatMap(answered), ...verdicts.map(shownVerdict)].join('\n');
}

function answered({ database, answers, unexpected }: Soaked): string[] {
  const line = `${DATABASE_NAMES[database]} answered ${listed(answers)}.`;
  return Object.keys(unexpected).length === 0 ? [line] : [line, `NOT AS IT SHOULD: ${listed(unexpected)}.`];
}

/** For the page in docs/. */
export function soakSummary(report: SoakReport): string {
  const title = `Soak of ${report.minutes} min on ${report.date.slice(0, 10)}`;
  const rows = report.verdicts.map(({ database, quantity, isGrowing, ...numbers }) => ({
    database: DATABASE_NAMES[database],
    quantity: QUANTITIES[quantity],
    ...numbers,
    verdict: isGrowing ? 'grows' : 'steady',
  }));
  const columns = [
    { key: 'database', heading: 'database' },
    { key: 'quantity', heading: 'after the warm-up' },
    { key: 'from', heading: 'from', digits: 1 },
    { key: 'to', heading: 'to', digits: 1 },
    { key: 'growth', heading: 'grew by', digits: 1 },
    { key: 'allowed', heading: 'allowed', digits: 1 },
    { key: 'verdict', heading: '' },
  ];
  const table = { name: 'soak', title: 'What is judged', columns, rows, notes: report.soaked.flatMap(answered) };
  return `## ${title}\n\n${shownConditions(report)}\n\n${markdownTable(table)}`;
}

function csvOf(all: Soaked[]): string {
  const columns = ['seconds', ...Object.keys(QUANTITIES)] as (keyof Sample)[];
  const lines = all.flatMap(({ database, samples }) =>
    samples.map((one) => [database, ...columns.map((column) => one[column] ?? '')].join(',')),
  );
  return `${['database', ...columns].join(',')}\n${lines.join('\n')}\n`;
}

function listed(counts: Record<string, number>): string {
  return Object.entries(counts)
    .map(([name, count]) => `${count.toLocaleString('en-GB')} × ${name}`)
    .join(', ');
}
