import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CofferError } from '../../client/src/index.ts';
import { CommandError, exitCodeOf, explain } from './failure.ts';
import { ago } from './output.ts';
import { escaped, printable } from './printable.ts';

test('a terminal is told nothing by a name', () => {
  assert.equal(printable('plain äöü 漢字 🙂\n\t'), 'plain äöü 漢字 🙂\n\t');
  for (const hostile of ['\u001b[2J', '\r', '\b', '\u009b31m', '\u202e', '\u2066', '\u0000', '\u2028']) {
    assert.equal(printable(`a${hostile}b`), `a${'\uFFFD'}${hostile.slice(1)}b`);
  }
  const error = new CofferError('There is no vault named \u001b[31mx.', { code: 'VAULT_NOT_FOUND', status: 404 });
  assert.ok(!explain(error).includes('\u001b'));
});

test('of a value nothing is lost at a terminal', () => {
  assert.equal(escaped('plain äöü 漢字\n\t"\\'), 'plain äöü 漢字\n\t"\\');
  assert.equal(
    escaped('a\u001b[2J\r\u009b\u202e\u{e0001}\u2028'),
    String.raw`a\u001b[2J\u000d\u009b\u202e\udb40\udc01\u2028`,
  );
  const value = { key: 'x\u007f\u0085\u2066\u{e0001}\u001b' };
  assert.deepEqual(JSON.parse(escaped(JSON.stringify(value, null, 2))), value);
});

test('exit codes: 1 here, 2 the service, 3 refused, 4 not found', () => {
  const of = (status: number, code: CofferError['code'] = 'UNAVAILABLE') =>
    exitCodeOf(new CofferError('x', { code, status }));
  assert.deepEqual([of(0, 'NO_ANSWER'), of(0, 'TIMED_OUT'), of(500), of(503), of(429)], [2, 2, 2, 2, 2]);
  assert.deepEqual([of(400), of(401), of(403), of(409), of(422)], [3, 3, 3, 3, 3]);
  assert.deepEqual([of(404), of(0, 'INVALID_ARGUMENT')], [4, 1]);
  assert.deepEqual(
    [exitCodeOf(new CommandError('x')), exitCodeOf(new CommandError('x', 127)), exitCodeOf(new Error('x'))],
    [1, 127, 1],
  );
});

test('a failure that nobody foresaw does not quote what it worked on', () => {
  assert.doesNotMatch(explain(new TypeError('cannot read hunter2')), /hunter2/);
});

test('times are told as people say them', () => {
  const now = Date.parse('2026-11-17T12:00:00Z');
  assert.equal(ago('2026-11-17T12:00:00Z', now), 'just now');
  assert.equal(ago('2026-11-17T11:59:00Z', now), '1 minute ago');
  assert.equal(ago('2026-11-19T12:30:00Z', now), 'in 2 days');
  assert.equal(ago('2026-12-17T11:59:30Z', now), 'in 30 days', 'a moment after it was made');
  assert.equal(ago('2026-11-18T11:40:00Z', now), 'in 1 day');
  assert.equal(ago('2026-11-17T12:59:50Z', now), 'in 1 hour');
  assert.equal(ago('2026-11-17T12:00:59Z', now), 'in 59 seconds');
  assert.equal(ago(null, now), '');
});
