import { findingsIn } from '../../cli/src/scan/findings.ts';
import { isAtLeast } from '../../detection/src/index.ts';
import { Draws } from '../anomalies/random.ts';
import { cleanTextsOf } from './clean-texts.ts';
import { SECRET_KINDS } from './secret-values.ts';

/** How well a scan does on files that are made here. */
export interface FileScore {
  readonly planted: number;
  readonly recall: number;
  /** Of all findings, the part that was planted. */
  readonly precision: number;
  readonly missed: readonly string[];
  /** Clean texts in which something was found. */
  readonly touched: readonly string[];
}

interface WrittenFile {
  readonly name: string;
  readonly write: (variable: string, text: string) => string;
}

/** Every kind of secret as files have it. */
const FILES: readonly WrittenFile[] = [
  { name: 'deploy/.env', write: (variable, text) => `PORT=8080\n${variable}=${quotedIfLines(text)}\nLOG=info\n` },
  { name: 'config.yaml', write: (variable, text) => `web:\n  ${variable.toLowerCase()}: ${JSON.stringify(text)}\n` },
  {
    name: 'settings.json',
    write: (variable, text) => `${JSON.stringify({ name: 'shop', [variable]: text }, null, 2)}\n`,
  },
  { name: 'src/client.ts', write: (variable, text) => `const ${camel(variable)} = ${JSON.stringify(text)};\n` },
];
const quotedIfLines = (text: string) => (text.includes('\n') ? JSON.stringify(text) : text);
const camel = (name: string) => name.toLowerCase().replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());

const reported = (text: string, file: string) =>
  findingsIn({ file, bytes: Buffer.from(text), line: 1, column: 0 }).filter(({ confidence }) =>
    isAtLeast(confidence, 'medium'),
  );

/** Writes each kind of secret so many times into each file, and scans these and texts that have none. */
export function scoreFiles(seed: number, rounds: number): FileScore {
  const draws = new Draws(seed);
  let [planted, found, wrong] = [0, 0, 0];
  const missed: string[] = [];
  for (let round = 0; round < rounds; round++) {
    for (const { name: kind, variable, make } of SECRET_KINDS) {
      const { value, written = value } = make(draws);
      for (const { name, write } of FILES) {
        planted++;
        const findings = reported(write(variable, written), name);
        const right = findings.filter((finding) => isValue(finding.value, value));
        if (right.length > 0) found++;
        else missed.push(`${kind} in ${name}`);
        wrong += findings.length - right.length;
      }
    }
  }
  const touched = cleanTextsOf(seed).flatMap((text) =>
    FILES.flatMap(({ name }) => reported(text, name).map(({ kind }) => `${kind} in ${name}: ${text}`)),
  );
  return { planted, recall: found / planted, precision: found / (found + wrong + touched.length), missed, touched };
}

/** A finding has the value, or most of it. */
function isValue(found: string, value: string): boolean {
  return [value, JSON.stringify(value).slice(1, -1)].some(
    (spelled) => found.includes(spelled) || (spelled.includes(found) && found.length * 5 >= spelled.length * 4),
  );
}
