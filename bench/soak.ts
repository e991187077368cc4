import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { conditions } from './conditions.ts';
import { DATABASE_NAMES, DATABASES, type DatabaseKind, type Installation, Installations } from './installation.ts';
import { type Kind, kindsOf, mixedLoad } from './mixed-load.ts';
import { type Sample, sample, Window } from './sampling.ts';
import { isWell, type Soaked, type SoakReport, soakSummary, writeSoak } from './soak-report.ts';
import { SUMMARY_PAGE, writeSummary } from './summary.ts';

/**
 * A steady mixed load on both databases, side by side, measured every few seconds. Ends with 1 if memory, handles, the log or latency still
 * grow after the warm-up, or if anything was answered otherwise than it should.
 */
const HELP = `npm run soak -- [--minutes N] [--database sqlite|postgres] [--every seconds]
npm run soak -- --summary bench/results/soak-<date>.json

Ten minutes on both databases at once unless told. Writes bench/results/soak-<date>.json, and the samples as .csv. --summary puts what was judged into ${SUMMARY_PAGE}.
`;

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    database: { type: 'string' },
    every: { type: 'string', default: '5' },
    summary: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});
const chosen = DATABASES.filter((kind) => values.database === undefined || values.database === kind);
const [seconds, everyMs] = [Number(values.minutes) * 60, Number(values.every) * 1000];
if (values.help || chosen.length === 0 || !(seconds > 0) || !(everyMs > 0)) {
  process.stdout.write(HELP);
  process.exit(values.help ? 0 : 2);
}
if (values.summary !== undefined) {
  writeSummary('soak', soakSummary(JSON.parse(readFileSync(values.summary, 'utf8')) as SoakReport));
  process.exit(0);
}

interface Subject {
  installation: Installation;
  kinds: Kind[];
}

const around = conditions();
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
process.exit(isWell(writeSoak(around, Number(values.minutes), soaked)) ? 0 : 1);

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
  return { database, samples, ...tally };
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

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}
