import type { CleanScore } from './clean-trees.ts';
import type { ExampleScore, Found } from './examples.ts';
import type { LeakyScore } from './leaky-files.ts';
import type { FileScore } from './planted-files.ts';
import type { Score } from './prompt-scoring.ts';
import { LANGUAGES, PROMPTS } from './prompts.ts';

export const PAGE = 'docs/redactor-evaluation.md';
export const GUIDE = 'docs/guide/scanning.md';

/** What the redactor must reach, on every seed. A test checks it. */
export const AIMS = { secrets: 0.98, others: 0.95, precision: 0.9 } as const;
/** What both must reach on the examples of others, unless other figures are given for a set: some have values there that nobody should report. */
export const EXAMPLES_AIM = { scan: 0.93, redactor: 0.97 } as const;
/** What both must keep to on clean code. */
const CLEAN_AIM = { findingsIn10000: 1, touched: 0.02 } as const;

interface Aim {
  readonly scan: number;
  readonly redactor: number;
}

interface Named<T> {
  readonly name: string;
  readonly score: T;
}

/** Everything that was measured. */
export interface Evaluation {
  readonly own: { seed: number; prompts: Score; files: FileScore }[];
  /** The half that is reported, and the one that rules were tuned on. */
  readonly examples: (Named<ExampleScore> & { readonly tuning: ExampleScore; readonly aim: Aim })[];
  readonly leaky: Named<LeakyScore>[];
  readonly clean: Named<CleanScore>[];
}

const share = (part: number) => part.toFixed(3);
const number = (count: number) => count.toLocaleString('en-US');
const table = (head: string, rows: readonly string[]) =>
  `| ${head} |\n|${head.replaceAll(/[^|]+/g, '---')}|\n${rows.map((row) => `| ${row} |`).join('\n')}\n`;

const in10000 = ({ findings, lines }: CleanScore) => (findings / lines) * 10_000;
const recallOf = ({ examples, scan, redactor }: Found) => ({ scan: scan / examples, redactor: redactor / examples });

export function isGoodEnough({ own, examples, clean }: Evaluation): boolean {
  return (
    own.every(
      ({ prompts: { recall, precision } }) =>
        recall.secrets >= AIMS.secrets && recall.others >= AIMS.others && precision >= AIMS.precision,
    ) &&
    examples.every(({ score: { total }, aim }) => {
      const { scan, redactor } = recallOf(total);
      return scan >= aim.scan && redactor >= aim.redactor;
    }) &&
    clean.every(
      ({ score }) =>
        in10000(score) <= CLEAN_AIM.findingsIn10000 &&
        score.touched.credentials <= CLEAN_AIM.touched * score.paragraphs,
    )
  );
}

/** The whole page, so that nothing on it differs from what was measured. */
export function page(evaluation: Evaluation): string {
  const { examples, leaky, clean } = evaluation;
  return `# How well secrets are found

\`npm run evaluate:detection -- --write\` writes this page; \`--help\` says how others' samples are named. \`coffer scan\` and the assistant's redactor use one set of rules (\`detection/\`). The scan reports what is at least \`medium\` sure; the redactor masks whatever a rule takes for a secret, and personal data and internal addresses too.

- **Recall** is the part of the planted secrets that is found: by the scan if their line is reported, by the redactor if nothing of the value is left.
- **Precision** is the part of everything found that was planted.
- Rules were tuned on one half of others' rules and on the seeds 1 to 13; other half, and other seeds, are what counts. The leaky files and the clean code were seen while the rules were written.
- Values that are stored in a vault of the tenant are masked whatever they look like. That is not part of this measurement.

## Samples of others

None of them is in this repository. The examples are texts with which other scanners test their own rules. Where a test does not say which part is the secret, a report or a mask in the text counts; where it lists parts, those that are only a name, a host, an account or a mail address are left out. What their tests call no secret is counted as wrong if it is found, although some of it is one by other rules. A leaky file counts as many lines as its makers say. Findings in clean code are counted as wrong although some are right: test suites have real keys.

${table(
  'Examples | Scan, recall | Redactor, recall | To be reached | Texts | Rules | Half for tuning: scan | Redactor | Texts | Without a secret: scan finds | Redactor masks',
  examples.map(({ name, aim, score: { total, byRule, withoutSecret }, tuning }) => {
    const [here, tuned] = [recallOf(total), recallOf(tuning.total)];
    return `${name} | ${share(here.scan)} | ${share(here.redactor)} | ${aim.scan}, ${aim.redactor} | ${number(total.examples)} | ${byRule.size} | ${share(tuned.scan)} | ${share(tuned.redactor)} | ${number(tuning.total.examples)} | ${withoutSecret.scan + tuning.withoutSecret.scan} of ${withoutSecret.examples + tuning.withoutSecret.examples} | ${withoutSecret.redactor + tuning.withoutSecret.redactor}`;
  }),
)}
The detectors of trufflehog are tested with many values that say \`fake\`, count up (\`1a2b3c4d5e6f\`) or repeat, or stand beside the name of a service without a sign; those of detect-secrets with \`AKIAZZZZZZZZZZZZZZZZ\`, \`AP6xxxxxxxxxx\`, and in 150 texts of the half for tuning with one password of braces and small letters. The scan leaves such values alone, so that it is silent about documentation; what is to be reached there is what holds today.

${table(
  'Leaky files | Lines reported | Lines with a secret | Files without a finding',
  leaky.map(
    ({ name, score }) => `${name} | ${score.found} | ${score.lines} | ${score.silent.length} of ${score.files}`,
  ),
)}
${table(
  'Clean code | Findings of the scan | Lines | In 10,000 lines | Paragraphs in which a credential is masked | Personal data or an address only',
  clean.map(({ name, score }) => {
    const part = (count: number) => `${((100 * count) / score.paragraphs).toFixed(2)} %`;
    return `${name} | ${score.findings} | ${number(score.lines)} | ${in10000(score).toFixed(2)} | ${part(score.touched.credentials)} of ${number(score.paragraphs)} | ${part(score.touched.others)}`;
  }),
)}
${examples.map(examplesByContext).join('\n')}
${ownSamples(evaluation)}`;
}

