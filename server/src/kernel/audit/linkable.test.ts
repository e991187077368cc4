import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { newId } from '../platform/ids.ts';
import { type NumberedSegment, sortSegments } from './linkable.ts';

const NOW = 2_000_000_000_000;
/** Node b links what node a wrote, `ms` after it was written. */
const byOther = (ms: number) => ({ now: NOW + ms, ownNode: 'b' });
const byItself = (ms: number) => ({ now: NOW + ms, ownNode: 'a' });

function segment(node: string, no: number, voids: number[] = [], madeAt = NOW): NumberedSegment {
  return { id: newId('audit', madeAt), node_id: node, node_no: no, voids: JSON.stringify(voids) };
}

const numbers = (segments: readonly NumberedSegment[]) =>
  segments.map(({ node_no }) => Number(node_no)).sort((a, b) => a - b);

test('what comes without a gap is linked, of each node by itself', () => {
  const sorted = sortSegments([segment('a', 4), segment('b', 1), segment('a', 3)], new Map([['a', 2]]), byItself(0));
  assert.deepEqual(numbers(sorted.linkable), [1, 3, 4]);
  assert.deepEqual(
    [...sorted.linkedNo],
    [
      ['a', 4],
      ['b', 1],
    ],
  );
});

test('a gap is waited for, since its transaction may not be committed yet', () => {
  const sorted = sortSegments([segment('a', 1), segment('a', 3)], new Map(), byItself(59_000));
  assert.deepEqual([numbers(sorted.linkable), sorted.missing], [[1], []]);
});

test('a gap in the numbers of a running node is a deletion', () => {
  const sorted = sortSegments([segment('a', 1), segment('a', 4)], new Map(), byItself(61_000));
  assert.deepEqual(numbers(sorted.linkable), [1, 4]);
  assert.deepEqual([sorted.missing, sorted.lost], [[{ node: 'a', from: 2, to: 3 }], []]);
});

test('a gap in the numbers of another node is left to that node first', () => {
  const sorted = sortSegments([segment('a', 1), segment('a', 4)], new Map(), byOther(149_000));
  assert.deepEqual([numbers(sorted.linkable), sorted.missing, sorted.lost], [[1], [], []]);
});

test('a gap at the end of a node that has ended was lost in its crash', () => {
  const segments = [segment('a', 1), segment('a', 4), segment('a', 5, [], NOW + 30_000)];
  const sorted = sortSegments(segments, new Map(), byOther(151_000));
  assert.deepEqual(numbers(sorted.linkable), [1, 4, 5]);
  assert.deepEqual([sorted.missing, sorted.lost], [[], [{ node: 'a', from: 2, to: 3 }]]);
});

test('a gap that its node outlived is a deletion', () => {
  const segments = [segment('a', 1), segment('a', 4), segment('a', 5, [], NOW + 30_001)];
  const sorted = sortSegments(segments, new Map(), byOther(151_000));
  assert.deepEqual([sorted.missing, sorted.lost], [[{ node: 'a', from: 2, to: 3 }], []]);
});

test('a gap is a deletion where it is larger than what a node runs at once', () => {
  const sorted = sortSegments([segment('a', 34), segment('a', 66), segment('a', 68)], new Map(), byOther(151_000));
  assert.deepEqual(
    [sorted.lost, sorted.missing],
    [
      [
        { node: 'a', from: 1, to: 33 },
        { node: 'a', from: 35, to: 65 },
      ],
      [{ node: 'a', from: 67, to: 67 }],
    ],
  );
});

test('numbers of transactions that were undone are missed by nobody', () => {
  const sorted = sortSegments([segment('a', 4, [2, 3]), segment('a', 1)], new Map(), byItself(0));
  assert.deepEqual([numbers(sorted.linkable), sorted.missing], [[1, 4], []]);
});

test('what was linked before is not linked again', () => {
  const sorted = sortSegments([segment('a', 2), segment('a', 3)], new Map([['a', 2]]), byItself(0));
  assert.deepEqual([numbers(sorted.linkable), numbers(sorted.repeated)], [[3], [2]]);
});

test('whatever order and batches they arrive in, each is linked once and none is missed', () => {
  fc.assert(
    fc.property(fc.array(fc.boolean(), { maxLength: 40 }), fc.integer({ min: 1, max: 7 }), (undone, batch) => {
      const all: NumberedSegment[] = [];
      let voids: number[] = [];
      undone.forEach((isUndone, i) => {
        if (isUndone) voids.push(i + 1);
        else {
          all.push(segment('a', i + 1, voids));
          voids = [];
        }
      });
      const linked: number[] = [];
      const known = new Map<string, number>();
      let waiting: NumberedSegment[] = [];
      for (let at = 0; at < all.length; at += batch) {
        waiting.push(...all.slice(at, at + batch).toReversed());
        const { linkable, linkedNo, missing, repeated } = sortSegments(waiting, known, byItself(0));
        assert.deepEqual([missing, repeated], [[], []]);
        linked.push(...linkable.map(({ node_no }) => Number(node_no)));
        for (const [node, no] of linkedNo) known.set(node, no);
        waiting = waiting.filter((one) => !linkable.includes(one));
      }
      assert.deepEqual(
        linked.sort((a, b) => a - b),
        all.map(({ node_no }) => node_no),
      );
    }),
  );
});
