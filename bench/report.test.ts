import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { CASE_COLUMNS } from './cases.ts';
import { markdownReport, type Report, type Row } from './report.ts';
import { benchSummary, SUMMARY_PAGE, withSection } from './summary.ts';

function row(subject: string, connections: number, perSecond: number): Row {
  const times = { p50Ms: 1, p99Ms: 2.26, p99ToP50: 2.26, cpuMicros: connections, memoryMiB: null, clientPercent: 5 };
  return { request: 'GET a|b', subject, connections, perSecond, ratio: perSecond / 20_000, ...times };
}

const REPORT: Report = {
  date: '2026-01-02T03:04:05.678Z',
  commit: 'abc1234',
  machine: { cores: 2, processor: 'some processor', memoryMiB: 2048, node: 'v26.0.0' },
  settings: { seconds: 2, rounds: 3 },
  parts: [
    {
      part: 'reads',
      seconds: 61.4,
      tables: [
        {
          name: 'beside bare',
          title: 'Reads',
          columns: CASE_COLUMNS,
          rows: [row('bare', 1, 20_000), row('bare', 32, 30_000), row('Coffer', 1, 5000), row('Coffer', 32, 6000)],
          notes: ['A note.'],
        },
      ],
    },
  ],
};

test('a report says when, where and how it was measured, and shows its tables', () => {
  const text = markdownReport(REPORT);
  assert.match(text, /2026-01-02 03:04 UTC, commit abc1234\. 2 × some processor, 2 GiB; Node v26\.0\.0\./);
  assert.match(text, /seconds 2, rounds 3\./);
  assert.match(text, /^## reads \(61 s\)$/m);
  assert.match(
    text,
    /^\| GET a\\\|b \| Coffer \| 32 \| 6,000 \| 0\.300 \| 1\.00 \| 2\.26 \| 2\.3 \| 32\.0 \| – \| 5 \|$/m,
  );
  assert.match(text, /^A note\.$/m);
});

test('a summary has one line for each subject', () => {
  const text = benchSummary(REPORT);
  assert.match(text, /^## Measured on 2026-01-02\n/);
  assert.match(text, /^\| request \| subject \| requests\/s, 1 \| requests\/s, 32 \| ratio, 1 \| ratio, 32 \|/m);
  assert.match(text, /^\| GET a\\\|b \| Coffer \| 5,000 \| 6,000 \| 0\.250 \| 0\.300 \| 2\.3 \| 2\.3 \| 32 \|$/m);
});

test('a section of the page is replaced, and nothing else', () => {
  const page = (bench: string, soak: string) =>
    `# Page\n\n<!-- npm run bench -- --summary writes this -->${bench}<!-- end of bench -->\n\nText.\n\n` +
    `<!-- npm run soak -- --summary writes this -->${soak}<!-- end of soak -->\n\nThe rest.\n`;
  const changed = withSection(page('\nolder\n', '\nleft\n'), 'bench', 'newer');
  assert.equal(changed, page('\n\nnewer\n\n', '\nleft\n'));
  assert.equal(withSection(changed, 'bench', 'newer'), changed);
  assert.equal(withSection(changed, 'soak', 'this too'), page('\n\nnewer\n\n', '\n\nthis too\n\n'));
});

test('the page has a place for both, and one without is left alone', () => {
  const page = readFileSync(SUMMARY_PAGE, 'utf8');
  for (const command of ['bench', 'soak'] as const) assert.notEqual(withSection(page, command, 'other text'), page);
  assert.throws(() => withSection('# Page\n', 'bench', ''), /no place/);
});