const LISTED_MAX = 40;

function examplesByContext({ name, score }: Named<ExampleScore>): string {
  const row = ([key, found]: [string, Found]) => {
    const { scan, redactor } = recallOf(found);
    return `\`${key}\` | ${share(scan)} | ${share(redactor)} | ${found.examples}`;
  };
  const missed = (by: 'scan' | 'redactor') =>
    [...score.byRule]
      .filter(([, found]) => found[by] < found.examples)
      .map(([rule, found]) => `${rule} ${found[by]} of ${found.examples}`)
      .sort();
  const listed = (rules: readonly string[]) =>
    rules.slice(0, LISTED_MAX).join(', ') +
    (rules.length > LISTED_MAX ? `, and ${rules.length - LISTED_MAX} more` : '');
  return `### ${name}, by how the value is written

${table('Written | Scan | Redactor | Texts', [...score.byContext].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(row))}
Rules of which the scan misses some: ${listed(missed('scan'))}.

Rules of which the redactor misses some: ${listed(missed('redactor'))}.
`;
}

function ownSamples({ own }: Evaluation): string {
  const kinds = new Map<string, { isSecret: boolean; masked: number; prompts: number }>();
  for (const { kind, isSecret, masked, prompts } of own.flatMap((one) => one.prompts.kinds)) {
    const known = kinds.get(kind) ?? { isSecret, masked: 0, prompts: 0 };
    kinds.set(kind, { isSecret, masked: known.masked + masked, prompts: known.prompts + prompts });
  }
  const totals = own.map(
    ({ seed, prompts: { recall, precision, cleanUntouched }, files }) =>
      `${seed} | ${share(files.recall)} | ${share(files.precision)} | ${share(recall.secrets)} | ${share(recall.others)} | ${share(precision)} | ${share(cleanUntouched)}`,
  );
  return `## Samples that are made here

For each seed there are ${PROMPTS} prompts, each with one value of ${kinds.size} kinds of secrets, personal data and internal addresses,
in ${LANGUAGES.length} languages and as prose, .env files, YAML, JSON, code, shell, logs and URLs; and files of four kinds for the scan. Some secrets are in base64, percent-encoded, or put together from parts. Values are made from what their
issuers document, not from the rules. Clean texts are technical text with nothing to mask: digests, ids, public keys, versions, placeholders, code about passwords, questions.
They show how the rules do with forms that somebody here thought of, so expect what the tables above say. The aims of the redactor are a recall of ${AIMS.secrets} for secrets and ${AIMS.others} for the rest, and a precision of ${AIMS.precision}; a test checks them.

${table('Seed | Scan, recall | Scan, precision | Redactor, recall of secrets | Recall of the rest | Precision | Clean texts left alone', totals)}
${table(
  'Kind | | Masked | Recall',
  [...kinds].map(
    ([kind, { isSecret, masked, prompts }]) =>
      `${kind} | ${isSecret ? 'secret' : 'personal or internal'} | ${masked} of ${prompts} | ${share(masked / prompts)}`,
  ),
)}`;
}

/** The table with this header row. */
const TABLE = /^\| Measured on \| The scan finds \|\n(?:\|.*\|\n)*/m;

export function withTable(guide: string, measured: string): string {
  if (!TABLE.test(guide)) throw new Error(`${GUIDE} has no table "Measured on", "The scan finds".`);
  return guide.replace(TABLE, () => measured);
}

/** The two columns in short, for the guide. */
export function guideTable({ own, examples, leaky, clean }: Evaluation): string {
  const least = (of: (one: FileScore) => number) => Math.min(...own.map(({ files }) => of(files)));
  return table('Measured on | The scan finds', [
    `samples made here | ${share(least(({ recall }) => recall))} of them; ${share(least(({ precision }) => precision))} of its findings are right`,
    ...examples.map(
      ({ name, score }) => `${name} | ${share(recallOf(score.total).scan)} of ${number(score.total.examples)} texts`,
    ),
    ...leaky.map(({ name, score }) => `${name} | ${score.found} of ${score.lines} lines with a secret`),
    ...clean.map(({ name, score }) => `${name} | ${in10000(score).toFixed(2)} in 10,000 clean lines`),
  ]);
}
