import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sha256 } from '../crypto/digest.ts';
import { ID_LENGTH, idAtTime, idOfDigest, idPattern, isId, newId, timeOfId } from './ids.ts';

test('ids sort by the time they were made, and a time bounds them', () => {
  const times = [0, 1, 31, 32, 1_794_715_860_000, 1_794_715_860_001, 2 ** 45];
  const ids = times.map((time) => newId('audit', time));
  assert.deepEqual(ids.toSorted(), ids);
  times.forEach((time, i) => {
    const id = String(ids[i]);
    assert.ok(idAtTime('audit', time) <= id && id < idAtTime('audit', time + 1));
    assert.equal(timeOfId(id), time);
  });
});

test('ids are unique, have one form, and carry their prefix', () => {
  const ids = Array.from({ length: 20_000 }, () => newId('user', 1_794_715_860_000));
  assert.equal(new Set(ids).size, ids.length);
  assert.deepEqual(ids.toSorted(), ids, 'also within one millisecond');
  for (const id of ids.slice(0, 100)) {
    assert.match(id, new RegExp(idPattern('user')));
    assert.equal(id.length, 'user_'.length + ID_LENGTH);
    assert.ok(isId('user', id));
    assert.ok(!isId('token', id));
    assert.ok(!isId('user', id.toUpperCase()));
    assert.ok(!isId('user', `${id}0`));
  }
});

test('an id of a digest is the same each time, has the form of an id, and differs with the digest', () => {
  const [one, other] = [sha256('one'), sha256('other')];
  assert.equal(idOfDigest('node', one), idOfDigest('node', Buffer.from(one)));
  assert.notEqual(idOfDigest('node', one), idOfDigest('node', other));
  assert.ok(isId('node', idOfDigest('node', one)));
  assert.throws(() => idOfDigest('node', one.subarray(0, ID_LENGTH - 1)), /too short/);
});
