import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readGuidePage } from '../../../../test/support/guide-pages.ts';
import { DAY_MS } from '../../kernel/base/clock.ts';
import { scoreOf, shownRisk, withoutValue } from '../secrets/risk/index.ts';
import { type Facts, POINTS, riskFactorsFor, STALE_AFTER_DAYS, VALUE_BYTES_MIN } from './scoring.ts';

const NOW = 1_000 * DAY_MS;
const SAFE: Facts = {
  now: NOW,
  type: 'password',
  environment: 'development',
  mayRotate: true,
  hasRotation: true,
  valuedAt: NOW,
  endsAt: null,
  readers: 1,
  staleReaders: 0,
  value: { bytes: 32, isCommon: false, secretsWithIt: 1 },
  anomalies: null,
};
const agedDays = (days: number): Partial<Facts> => ({ valuedAt: NOW - days * DAY_MS });
const valued = (more: object): Partial<Facts> => ({ value: { bytes: 32, isCommon: false, secretsWithIt: 1, ...more } });

const rows: [what: string, facts: Partial<Facts>, expected: Record<string, number>][] = [
  ['a new, rotated, unshared secret', {}, {}],
  ['89 days', agedDays(89.9), {}],
  ['90 days', agedDays(90), { age: 10 }],
  ['180 days', agedDays(180), { age: 15 }],
  ['a year', agedDays(365), { age: 20 }],
  ['a value of tomorrow', agedDays(-1), {}],
  ['no rotation', { hasRotation: false }, { no_rotation: 10 }],
  ['no rotation where there can be none', { hasRotation: false, mayRotate: false }, {}],
  ['5 readers', { readers: 5 }, {}],
  ['6 readers', { readers: 6 }, { readers: 5 }],
  ['25 readers', { readers: 25 }, { readers: 10 }],
  ['100 readers', { readers: 100 }, { readers: 15 }],
  ['10,000 readers', { readers: 10_000 }, { readers: 20 }],
  ['production', { environment: 'production' }, { production: 15 }],
  ['staging', { environment: 'staging' }, {}],
  ['a short password', valued({ bytes: 11 }), { weak_value: 20 }],
  ['a password of 12 bytes', valued({ bytes: 12 }), {}],
  ['a short text that is no password', { ...valued({ bytes: 2 }), type: 'generic' }, {}],
  ['a common value of any type', { ...valued({ isCommon: true }), type: 'generic' }, { weak_value: 20 }],
  ['a value in two secrets', valued({ secretsWithIt: 2 }), { repeated_value: 15 }],
  ['a value that is not compared', { value: null }, {}],
  ['one stale reader', { staleReaders: 1 }, { stale_readers: 5 }],
  ['26 stale readers', { staleReaders: 26 }, { stale_readers: 15 }],
  ['unknown reads', { staleReaders: null }, {}],
  ['a critical anomaly', { anomalies: { points: 20, why: '1 critical anomaly is open.' } }, { open_anomalies: 20 }],
  ['more anomalies than there are points', { anomalies: { points: 140, why: 'Many.' } }, { open_anomalies: 100 }],
  ['an end in 31 days', { endsAt: NOW + 31 * DAY_MS }, {}],
  ['an end in 30 days', { endsAt: NOW + 30 * DAY_MS }, { ends_soon: 5 }],
  ['an end in a week', { endsAt: NOW + 7 * DAY_MS }, { ends_soon: 10 }],
  ['an end in an instant', { endsAt: NOW + 1 }, { ends_soon: 10 }],
  ['an end that is over', { endsAt: NOW }, { ends_soon: 20 }],
  ['anomalies without points', { anomalies: { points: 0, why: '' } }, {}],
];

describe('the factors of a secret', () => {
  for (const [what, facts, expected] of rows) {
    test(what, () => {
      const found = riskFactorsFor({ ...SAFE, ...facts });
      assert.deepEqual(Object.fromEntries(found.map(({ factor, points }) => [factor, points])), expected);
      for (const { why } of found) assert.match(why, /^[A-Z0-9].*\.$/);
    });
  }
});

test('the guide has the points of every factor', () => {
  const page = readGuidePage('risk.md');
  const rowOf = (factor: string) => page.split('\n').find((line) => line.startsWith(`| \`${factor}\` |`)) ?? '';
  for (const [name, points] of Object.entries(POINTS)) {
    const row = rowOf(name === 'age_days' ? 'age' : name);
    const steps: readonly (readonly [number, number])[] = typeof points === 'number' ? [] : points;
    const shown = typeof points === 'number' ? String(points) : steps.map(([, each]) => each).join(', ');
    assert.ok(row.includes(`| ${shown} |`), `${name} has ${shown}`);
    assert.ok(row.includes(steps.map(([atLeast]) => atLeast).join(', ')), `the bounds of ${name}`);
  }
  assert.ok(rowOf('weak_value').includes(`fewer than ${VALUE_BYTES_MIN} bytes`));
  assert.ok(rowOf('stale_readers').includes(`${STALE_AFTER_DAYS} days`));
});

test('the score is the sum, at most 100', () => {
  const worst = riskFactorsFor({
    now: NOW,
    type: 'token',
    environment: 'production',
    mayRotate: true,
    hasRotation: false,
    valuedAt: NOW - 400 * DAY_MS,
    endsAt: NOW - DAY_MS,
    readers: 500,
    staleReaders: 400,
    value: { bytes: 4, isCommon: true, secretsWithIt: 9 },
    anomalies: { points: 20, why: '1 critical anomaly is open.' },
  });
  assert.equal(worst.length, 9);
  assert.equal(scoreOf(worst), 100);
  assert.equal(scoreOf([]), 0);
});

test('without the right to read the value, nothing is shown that depends on it', () => {
  const factors = riskFactorsFor({ ...SAFE, hasRotation: false, ...valued({ bytes: 4, secretsWithIt: 3 }) });
  assert.equal(shownRisk(factors, true).risk_score, 45);
  const shown = shownRisk(factors, false);
  assert.equal(shown.risk_score, 10);
  assert.deepEqual(
    shown.risk_factors.map(({ factor }) => factor),
    ['no_rotation'],
  );
  assert.deepEqual(shown.risk_factors, withoutValue(factors));
});
