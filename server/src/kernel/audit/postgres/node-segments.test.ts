import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { MacKey } from '../../keys/keyring.ts';
import { isTombstone, listedNumbers, NO_ENTRIES, NodeSegments, tombstone } from './node-segments.ts';

const KEY: MacKey = { version: 1, mac: () => Buffer.alloc(32) } as unknown as MacKey;

function begin() {
  const nodes = new NodeSegments('a');
  const sign = () => {
    const no = nodes.known('t').unsettled.size;
    return nodes.sign('t', `audit_${no}`, NO_ENTRIES, KEY);
  };
  return { nodes, sign };
}

test('a segment lists the earlier ones that are open, with their ids', () => {
  const { sign } = begin();
  const first = sign();
  const second = sign();
  assert.deepEqual(listedNumbers(second), { voids: [], open: [[1, 'audit_0']] });
  first.end('committed');
  assert.deepEqual(listedNumbers(sign()), { voids: [], open: [[2, 'audit_1']] });
});

test('a number that was rolled back is listed until a segment that lists it is committed', () => {
  const { nodes, sign } = begin();
  sign().end('rolled back');
  const lists = sign();
  assert.deepEqual(listedNumbers(lists).voids, [1]);
  const listsToo = sign();
  assert.deepEqual(listedNumbers(listsToo).voids, [1]);
  lists.end('rolled back');
  assert.deepEqual(listedNumbers(sign()).voids, [1, 2]);
  listsToo.end('committed');
  assert.deepEqual(nodes.tenantsWithVoids(), ['t']);
  assert.deepEqual(listedNumbers(sign()).voids, [2]);
});

test('a number whose outcome is unknown is not void: it stays open until the database has decided', () => {
  const { nodes, sign } = begin();
  sign().end('unknown');
  assert.deepEqual(nodes.tenantsWithVoids(), []);
  assert.deepEqual(nodes.unknown(), [['t', [[1, 'audit_0']]]]);
  assert.deepEqual(listedNumbers(sign()).open, [[1, 'audit_0']]);
  nodes.evict('t');
  nodes.settle('t', [1, 2]);
  assert.deepEqual([nodes.unknown(), [...nodes.known('t').unsettled]], [[], []]);
  assert.equal(sign().node_no, 3, 'a number is never used again');
});

test('a tombstone has the key and the number of the segment whose place it holds', () => {
  const row = tombstone('t', 'a', [7, 'audit_7'], KEY);
  assert.deepEqual([row.id, row.node_no, isTombstone(row)], ['audit_7', 7, true]);
  assert.deepEqual(listedNumbers(row), { voids: [], open: [] });
});
