import { readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { type Attack, attacksOn } from './attacks.ts';
import { foundCompany } from './company.ts';
import { SimulatedInstallation } from './installation.ts';
import { type Evaluation, PAGE, page, withSeries } from './report.ts';
import { type Alarm, type Score, score } from './scoring.ts';
import { evaluateSeries, readSeries, seriesText } from './series.ts';
import { DAY, usualAccesses } from './traffic.ts';

const GROUPS = 'realKnownCause,realTraffic,realTweets,realAWSCloudwatch';

/**
 * Simulates companies under attack, lets the service scan their audit logs day by day, and says what each model would have told. Models are tuned
 * on the seeds 1 to 3; the results are those of other seeds.
 */
const HELP = `npm run evaluate:anomalies -- [--seeds 11,12,13] [--days 60] [--series FOLDER] [--groups GROUP,…] [--write]

Prints precision, recall, time to detect and false alarms of each model, about five minutes for each seed. --write puts the tables into ${PAGE}.

--series  a folder as the Numenta Anomaly Benchmark has it: data/GROUP/NAME.csv, and labels/combined_windows.json. Nothing of it is in this
          repository. With --write and no seeds, only the tables of these series are replaced
--groups  ${GROUPS} unless given
`;
const MODELS = ['v1', 'v2', 'ensemble'] as const;
type Model = (typeof MODELS)[number];
/** Scans begin when there is a month of history. */
const FIRST_SCAN_DAY = 30;
/** Types that a simulated attack can cause. Others state facts about the company, such as a connection that is not used. */
const RULES = ['ip_region_anomaly', 'privilege_creep'];

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '11,12,13' },
    days: { type: 'string', default: '60' },
    series: { type: 'string' },
    groups: { type: 'string', default: GROUPS },
    write: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
const seeds = values.seeds
  .split(',')
  .filter((seed) => seed !== '')
  .map(Number);
const days = Number(values.days);
if (values.help || !seeds.every(Number.isSafeInteger) || !(days >= 48)) {
  process.stdout.write(HELP);
  process.exit(values.help ? 0 : 2);
}
const series = values.series === undefined ? '' : seriesText(seriesIn(values.series));
const evaluations: Evaluation[] = [];
for (const seed of seeds) {
  evaluations.push(await evaluate(seed));
  process.stdout.write(`${page(evaluations)}\n`);
}
process.stdout.write(`${series}\n`);
if (values.write)
  writeFileSync(PAGE, withSeries(evaluations.length > 0 ? page(evaluations) : readFileSync(PAGE, 'utf8'), series));

function seriesIn(folder: string) {
  return evaluateSeries(readSeries(folder, values.groups.split(',')));
}

async function evaluate(seed: number): Promise<Evaluation> {
  const company = foundCompany(seed, days);
  const attacks = attacksOn(company);
  const installation = await SimulatedInstallation.start('ensemble');
  try {
    await installation.found(company);
    const members = attacks.flatMap((attack) => attack.members).toSorted((a, b) => a.day - b.day);
    for (const { vault, person, day } of members) await installation.addMember(vault, person, day);
    await installation.stock(company);
    const alarms: Record<Model, Alarm[]> = { v1: [], v2: [], ensemble: [] };
    let accesses = 0;
    for (let day = 0; day < days; day++) {
      installation.moveTo(day * DAY);
      for (const { name, fromDay } of company.people) if (fromDay === day && day > 0) await installation.hire(name);
      installation.moveTo((day + 1) * DAY - 1);
      const ofDay = accessesOf(company, attacks, day);
      accesses += ofDay.length;
      await installation.record(ofDay);
      if (day < FIRST_SCAN_DAY) continue;
      const { votes, raised } = await installation.scan();
      const at = (day + 1) * DAY;
      for (const model of MODELS) {
        const byModel = votes.filter((vote) => (model === 'ensemble' ? vote.isRaised : vote[model]));
        const unusual = byModel.map(({ resource }) => ({ type: 'unusual_access_pattern', resource }));
        const byRule = raised.filter(({ type }) => RULES.includes(type));
        for (const { type, resource } of [...unusual, ...byRule]) {
          const isRepeat = alarms[model].some((known) => known.type === type && known.resource === resource);
          alarms[model].push({ type, resource, at, isRepeat });
        }
      }
      process.stderr.write(`seed ${seed}: day ${day + 1} of ${days}, ${votes.length} votes\n`);
    }
    const weeks = (days - FIRST_SCAN_DAY) / 7;
    const scores = Object.fromEntries(MODELS.map((model) => [model, score(attacks, alarms[model], weeks)]));
    return { seed, days, accesses, scores: scores as Record<Model, Score> };
  } finally {
    await installation.close();
  }
}

function accessesOf(company: Parameters<typeof usualAccesses>[0], attacks: readonly Attack[], day: number) {
  const ofAttacks = attacks.flatMap(({ accesses }) => accesses.filter(({ at }) => Math.floor(at / DAY) === day));
  return [...usualAccesses(company, day), ...ofAttacks].sort((a, b) => a.at - b.at);
}
