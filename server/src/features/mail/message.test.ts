import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { htmlOf, isMailAddress, requireSafeHeaders, textOf } from './message.ts';
import { nextAttemptAt } from './outbox.ts';

const GOOD = { to: 'ann@example.com', subject: 'Verify your address', paragraphs: ['Hello'] };

test('a header that could hold a second header or recipient is refused', () => {
  requireSafeHeaders(GOOD);
  const addresses = [
    'ann@example.com\r\nBcc: eve@example.com',
    'ann@example.com\nBcc: eve@example.com',
    'ann@example.com, eve@example.com',
    'ann@example.com;eve@example.com',
    '"ann" <ann@example.com>',
    'ann@example.com>',
    'ann@[127.0.0.1]',
    '<ann@example.com> SIZE=1',
    'ann example.com',
    '',
  ];
  for (const to of addresses) assert.throws(() => requireSafeHeaders({ ...GOOD, to }), /recipient/, to);
  for (const subject of ['', 'a\r\nBcc: eve@example.com', 'a\nb', 'a\u0000', 'a\u2028b', 'a\u0085b', 'x'.repeat(201)]) {
    assert.throws(() => requireSafeHeaders({ ...GOOD, subject }), /subject/, JSON.stringify(subject));
  }
});

test('no character that ends or divides a header passes anywhere in an address', () => {
  const place = fc.nat({ max: 'ann@example.com'.length });
  fc.assert(
    fc.property(fc.string({ unit: 'binary', minLength: 1, maxLength: 2 }), place, (added, at) => {
      const address = `${'ann@example.com'.slice(0, at)}${added}${'ann@example.com'.slice(at)}`;
      if (isMailAddress(address)) assert.doesNotMatch(address, /[\p{C}\p{Z}]|[,;:<>()[\]"\\]|@.*[^!-~]/u);
    }),
    { numRuns: 200 },
  );
});

test('text from people is escaped in HTML and stays as it is in text', () => {
  const message = { ...GOOD, paragraphs: ['<script>alert("1")</script> & \'co\'', { copy: 'one\ntwo' }] };
  assert.doesNotMatch(htmlOf(message), /<script/);
  assert.match(htmlOf(message), /&lt;script&gt;alert\(&quot;1&quot;\)/);
  assert.equal(textOf(message), `<script>alert("1")</script> & 'co'\n\n    one\n    two\n`);
});

test('the lines of the text are short enough for every mail server, and none is lost', () => {
  const paragraph = 'Somebody signed up with this address, and whoever reads this knows more about it. '
    .repeat(5)
    .trim();
  const text = textOf({ ...GOOD, paragraphs: [paragraph] });
  assert.ok(text.split('\n').every((line) => line.length <= 72));
  assert.equal(text.replaceAll('\n', ' ').trim(), paragraph);
});

test('waits grow for about a day, then a mail is given up', () => {
  const waits: number[] = [];
  for (let attempts = 1; ; attempts++) {
    const next = nextAttemptAt(attempts, 0, 0);
    if (next === null) break;
    waits.push(next);
  }
  assert.deepEqual(
    waits,
    waits.toSorted((a, b) => a - b),
  );
  const sum = waits.reduce((a, b) => a + b);
  assert.ok(sum > 20 * 3_600_000 && sum < 30 * 3_600_000);
  assert.equal(nextAttemptAt(1, 0, 1), 5500);
});
