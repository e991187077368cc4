import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AddressGuard } from '../../../../kernel/outbound/address-guard.ts';
import { valueProblem } from '../../value/secret-types.ts';
import { PostgresRole } from './postgres-role.ts';

/** Tests that need a server are in server/src/features/secrets/rotation/rotation-backend.test.ts. */

const backend = new PostgresRole(new AddressGuard([], async () => assert.fail('nothing is looked up')));
const whole = { host: 'db.internal', port: 5432, database: 'app', username: 'app', password: 'pass' };
const written = (change: object) => JSON.stringify({ ...whole, ...change });

test('a database value of plain parts can be rotated', () => {
  for (const change of [
    {},
    { host: '8.8.8.8' },
    { host: '2001:4860::1' },
    { tls: false },
    { username: 'App_1.x-y$' },
  ]) {
    assert.equal(backend.problem(written(change)), null);
  }
  for (const host of ['10.0.0.1', '::1', 'localhost', '169.254.169.254']) {
    assert.match(backend.problem(written({ host })) ?? '', /public address, or in CV_OUTBOUND_ALLOW$/);
  }
});

test('a user name that could be SQL is refused, unrepeated', () => {
  const names = [
    'a"b',
    "a'b",
    'a;b',
    'a b',
    '1a',
    '-a',
    '$a',
    'é',
    'a\\b',
    'a/*b',
    '"',
    'a'.repeat(64),
    'x"; DROP ROLE y;--',
  ];
  for (const username of names) {
    const problem = backend.problem(written({ username })) ?? '';
    assert.match(problem, /^must be a database value whose username /);
    if (username.length > 2) assert.ok(!problem.includes(username));
  }
});

test('other values are refused', () => {
  assert.match(backend.problem('not JSON') ?? '', /^must be a JSON object/);
  assert.match(backend.problem(written({ port: 0 })) ?? '', /whose port/);
  for (const host of ['/var/run/postgresql', 'a,b', '127.1', 'db.', '[::1]', 'fe80::1%lo0']) {
    assert.match(backend.problem(written({ host })) ?? '', /whose host /, host);
  }
  assert.match(backend.problem(written({ password: 'pässword' })) ?? '', /whose password is printable ASCII$/);
});

test('the proposed value has a new password and is otherwise as it was written', () => {
  const current = written({ tls: false, note: 'kept', password: 'old' });
  const next = backend.propose(current);
  const { password, ...rest } = JSON.parse(next) as typeof whole;
  assert.match(password, /^[A-Za-z0-9_-]{43}$/);
  assert.deepEqual({ ...rest, password: 'old' }, JSON.parse(current));
  assert.equal(valueProblem('database', next), null);
  assert.equal(backend.problem(next), null);
  assert.notEqual(backend.propose(current), next);
});

test('values that cannot be rotated, or are of two different roles, are never acted on', async () => {
  const { signal } = new AbortController();
  const odd = written({ username: 'a"; drop role b; --' });
  await assert.rejects(backend.apply(odd, odd, signal), /^TypeError: the value cannot be rotated$/);
  await assert.rejects(backend.probe(odd, odd, signal), /^TypeError: the value cannot be rotated$/);
  for (const change of [
    { username: 'other' },
    { host: 'other' },
    { port: 5433 },
    { database: 'other' },
    { tls: false },
  ]) {
    await assert.rejects(backend.apply(written({}), written(change), signal), /^TypeError: the values differ in more/);
  }
});
