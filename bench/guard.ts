import { type Case, measureOnce, type Settings, USUAL_CONNECTIONS, WARM_UP_SECONDS } from './cases.ts';
import { DATABASE_NAMES, type DatabaseKind, type Installation, type Installations } from './installation.ts';
import type { Column, Table } from './report.ts';
import { REQUEST_NAMES, type RequestName, requestOf, SHOWN } from './requests.ts';
import { median } from './statistics.ts';

/** A request may take this much more processor time than in the other checkout. */
const MORE_MAX = 0.1;
/** Of each subject in turn, so that a machine that is busy for a while is busy for both. */
const ROUNDS = 9;

export interface Compared {
  /** Processor time for each request in each round, in microseconds: of the other checkout, and of this one. */
  before: number[];
  now: number[];
}

export interface Verdict {
  before: number;
  now: number;
  /** The median of the rounds' ratios: both sides of a round ran in the same seconds. */
  ratio: number;
  isSlower: boolean;
}

/** A request is slower only if nearly all rounds say so. On a busy machine single rounds differ by a fifth. */
export function compare({ before, now }: Compared): Verdict {
  const ratios = now.map((micros, round) => micros / (before[round] ?? Number.NaN)).toSorted((a, b) => a - b);
  const lower = ratios[Math.floor(ratios.length / 4)] ?? Number.NaN;
  const ratio = median(ratios);
  return { before: median(before), now: median(now), ratio, isSlower: !(ratio <= 1 + MORE_MAX) && !(lower <= 1) };
}

const COLUMNS: Column[] = [
  { key: 'request', heading: 'request' },
  { key: 'database', heading: 'database' },
  { key: 'before', heading: 'there, µs', digits: 1 },
  { key: 'now', heading: 'here, µs', digits: 1 },
  { key: 'ratio', heading: 'here ÷ there', digits: 2 },
];

/** Compares the processor time of each kind of request with another checkout, such as that of the last release. */
export async function guard(installations: Installations, { databases, beside, seconds }: Settings): Promise<Table[]> {
  const [checkout, ...more] = beside;
  if (checkout === undefined || more.length > 0) throw new Error('guard compares with one checkout: --beside FOLDER');
  const failures: string[] = [];
  const rows = [];
  for (const database of databases) {
    const here = await installations.shared(database);
    const there = await installations.shared(database, { checkout });
    for (const name of REQUEST_NAMES) {
      const { before, now, ratio, isSlower } = compare(await measured(name, { here, there }, seconds));
      rows.push({ request: SHOWN[name], database: DATABASE_NAMES[database], before, now, ratio });
      if (isSlower) failures.push(slower(name, database, ratio));
    }
  }
  const notes = [
    `Medians of ${ROUNDS} rounds at ${USUAL_CONNECTIONS} connections; the processor time of the service alone.`,
  ];
  return [{ name: 'guard', title: 'Processor time beside another checkout', columns: COLUMNS, rows, notes, failures }];
}

function slower(name: RequestName, database: DatabaseKind, ratio: number): string {
  const percent = Math.round((ratio - 1) * 100);
  return `${SHOWN[name]} on ${DATABASE_NAMES[database]} takes ${percent} % more processor time than there`;
}

async function measured(
  name: RequestName,
  { here, there }: { here: Installation; there: Installation },
  seconds: number,
): Promise<Compared> {
  const [own, other] = await Promise.all([caseOf(name, here), caseOf(name, there)]);
  for (const one of [own, other]) await measureOnce(one, WARM_UP_SECONDS);
  const compared: Compared = { before: [], now: [] };
  for (let round = 0; round < ROUNDS; round++) {
    compared.before.push((await measureOnce(other, seconds)).cpuMicros);
    compared.now.push((await measureOnce(own, seconds)).cpuMicros);
  }
  return compared;
}

async function caseOf(name: RequestName, installation: Installation): Promise<Case> {
  const { name: subject, port, pid } = installation;
  const load = { port, request: await requestOf(name, installation) };
  return { request: SHOWN[name], subject, connections: USUAL_CONNECTIONS, pids: [pid], load };
}
