import type { AttackKind } from './attacks.ts';
import type { Score } from './scoring.ts';
import { SERIES_TITLE } from './series.ts';

export const PAGE = 'docs/anomaly-evaluation.md';

/** What came of one simulated company. */
export interface Evaluation {
  seed: number;
  days: number;
  accesses: number;
  scores: Record<'v1' | 'v2' | 'ensemble', Score>;
}

const ATTACKS: Record<AttackKind, string> = {
  slow_exfiltration: 'slow exfiltration: 15 secrets a day of another team’s vault, for eight days',
  burst: 'burst: one secret is read 60 to 200 times in an hour',
  new_country: 'new country: a program’s credential is used abroad, as the program uses it',
  night_reads: 'night reads: 20 to 40 secrets of the own team, three nights long',
  credential_sharing: 'credential sharing: a program’s credential is used by others as well, one of them abroad',
  creeping_membership: 'creeping membership: 14 outsiders join a vault in three months, and nobody reviews it',
  dormant_revived: 'dormant connection revived: a connection unused for months reads secrets',
};

/** The whole page, so that nothing on it differs from what was measured. */
export function page(evaluations: readonly Evaluation[]): string {
  const [first] = evaluations;
  return `# How well anomalies are detected

\`npm run evaluate:anomalies -- --write\` writes this page. It simulates companies of 200 principals and 5,000 secrets for ${first?.days} days: people who work on
workdays, programs that refresh their secrets, deployments, nightly and weekly jobs, pipelines, on-call nights, holidays, key rotation days, new hires, people who change their work. Into each it injects 14
attacks, two of each kind. Every access is a real entry of the audit log of a real service, which counts and scans it day by day. Models were tuned on the seeds 1 to 3, and are measured on others.

- An attack is **detected** if, before a day and a half after its last access, an anomaly is raised about one of its secrets, their vault, or the actor.
- A **false alarm** is a new anomaly about something else. An anomaly that is still open is not raised anew.
- All models include the rules that need no model (new country, membership without review). Anomalies that state a fact, such as an unused connection or a missed rotation, are left out.
- A run uses \`ensemble\`, which records the vote of each model about each secret and actor: what \`shadow\` compares. What was found unusual is left out of the baseline of all three.
- A simulation shows how the models behave in the situations that it knows. It does not show how they do in yours.

| Seed | Accesses | Model | Recall | Precision | False alarms a week | Median hours to detect | Missed |
|---|---|---|---|---|---|---|---|
${evaluations.flatMap(rowsOf).join('\n')}

## By kind of attack

Detected of all, over all seeds.

| Attack | v1 | v2 | ensemble |
|---|---|---|---|
${(Object.keys(ATTACKS) as AttackKind[]).map((kind) => kindRow(evaluations, kind)).join('\n')}

The hours are counted from the first access of an attack. Scans ran once a day, at midnight; \`ANOMALY_SCHEDULER_INTERVAL_HOURS\` makes them more frequent.
`;
}

/** The page with these tables of series behind the simulation, instead of those that it may have. */
export function withSeries(text: string, series: string): string {
  if (series === '') return text;
  const at = text.indexOf(SERIES_TITLE);
  return `${(at === -1 ? text : text.slice(0, at)).trimEnd()}\n${series}`;
}

function rowsOf({ seed, accesses, scores }: Evaluation): string[] {
  return Object.entries(scores).map(([model, of]) => {
    const numbers = [of.recall, of.precision, of.falseAlarmsPerWeek].map((number) => number.toFixed(2));
    const hours = of.medianHoursToDetect?.toFixed(0) ?? '–';
    const missed = of.missed.length === 0 ? 'none' : of.missed.join(', ');
    return `| ${seed} | ${accesses.toLocaleString('en-GB')} | ${model} | ${numbers.join(' | ')} | ${hours} | ${missed} |`;
  });
}

function kindRow(evaluations: readonly Evaluation[], kind: AttackKind): string {
  const cells = (['v1', 'v2', 'ensemble'] as const).map((model) => {
    const of = evaluations.map(({ scores }) => scores[model].byKind[kind]);
    const total = (what: 'attacks' | 'detected') => of.reduce((sum, counts) => sum + counts[what], 0);
    return `${total('detected')} of ${total('attacks')}`;
  });
  return `| ${ATTACKS[kind]} | ${cells.join(' | ')} |`;
}
