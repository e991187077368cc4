import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RoundRobin } from './round-robin.ts';

function filled(...items: [tenant: string, item: string][]): RoundRobin<string> {
  const line = new RoundRobin<string>();
  for (const [tenant, item] of items) line.push(tenant, item);
  return line;
}

const all = (line: RoundRobin<string>) => Array.from({ length: line.size }, () => line.shift());

test('tenants take turns, however many items one of them has', () => {
  const line = filled(
    ['noisy', 'n1'],
    ['noisy', 'n2'],
    ['noisy', 'n3'],
    ['quiet', 'q1'],
    ['other', 'o1'],
    ['quiet', 'q2'],
  );
  assert.deepEqual(all(line), ['n1', 'q1', 'o1', 'n2', 'q2', 'n3']);
  assert.equal(line.shift(), undefined);
});

test('a tenant that was served waits behind one that comes after', () => {
  const line = filled(['noisy', 'n1'], ['noisy', 'n2']);
  assert.equal(line.shift(), 'n1');
  line.push('noisy', 'n3');
  line.push('quiet', 'q1');
  assert.deepEqual(all(line), ['n2', 'q1', 'n3']);
});

test('a tenant that may have no turn keeps its place, and holds up nobody', () => {
  const line = filled(['noisy', 'n1'], ['quiet', 'q1']);
  assert.equal(
    line.shift((tenant) => tenant !== 'noisy'),
    'q1',
  );
  assert.equal(
    line.shift((tenant) => tenant !== 'noisy'),
    undefined,
  );
  assert.deepEqual(all(line), ['n1']);
});

test('what is removed is neither served nor counted', () => {
  const line = filled(['a', 'a1'], ['a', 'a2'], ['b', 'b1']);
  line.remove('a', 'a1');
  line.remove('a', 'never there');
  line.remove('b', 'b1');
  assert.equal(line.size, 1);
  assert.equal(line.sizeOf('b'), 0);
  assert.deepEqual(all(line), ['a2']);
});
