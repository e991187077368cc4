import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { RowRecord } from '../storage/row-changes.ts';
import { rowDigest } from './row-text.ts';
import { RowHistory } from './row-verification.ts';

/** An entry as the log stores it: sixteen fields, then the rows. */
function entryWith(...records: RowRecord[]): string {
  return JSON.stringify([...Array.from({ length: 16 }, () => ''), records]);
}

test('whatever the order in which the log tells of changes, the last one is known by what each found', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 12 }), fc.infiniteStream(fc.nat()), (changes, numbers) => {
      const records: RowRecord[] = [];
      let before: string | null = null;
      for (let n = 1; n <= changes; n++) {
        const digest = rowDigest(String(n));
        records.push(['users', 'user_1', digest, before]);
        before = digest;
      }
      // The first change must come first, because nothing is known about the row before it.
      const [first, ...others] = records;
      const told = others.map((record) => [Number(numbers.next().value), record] as const);
      const history = new RowHistory();
      history.add(entryWith(first as RowRecord));
      for (const [, record] of told.toSorted(([a], [b]) => a - b)) history.add(entryWith(record));
      assert.equal(history.digests.compare('users user_1', rowDigest(String(changes))), 'same');
      assert.deepEqual(history.unexplained(), []);
    }),
  );
});

test('also where a row becomes again what it was before', () => {
  const steps = fc.array(fc.tuple(fc.integer({ min: 0, max: 2 }), fc.nat()), { minLength: 1, maxLength: 12 });
  fc.assert(
    fc.property(steps, (order) => {
      const history = new RowHistory();
      let before: string = rowDigest('first');
      history.add(entryWith(['users', 'user_1', before, null]));
      const told = order.map(([state, place]) => {
        const record: RowRecord = ['users', 'user_1', rowDigest(String(state)), before];
        before = rowDigest(String(state));
        return [place, record] as const;
      });
      for (const [, record] of told.toSorted(([a], [b]) => a - b)) history.add(entryWith(record));
      assert.equal(history.digests.compare('users user_1', before), 'same');
      assert.deepEqual(history.unexplained(), []);
    }),
  );
});

test('a change that was built on a row that was put back explains nothing', () => {
  const [one, two, three] = ['1', '2', '3'].map((text) => rowDigest(text)) as [string, string, string];
  const history = new RowHistory();
  history.add(entryWith(['users', 'user_1', one, null]));
  history.add(entryWith(['users', 'user_1', two, one]));
  history.add(entryWith(['users', 'user_1', three, one]));
  assert.equal(history.digests.compare('users user_1', three), 'other');
  assert.deepEqual(history.unexplained(), [{ table: 'users', row: 'user_1' }]);
});

test('a row is gone if it was deleted, also if the log lists its creation after the change that found it', () => {
  const [one, two] = ['1', '2'].map((text) => rowDigest(text)) as [string, string];
  const history = new RowHistory();
  history.add(entryWith(['user_totp', 'user_1', two, one]));
  history.add(entryWith(['user_totp', 'user_1', one, null]));
  assert.equal(history.digests.missed, 1, 'it is there');
  history.add(entryWith(['user_totp', 'user_1', null, two]));
  assert.equal(history.digests.missed, 0, 'it is gone');
  assert.deepEqual(history.unexplained(), []);
});
