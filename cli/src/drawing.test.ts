import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Advance, bar, chooseScale, durationText, grouped, progressLine, sparkline, tree } from './drawing.ts';

describe('a row of bars', () => {
  test('has one column for each count, a dot for nothing, and the full height for the largest', () => {
    assert.equal(sparkline([0, 1, 2, 4, 8], 10), '·▁▂▄█');
    assert.equal(sparkline([0, 0], 10), '··');
    assert.equal(sparkline([], 10), '');
  });

  test('what is more than nothing is never drawn as nothing', () => {
    assert.equal(sparkline([1, 1_000_000], 10, 'linear'), '▁█');
  });

  test('is as wide as it may be, and shows the largest of counts that share a column', () => {
    const counts = Array.from({ length: 100 }, (_, i) => (i === 57 ? 9 : 1));
    const line = sparkline(counts, 10, 'linear');
    assert.equal(line.length, 10);
    assert.equal(line.indexOf('█'), 5);
  });

  test('one count that would flatten the others makes the scale a square root', () => {
    const usual = Array.from({ length: 30 }, (_, i) => 80 + (i % 10));
    assert.equal(chooseScale(usual), 'linear');
    assert.equal(chooseScale([...usual, 1200]), 'root');
    assert.equal(chooseScale([0, 0, 5]), 'linear');
    assert.equal(chooseScale([]), 'linear');
    assert.match(sparkline([...usual, 1200], 40), /^[▂▃]+█$/);
  });
});

describe('a bar', () => {
  test('is as long as its share, in eighths of a character', () => {
    assert.equal(bar(8, 8, 4), '████');
    assert.equal(bar(4, 8, 4), '██');
    assert.equal(bar(1, 32, 4), '▏');
    assert.equal(bar(1, 10_000, 4), '▏');
    assert.equal(bar(0, 8, 4), '');
    assert.equal(bar(3, 0, 4), '');
  });

  test('is never longer than its room', () => {
    for (let count = 0; count < 200; count++) assert.ok(bar(count, 100, 7).length <= 7);
  });
});

test('a tree shows which branch is the last of each level', () => {
  const branches = [{ text: 'db', branches: [{ text: 'password' }, { text: 'url' }] }, { text: 'mail' }];
  assert.deepEqual(tree(branches), ['├─ db', '│  ├─ password', '│  └─ url', '└─ mail']);
});

describe('the line of a progress bar', () => {
  const advance: Advance = { title: 'Importing', unit: 'secrets', done: 250, total: 1000, elapsedMs: 5000 };

  test('says what is done, how fast, and how long it takes still', () => {
    const line = progressLine(advance, 100);
    assert.match(line, /^Importing: 250 of 1,000 secrets, 50\/s, 15 s left ▕█{7}▌ {22}▏$/);
  });

  test('fits every width, and leaves out the bar first', () => {
    for (let width = 1; width <= 120; width++) assert.ok(progressLine(advance, width).length <= width, String(width));
    assert.equal(progressLine(advance, 54), 'Importing: 250 of 1,000 secrets, 50/s, 15 s left');
    assert.equal(progressLine(advance, 36), 'Importing: 250 of 1,000 secrets');
  });

  test('has no bar and no time left without a known end, and no rate in the first second', () => {
    const open = { ...advance, title: 'Scanning', unit: 'bytes', done: 5 * 1024 * 1024, total: null };
    assert.equal(progressLine(open, 100), 'Scanning: 5.0 MiB, 1.0 MiB/s');
    assert.equal(progressLine({ ...open, elapsedMs: 900 }, 100), 'Scanning: 5.0 MiB');
  });

  test('an end that was underestimated breaks nothing', () => {
    assert.match(progressLine({ ...advance, done: 1200 }, 100), /^Importing: 1,200 of 1,000 secrets, 240\/s ▕█+▏$/);
  });
});

test('numbers are grouped and times rounded as people say them', () => {
  assert.deepEqual([0, 999, 1000, 35_222, 1_204_392].map(grouped), ['0', '999', '1,000', '35,222', '1,204,392']);
  assert.deepEqual([0.2, 59, 61, 3600, 7_260].map(durationText), ['1 s', '59 s', '2 min', '1 h 00 min', '2 h 01 min']);
});
