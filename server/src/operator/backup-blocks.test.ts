import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type Block, BlockCutter } from './backup-blocks.ts';

const row = (n: number, length = 2000) => Buffer.from(`["t",{"n":${n},"text":"${'x'.repeat(length)}"}]\n`);

function cut(rows: readonly Buffer[]): Block[] {
  const cutter = new BlockCutter();
  const blocks = rows.map((line) => cutter.take(line)).filter((block) => block !== null);
  const last = cutter.end();
  return last === null ? blocks : [...blocks, last];
}

test('every row is in one block, and blocks are neither tiny nor huge', () => {
  const rows = Array.from({ length: 5000 }, (_, n) => row(n));
  const blocks = cut(rows);
  assert.equal(
    blocks.reduce((sum, block) => sum + block.rows, 0),
    rows.length,
  );
  assert.ok(blocks.length > 30 && blocks.length < 300, String(blocks.length));
  assert.ok(blocks.every((block) => block.rows * 2000 <= 600 * 1024));
  assert.equal(new Set(blocks.map(({ digest }) => digest)).size, blocks.length);
});

test('a change alters the blocks around it, and no others', () => {
  const rows = Array.from({ length: 3000 }, (_, n) => row(n));
  const before = new Set(cut(rows).map(({ digest }) => digest));
  fc.assert(
    fc.property(fc.nat(2999), fc.nat(5), fc.nat(5), (at, removed, added) => {
      const fresh = Array.from({ length: added }, (_, n) => row(100_000 + n));
      const altered = cut(rows.toSpliced(at, removed, ...fresh));
      const unknown = altered.filter(({ digest }) => !before.has(digest));
      assert.ok(unknown.length <= 6, `${unknown.length} of ${altered.length}`);
      if (removed + added === 0) assert.equal(unknown.length, 0);
    }),
    { numRuns: 30 },
  );
});

test('a row larger than a block is a block with what was before it', () => {
  assert.deepEqual(
    cut([row(1, 5_000_000), row(2, 5_000_000)]).map(({ rows }) => rows),
    [1, 1],
  );
});
