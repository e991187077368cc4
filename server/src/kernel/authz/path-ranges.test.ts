import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  ALL_PATHS,
  difference,
  exactly,
  intersection,
  isInSome,
  justAfter,
  type PathRange,
  startingWith,
  union,
} from './path-ranges.ts';

const path = fc.string({ unit: fc.constantFrom('a', 'b', '/', '-', '0', 'z'), maxLength: 5 });
const range = fc.tuple(path, path).map(([a, b]): PathRange => (a < b ? { from: a, to: b } : { from: b, to: a }));
const ranges = fc.array(range, { maxLength: 5 });
const has = (list: readonly PathRange[], at: string) => list.some(({ from, to }) => from <= at && at < to);

function isTidy(list: readonly PathRange[]): boolean {
  return list.every(({ from, to }, i) => from < to && (i === 0 || from > (list[i - 1] as PathRange).to));
}

test('a path is found in sorted ranges as it is by looking at each of them', () => {
  fc.assert(fc.property(ranges, path, (a, at) => assert.equal(isInSome(union(a), at), has(a, at))));
});

test('union, intersection and difference mean what they say, for every path', () => {
  fc.assert(
    fc.property(ranges, ranges, path, (a, b, at) => {
      assert.equal(has(union(a), at), has(a, at));
      assert.equal(has(intersection(a, b), at), has(a, at) && has(b, at));
      assert.equal(has(difference(a, b), at), has(a, at) && !has(b, at));
    }),
  );
});

test('a union is sorted and has no seams', () => {
  fc.assert(fc.property(ranges, (list) => assert.ok(isTidy(union(list)))));
});

test('a prefix holds what begins with it, and nothing else', () => {
  fc.assert(
    fc.property(path, path, (prefix, at) => assert.equal(has([startingWith(prefix)], at), at.startsWith(prefix))),
  );
  assert.deepEqual(startingWith(''), ALL_PATHS);
});

test('an exact range holds one path', () => {
  fc.assert(fc.property(path, path, (one, at) => assert.equal(has([exactly(one)], at), at === one)));
});

test('no path lies between a path and what is just after it', () => {
  fc.assert(fc.property(path, path, (one, at) => assert.ok(!(one < at && at < justAfter(one)))));
});
