import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { cleanTextsOf } from './clean-texts.ts';
import { promptsOf } from './prompts.ts';
import { AIMS, PAGE, page } from './report.ts';
import { type Score, score } from './scoring.ts';

/** Measures the redactor on made-up prompts and on clean texts. */
const HELP = `npm run evaluate:redactor -- [--seeds 31,32,33] [--write] [--missed]

Prints recall by kind, and precision. --missed also prints the prompts and clean texts that were judged wrongly. --write puts the tables into ${PAGE}.
`;

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '31,32,33' },
    write: { type: 'boolean', default: false },
    missed: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
const seeds = values.seeds.split(',').map(Number);
if (values.help || !seeds.every(Number.isSafeInteger)) {
  process.stdout.write(HELP);
  process.exit(values.help ? 0 : 2);
}
const scores: (Score & { seed: number })[] = [];
for (const seed of seeds) scores.push({ seed, ...(await score(promptsOf(seed), cleanTextsOf(seed))) });
process.stdout.write(`${page(scores)}\n`);
if (values.missed) {
  for (const { missed, touched } of scores) {
    for (const { kind, format, disguise, text } of missed)
      process.stdout.write(`missed: ${kind}, ${format}, ${disguise}\n${text}\n\n`);
    for (const text of touched) process.stdout.write(`masked without need:\n${text}\n\n`);
  }
}
if (values.write) writeFileSync(PAGE, page(scores));
const isGoodEnough = scores.every(
  ({ recall, precision }) =>
    recall.secrets >= AIMS.secrets && recall.others >= AIMS.others && precision >= AIMS.precision,
);
process.exitCode = isGoodEnough ? 0 : 1;
