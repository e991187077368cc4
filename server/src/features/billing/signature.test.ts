import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { STRIPE_SECRET, signatureOf } from '../../../../test/support/stripe.ts';
import { isSignedBy, TOLERANCE_MS } from './signature.ts';

const NOW = 1_794_715_860_000;
const BODY = '{"id": "evt_1",  "object": "event"}';
const check = (header: string, more: { body?: string; now?: number; secrets?: string[] } = {}) =>
  isSignedBy(more.secrets ?? [STRIPE_SECRET], { header, body: Buffer.from(more.body ?? BODY), now: more.now ?? NOW });

test('what Stripe’s own library signs is accepted for 300 seconds, and nothing else', () => {
  const header = signatureOf(BODY, NOW);
  assert.ok(check(header));
  assert.ok(check(header, { now: NOW + TOLERANCE_MS }) && check(header, { now: NOW - TOLERANCE_MS }));
  assert.ok(!check(header, { now: NOW + TOLERANCE_MS + 1000 }) && !check(header, { now: NOW - TOLERANCE_MS - 1000 }));
  assert.ok(!check(header, { body: BODY.replace('  ', ' ') }), 'the bytes are signed, not the JSON');
  assert.ok(!check(header, { secrets: [`${STRIPE_SECRET}x`] }) && !check(header, { secrets: [] }));
});

test('one of several signatures by one of two secrets is enough', () => {
  const other = `whsec_${'o7'.repeat(16)}`;
  const [time = '', good = ''] = signatureOf(BODY, NOW).split(',');
  const wrong = `v1=${'0'.repeat(64)}`;
  assert.ok(check(`${time},${wrong},${good}`) && check(`${time},${good},v0=abc,${wrong}`));
  assert.ok(check(signatureOf(BODY, NOW, other), { secrets: [STRIPE_SECRET, other] }));
  assert.ok(check(signatureOf(BODY, NOW), { secrets: [other, STRIPE_SECRET] }));
});

test('headers of another form are refused', () => {
  const [time = '', good = ''] = signatureOf(BODY, NOW).split(',');
  const many = Array.from({ length: 11 }, () => good).join(',');
  const wrong = [
    '',
    'x',
    time,
    good,
    `${time},${time},${good}`,
    `t=,${good}`,
    `t=1e12,${good}`,
    `${time},v0=${good.slice(3)}`,
  ];
  const upper = `${time},v1=${good.slice(3).toUpperCase()}`;
  for (const header of [...wrong, upper, `${time},${many}`, `${time},${good}${' '.repeat(5000)}`]) {
    assert.ok(!check(header), header.slice(0, 100));
  }
  fc.assert(
    fc.property(fc.string(), (text) => assert.ok(!check(text) && !check(`${time},v1=${text}`))),
    { numRuns: 100 },
  );
});
