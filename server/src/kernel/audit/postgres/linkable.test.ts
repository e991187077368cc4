import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { newId } from '../../base/ids.ts';
import { type NumberedSegment, type OwnNumbers, sortSegments } from './linkable.ts';
import type { KnownNumbers } from './node-segments.ts';

/** Node b links what node a wrote. */
const byOther: OwnNumbers = { nodeId: 'b', last: 0, unsettled: new Set(), isComplete: true };
const byItself = (...unsettled: number[]): OwnNumbers => ({
  nodeId: 'a',
  last: Number.POSITIVE_INFINITY,
  unsettled: new Set(unsettled),
  isComplete: true,
});

function segment(node: string, no: number, { voids = [] as number[], open = [] as number[] } = {}): NumberedSegment {
  const listed = open.length === 0 ? voids : { voids, open: open.map((one) => [one, idOf(one)]) };
  return { id: newId('audit'), node_id: node, node_no: no, voids: JSON.stringify(listed) };
}

const idOf = (no: number) => `audit_${no}`;
const numbers = (segments: readonly NumberedSegment[]) =>
  segments.map(({ node_no }) => Number(node_no)).sort((a, b) => a - b);

test('what comes without a gap is linked, of each node by itself', () => {
  const sorted = sortSegments([segment('a', 4), segment('b', 1), segment('a', 3)], new Map([['a', 2]]), byItself());
  assert.deepEqual(numbers(sorted.linkable), [1, 3, 4]);
  assert.deepEqual(
    [...sorted.linkedNo],
    [
      ['a', 4],
      ['b', 1],
    ],
  );
});

test('a number that is open for this node is waited for, however old the segments after it are', () => {
  const segments = [segment('a', 1), segment('a', 3)];
  const sorted = sortSegments(segments, new Map(), byItself(2));
  assert.deepEqual([numbers(sorted.linkable), sorted.missing], [[1], []]);
  assert.deepEqual(sorted.open, [{ node: 'a', no: 2, id: null }]);
});

test('a number that this node has seen committed was deleted, also if later segments list it as open', () => {
  const segments = [segment('a', 1), segment('a', 4, { open: [2, 3] })];
  const sorted = sortSegments(segments, new Map(), byItself());
  assert.deepEqual([numbers(sorted.linkable), sorted.missing], [[1, 4], [{ node: 'a', from: 2, to: 3 }]]);
});

test('a number that this node gave out while the segments were read is waited for while each later segment lists it as open', () => {
  const segments = [segment('a', 1), segment('a', 3, { open: [2] }), segment('a', 4, { open: [2, 3] })];
  const sorted = sortSegments(segments, new Map(), { ...byItself(), last: 1 });
  assert.deepEqual([numbers(sorted.linkable), sorted.missing], [[1], []]);
  assert.deepEqual(sorted.open, [{ node: 'a', no: 2, id: idOf(2) }]);
});

test('a number of another node is waited for while each later segment lists it as open', () => {
  const segments = [segment('a', 1), segment('a', 3, { open: [2] }), segment('a', 4, { open: [2] })];
  const sorted = sortSegments(segments, new Map(), byOther);
  assert.deepEqual([numbers(sorted.linkable), sorted.missing], [[1], []]);
  assert.deepEqual(sorted.open, [{ node: 'a', no: 2, id: idOf(2) }]);
});

test('a number of another node was deleted if a later segment does not list it', () => {
  const segments = [segment('a', 1), segment('a', 3, { open: [2] }), segment('a', 4)];
  const sorted = sortSegments(segments, new Map(), byOther);
  assert.deepEqual(numbers(sorted.linkable), [1, 3, 4]);
  assert.deepEqual([sorted.missing, sorted.open], [[{ node: 'a', from: 2, to: 2 }], []]);
});

test('a gap is divided into what is void, missing and open', () => {
  const segments = [segment('a', 9, { voids: [3], open: [6, 8] }), segment('a', 10, { open: [6, 8] })];
  const sorted = sortSegments(segments, new Map(), byOther);
  assert.deepEqual(numbers(sorted.linkable), []);
  assert.deepEqual(sorted.missing, [
    { node: 'a', from: 1, to: 2 },
    { node: 'a', from: 4, to: 5 },
  ]);
  assert.deepEqual(sorted.open, [
    { node: 'a', no: 6, id: idOf(6) },
    { node: 'a', no: 8, id: idOf(8) },
  ]);
  assert.deepEqual([...sorted.linkedNo], [['a', 5]]);
});

