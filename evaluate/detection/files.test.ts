import assert from 'node:assert/strict';
import { test } from 'node:test';
import { detect } from '../../detection/src/index.ts';
import { cleanTextsOf } from './clean-texts.ts';
import { scoreFiles } from './planted-files.ts';

const SEED = 7;
const ROUNDS = 12;
const AIMS = { recall: 0.98, precision: 0.98 };

test('of labelled files nearly every secret is found, and nearly nothing else', () => {
  const { recall, precision, missed, touched } = scoreFiles(SEED, ROUNDS);
  const counts = Object.entries(Object.groupBy(missed, (one) => one)).map(([one, all]) => `${one} ${all?.length}`);
  assert.ok(recall >= AIMS.recall, `recall ${recall}: ${counts.join('; ')}`);
  assert.ok(precision >= AIMS.precision, `precision ${precision}: ${touched.join('\n')}`);
});

test('the time of a scan grows with the text, and no faster', () => {
  const lines = cleanTextsOf(SEED).join('\n');
  const secondsFor = (length: number) => {
    const text = lines.repeat(Math.ceil(length / lines.length));
    const before = process.cpuUsage();
    detect(text, { file: 'notes.txt', isThorough: false });
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1e6;
  };
  secondsFor(1_000_000);
  const [once, tenTimes] = [secondsFor(1_000_000), secondsFor(10_000_000)];
  // A search whose time grew with the square would take a hundred times as long.
  assert.ok(tenTimes < 30 * once, `${once} s for a megabyte, ${tenTimes} s for ten`);
});
