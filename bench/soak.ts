import { mkdirSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { DATABASE_NAMES, DATABASES, type DatabaseKind, type Installation, Installations } from './installation.ts';
import { type Kind, kindsOf, mixedLoad, type Tally } from './mixed-load.ts';
import { plot } from './plot.ts';
import { QUANTITIES, type Sample, sample, Window } from './sampling.ts';
import { judge, shownVerdict } from './verdict.ts';

/**
 * A steady mixed load on both databases, side by side, looked at every few seconds. Ends with 1 if memory, handles, the log or latency still
 * grow after the warm-up, or if anything was answered otherwise than it should.
 */
const HELP = `npm run soak -- [--minutes N] [--database sqlite|postgres] [--every seconds]

Ten minutes on both databases at once unless told. Writes bench/results/soak-<date>.json, .csv and a plot as .svg.
`;
const FOLDER = 'bench/results';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    database: { type: 'string' },
    every: { type: 'string', default: '5' },
    help: { type: 'boolean', default: false },
  },
});
const chosen = DATABASES.filter((kind) => values.database === undefined || values.database === kind);
const [seconds, everyMs] = [Number(values.minutes) * 60, Number(values.every) * 1000];
if (values.help || chosen.length === 0 || !(seconds > 0) || !(everyMs > 0)) {
  process.stdout.write(HELP);
  process.exit(values.help ? 0 : 2);
}

interface Subject {
  installation: Installation;
  kinds: Kind[];
}

interface Soaked {
  database: DatabaseKind;
  samples: Sample[];
  tally: Tally;
}

const installations = new Installations();
let soaked: Soaked[];
try {
  const subjects: Subject[] = [];
  for (const database of chosen) {
    const installation = await installations.start(database, { isTrusting: true });
    subjects.push({ installation, kinds: await kindsOf(installation) });
  }
  soaked = await Promise.all(subjects.map(soak));
} finally {
  await installations.remove();
}
process.exit(report(soaked) ? 0 : 1);

async function soak({ installation, kinds }: Subject): Promise<Soaked> {
  const { database } = installation;
  const window = new Window();
  const samples: Sample[] = [];
  let isOver = false;
  const load = mixedLoad(installation, kinds, seconds, window).finally(() => {
    isOver = true;
  });
  const look = async () => {
    const started = performance.now();
    const elapsed = () => performance.now() - started;
    // None at the very end, when connections are being closed.
    while (elapsed() + everyMs < seconds * 1000) {
      await new Promise((resolve) => setTimeout(resolve, everyMs - (elapsed() % everyMs)));
      if (isOver) return;
      const one = await sample(installation, window, elapsed() / 1000);
      samples.push(one);
      say(progress(database, one));
    }
  };
  const [tally] = await Promise.all([load, look()]);
  return { database, samples, tally };
}

function progress(database: DatabaseKind, one: Sample): string {
  const { rssMiB, handles, walMiB, p50Ms, p99Ms, perSecond } = one;
  const shown = [
    `${rssMiB?.toFixed(0)} MiB`,
    `${handles} handles`,
    `log ${walMiB?.toFixed(1)} MiB`,
    `p50 ${p50Ms?.toFixed(2)} ms`,
    `p99 ${p99Ms?.toFixed(2)} ms`,
    `${perSecond?.toFixed(0)}/s`,
  ];
  return `${one.seconds.toFixed(0).padStart(5)} s  ${DATABASE_NAMES[database].padEnd(10)}  ${shown.join(', ')}`;
}

/** Writes what was seen; answers whether all is well. */
function report(all: Soaked[]): boolean {
  const date = new Date().toISOString().slice(0, 16);
  const file = `${FOLDER}/soak-${date.replace(':', '')}`;
  mkdirSync(FOLDER, { recursive: true });
  const verdicts = all.flatMap(({ database, samples }) => judge(database, samples));
  const counted = all.map(({ database, samples, tally }) => ({
    database,
    answers: Object.fromEntries(tally.answers),
    unexpected: Object.fromEntries(tally.unexpected),
    samples,
  }));
  writeFileSync(`${file}.json`, `${JSON.stringify({ date, seconds, verdicts, databases: counted }, null, 2)}\n`);
  writeFileSync(`${file}.csv`, csvOf(all));
  const title = `Soak, ${Number(values.minutes)} min, ${date.replace('T', ' ')} UTC`;
  writeFileSync(`${file}.svg`, plot(title, Object.fromEntries(all.map((one) => [one.database, one.samples]))));
  say('');
  for (const { database, answers, unexpected } of counted) {
    say(`${DATABASE_NAMES[database]} answered ${listed(answers)}.`);
    if (Object.keys(unexpected).length > 0) say(`NOT AS IT SHOULD: ${listed(unexpected)}.`);
  }
  for (const verdict of verdicts) say(shownVerdict(verdict));
  say(`${file}.svg, .csv and .json`);
  const isSteady = verdicts.every(({ isGrowing }) => !isGrowing);
  return isSteady && counted.every(({ unexpected }) => Object.keys(unexpected).length === 0);
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
    .map(([name, count]) => `${count} × ${name}`)
    .join(', ');
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}
