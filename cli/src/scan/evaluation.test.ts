import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isAtLeast } from '../../../detection/src/index.ts';
import { Draws } from '../../../evaluate/anomalies/random.ts';
import { cleanTextsOf } from '../../../evaluate/redactor/clean-texts.ts';
import { SECRET_KINDS } from '../../../evaluate/redactor/secret-values.ts';
import { findingsIn } from './findings.ts';

/** A labelled corpus: every kind of secret that the redactor is measured with, as files have it, and texts that have none. */
const SEED = 7;
const ROUNDS = 12;
const AIMS = { recall: 0.98, precision: 0.98 };

const FILES: readonly { name: string; write: (variable: string, text: string) => string }[] = [
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

const strong = (text: string, file: string) =>
  findingsIn({ file, bytes: Buffer.from(text), line: 1 }).filter(({ confidence }) => isAtLeast(confidence, 'medium'));

test('of labelled files nearly every secret is found, and nearly nothing else', () => {
  const draws = new Draws(SEED);
  let planted = 0;
  let falsely = 0;
  let found = 0;
  const missed: string[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    for (const { name: kind, variable, make } of SECRET_KINDS) {
      const { value, written = value } = make(draws);
      for (const { name, write } of FILES) {
        planted++;
        const text = write(variable, written);
        const findings = strong(text, name);
        const spelled = [value, JSON.stringify(value).slice(1, -1)];
        const isPart = (one: string) =>
          spelled.some(
            (spelling) => one.includes(spelling) || (spelling.includes(one) && one.length * 5 >= spelling.length * 4),
          );
        const right = findings.filter((finding) => isPart(finding.value));
        if (right.length > 0) found++;
        else missed.push(`${kind} in ${name}`);
        falsely += findings.length - right.length;
      }
    }
  }
  const recall = found / planted;
  const counts = Object.entries(Object.groupBy(missed, (one) => one)).map(([one, all]) => `${one} ${all?.length}`);
  assert.ok(recall >= AIMS.recall, `recall ${recall}: ${counts.join('; ')}`);

  const clean = cleanTextsOf(SEED);
  const touched = clean.flatMap((text) =>
    FILES.flatMap(({ name }) => strong(text, name).map(({ kind }) => `${kind} in ${name}: ${text}`)),
  );
  const precision = found / (found + falsely + touched.length);
  assert.ok(precision >= AIMS.precision, `precision ${precision}, ${falsely} beside secrets: ${touched.join('\n')}`);
});

test('100 MB of text are scanned in seconds', () => {
  const lines = cleanTextsOf(SEED).join('\n');
  const piece = Buffer.from(lines.repeat(Math.ceil(1_000_000 / lines.length)));
  const before = process.cpuUsage();
  for (let i = 0; i < 10; i++) findingsIn({ file: 'notes.txt', bytes: piece, line: 1 });
  const { user, system } = process.cpuUsage(before);
  const secondsFor100 = ((user + system) / 1e6 / (piece.length * 10)) * 100e6;
  // A slow machine takes several times as long as the two seconds of an ordinary one.
  assert.ok(secondsFor100 < 30, `${secondsFor100.toFixed(1)} s`);
});