test('a gap of any size is found without counting through it', () => {
  const sorted = sortSegments([segment('a', 2 ** 52)], new Map(), byOther);
  assert.deepEqual(sorted.missing, [{ node: 'a', from: 1, to: 2 ** 52 - 1 }]);
});

test('numbers of transactions that were rolled back are not missing', () => {
  const sorted = sortSegments([segment('a', 4, { voids: [2, 3] }), segment('a', 1)], new Map(), byItself());
  assert.deepEqual([numbers(sorted.linkable), sorted.missing], [[1, 4], []]);
});

test('a number is void if any segment lists it so, although others were signed while it was open', () => {
  const segments = [segment('a', 2, { open: [1] }), segment('a', 3, { voids: [1] })];
  assert.deepEqual(numbers(sortSegments(segments, new Map(), byOther).linkable), [2, 3]);
});

test('a number that only unread segments could explain is waited for', () => {
  const own = { ...byItself(), isComplete: false };
  const sorted = sortSegments([segment('a', 2, { open: [1] })], new Map(), own);
  assert.deepEqual([sorted.linkable, sorted.missing], [[], []]);
});

test('what was linked before is not linked again', () => {
  const sorted = sortSegments([segment('a', 2), segment('a', 3)], new Map([['a', 2]]), byItself());
  assert.deepEqual([numbers(sorted.linkable), numbers(sorted.repeated)], [[3], [2]]);
});

/** What happens to a number: it is committed at once or a few numbers later, or rolled back then. */
interface Fate {
  isRolledBack: boolean;
  later: number;
}

test('whatever order they are committed in, each segment is linked once and none is missing', () => {
  const fate = fc.record({ isRolledBack: fc.boolean(), later: fc.integer({ min: 0, max: 5 }) });
  fc.assert(
    fc.property(fc.array(fate, { maxLength: 40 }), (fates: Fate[]) => {
      const { committed, rounds } = simulate(fates);
      const linkedNo = new Map<string, number>();
      const linked: number[] = [];
      const visible: NumberedSegment[] = [];
      // What the node knew before the segments were read is what it knew in this round, or in one before.
      for (const [i, { arrived }] of rounds.entries()) {
        visible.push(...arrived);
        const before = rounds.slice(Math.max(0, i - 3), i + 1).map(({ known }) => ({ ...byItself(), ...known }));
        for (const own of [byOther, ...before]) {
          const waiting = visible.filter(({ node_no }) => !linked.includes(Number(node_no)));
          const sorted = sortSegments(waiting, linkedNo, own);
          assert.deepEqual([sorted.missing, sorted.repeated], [[], []]);
          linked.push(...numbers(sorted.linkable));
          for (const [node, no] of sorted.linkedNo) linkedNo.set(node, no);
        }
      }
      assert.deepEqual(
        linked.sort((a, b) => a - b),
        committed,
      );
    }),
  );
});

/** One node that signs one segment in each round, with everything that it knows by then. */
function simulate(fates: readonly Fate[]) {
  const open = new Map<number, { segment: NumberedSegment; endsAt: number; isRolledBack: boolean }>();
  const voids = new Set<number>();
  const committed: number[] = [];
  const rounds: { arrived: NumberedSegment[]; known: KnownNumbers }[] = [];
  let given = 0;
  const endOfRound = (round: number) => {
    const arrived: NumberedSegment[] = [];
    for (const [no, one] of open) {
      if (one.endsAt > round) continue;
      open.delete(no);
      if (one.isRolledBack) voids.add(no);
      else {
        arrived.push(one.segment);
        committed.push(no);
      }
    }
    rounds.push({ arrived, known: { last: given, unsettled: new Set([...open.keys(), ...voids]) } });
  };
  fates.forEach(({ isRolledBack, later }, i) => {
    const no = i + 1;
    given = no;
    open.set(no, {
      segment: segment('a', no, { voids: [...voids], open: [...open.keys()] }),
      endsAt: i + later,
      isRolledBack,
    });
    endOfRound(i);
  });
  const last = fates.length + 1;
  endOfRound(last + 5);
  given = last;
  open.set(last, { segment: segment('a', last, { voids: [...voids] }), endsAt: last, isRolledBack: false });
  endOfRound(last + 5);
  return { committed: committed.sort((a, b) => a - b), rounds };
}
