import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { evaluateSeries, readSeries, seriesText } from './series.ts';

const folder = mkdtempSync(join(tmpdir(), 'coffer-series-'));
after(() => rmSync(folder, { recursive: true, force: true }));

const DAY_MS = 86_400_000;
const START = Date.parse('2026-01-05T00:00:00Z');
const timeText = (at: number) => new Date(at).toISOString().slice(0, 19).replace('T', ' ');

test('a day far above all others is found by each model, and a quiet series is left alone', () => {
  mkdirSync(join(folder, 'data/some'), { recursive: true });
  mkdirSync(join(folder, 'labels'));
  const half = DAY_MS / 48;
  const rows = (burstDay: number) =>
    Array.from({ length: 40 * 48 }, (_, i) => {
      const day = Math.floor(i / 48);
      return `${timeText(START + i * half)},${(i % 7) + (day === burstDay ? 400 : 0)}`;
    });
  const write = (name: string, burstDay: number) =>
    writeFileSync(join(folder, 'data/some', `${name}.csv`), `timestamp,value\n${rows(burstDay).join('\n')}\n`);
  write('burst', 35);
  write('quiet', -1);
  const window = [timeText(START + 35 * DAY_MS), timeText(START + 36 * DAY_MS)];
  writeFileSync(join(folder, 'labels/combined_windows.json'), JSON.stringify({ 'some/burst.csv': [window] }));

  const [evaluation] = evaluateSeries(readSeries(folder, ['some']));
  assert.equal(evaluation?.series, 2);
  for (const score of Object.values(evaluation.scores))
    assert.deepEqual(score, { windows: 1, detected: 1, alarms: 1, right: 1, days: 66 });
  assert.match(seriesText([evaluation]), /\| some, 2 series \| v2 \| 1\.00 \(1 of 1\) \| 1\.00 \(1 of 1\) \| 0\.00 \|/);
});
