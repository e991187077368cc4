import { readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { cleanTextsOf } from './clean-texts.ts';
import { scoreCleanTree } from './clean-trees.ts';
import { type Half, halfOf, readExamples, scoreExamples } from './examples.ts';
import { scoreLeakyFiles } from './leaky-files.ts';
import { scoreFiles } from './planted-files.ts';
import { score as scorePrompts } from './prompt-scoring.ts';
import { promptsOf } from './prompts.ts';
import { type Evaluation, EXAMPLES_AIM, GUIDE, guideTable, isGoodEnough, PAGE, page, withTable } from './report.ts';

/** Measures the rules of the scan and the redactor on samples that are made here, and on those of others. */
const HELP = `npm run evaluate:detection -- [--seeds 31,32,33] [--examples NAME=FILE[,SCAN,REDACTOR]]… [--leaky NAME=FOLDER,LIST]… [--clean NAME=FOLDER]… [--half tuning|report] [--missed] [--write]

--examples  lines of JSON: {"rule": "…", "text": "…", "secrets": ["…"], "path": "…"}, with "positive": false for texts without a secret.
            SCAN and REDACTOR are the recall to be reached, ${EXAMPLES_AIM.scan},${EXAMPLES_AIM.redactor} unless given
--leaky     a folder of files with secrets, and a list of them: path,number of lines with a secret
--clean     a folder of code and documentation without secrets
--missed    also prints what was judged wrongly
--half      of which half of the rules of --examples: tune on one, report the other
--write     puts the tables into ${PAGE} and ${GUIDE}
`;

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '31,32,33' },
    examples: { type: 'string', multiple: true, default: [] },
    leaky: { type: 'string', multiple: true, default: [] },
    clean: { type: 'string', multiple: true, default: [] },
    half: { type: 'string', default: 'report' },
    missed: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
const seeds = values.seeds
  .split(',')
  .filter((seed) => seed !== '')
  .map(Number);
const named = (option: readonly string[]) =>
  option.map((text) => [text.slice(0, text.indexOf('=')), text.slice(text.indexOf('=') + 1)] as const);
const areNamed = [...values.examples, ...values.leaky, ...values.clean].every((text) => text.indexOf('=') > 0);
if (values.help || !areNamed || !seeds.every(Number.isSafeInteger) || !/^(?:tuning|report)$/.test(values.half)) {
  process.stdout.write(HELP);
  process.exit(values.help ? 0 : 2);
}

const ROUNDS = 12;
const evaluation: Evaluation = { own: [], examples: [], leaky: [], clean: [] };
for (const seed of seeds)
  evaluation.own.push({
    seed,
    prompts: await scorePrompts(promptsOf(seed), cleanTextsOf(seed)),
    files: scoreFiles(seed, ROUNDS),
  });
for (const [name, place] of named(values.examples)) {
  const [file = '', scan = EXAMPLES_AIM.scan, redactor = EXAMPLES_AIM.redactor] = place.split(',');
  const examples = readExamples(file);
  const half = (wanted: Half) => scoreExamples(examples.filter(({ rule }) => halfOf(rule) === wanted));
  const aim = { scan: Number(scan), redactor: Number(redactor) };
  evaluation.examples.push({ name, aim, tuning: await half('tuning'), score: await half('report') });
}
for (const [name, place] of named(values.leaky)) {
  const [folder = '', list = ''] = place.split(',');
  evaluation.leaky.push({ name, score: scoreLeakyFiles(folder, list) });
}
for (const [name, folder] of named(values.clean)) evaluation.clean.push({ name, score: scoreCleanTree(folder) });

process.stdout.write(`${page(evaluation)}\n`);
if (values.missed) printMissed();
if (values.write) {
  writeFileSync(PAGE, page(evaluation));
  writeFileSync(GUIDE, withTable(readFileSync(GUIDE, 'utf8'), guideTable(evaluation)));
}
process.exitCode = isGoodEnough(evaluation) ? 0 : 1;

function printMissed(): void {
  const lines: string[] = [];
  for (const { prompts, files } of evaluation.own) {
    for (const { kind, format, disguise, text } of prompts.missed)
      lines.push(`missed: ${kind}, ${format}, ${disguise}\n${text}\n`);
    for (const text of prompts.touched) lines.push(`masked without need:\n${text}\n`);
    for (const text of [...files.missed, ...files.touched]) lines.push(`file: ${text}`);
  }
  for (const { score, tuning } of evaluation.examples)
    for (const { by, rule, text } of (values.half === 'tuning' ? tuning : score).missed)
      lines.push(`${by} missed ${rule}: ${text.slice(0, 400)}`);
  for (const { score: leaky } of evaluation.leaky)
    lines.push(...leaky.silent.map((path) => `silent: ${path}`), ...leaky.partly.map((path) => `partly: ${path}`));
  for (const { score: clean } of evaluation.clean)
    lines.push(...clean.places.map((place) => `found: ${place}`), ...clean.examples.map((text) => `masked: ${text}`));
  process.stdout.write(`${lines.join('\n')}\n`);
}
