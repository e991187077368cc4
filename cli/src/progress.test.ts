import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ProgressBar } from './progress.ts';

/** A terminal that records what it is sent, and a clock that stands still until it is set. */
function terminal({ isTTY = true, columns = 60 } = {}) {
  const written: string[] = [];
  let now = 0;
  const write = (text: string) => written.push(text) > 0;
  const output = { write, isTTY, columns } as unknown as NodeJS.WriteStream;
  return { written, bar: new ProgressBar(output, () => now), at: (ms: number) => (now = ms) };
}

describe('a progress bar', () => {
  test('replaces its line, at most ten times a second, and at the end', () => {
    const { written, bar, at } = terminal();
    bar.begin({ title: 'Backup', unit: 'rows', total: 1000 });
    for (let done = 1; done <= 1000; done++) {
      at(done);
      bar.reach(done);
    }
    assert.ok(written.length <= 12, `${written.length} lines`);
    assert.ok(written.every((text) => text.startsWith('\r\u001b[K')));
    assert.match(String(written.at(-1)), /Backup: 1,000 of 1,000 rows/);
    bar.end();
    assert.equal(written.at(-1), '\r\u001b[K');
  });

  test('never reaches the last column', () => {
    for (const columns of [10, 20, 40, 80]) {
      const { written, bar, at } = terminal({ columns });
      bar.begin({ title: 'Backup', unit: 'rows', total: 100_000 });
      at(2000);
      bar.reach(50_000);
      for (const text of written) assert.ok(text.replace('\r\u001b[K', '').length < columns, text);
    }
  });

  test('writes nothing where no terminal is', () => {
    const { written, bar } = terminal({ isTTY: false });
    assert.equal(bar.isShown, false);
    bar.begin({ title: 'Backup', unit: 'rows', total: 10 });
    bar.reach(10);
    bar.end();
    assert.deepEqual(written, []);
  });
});
