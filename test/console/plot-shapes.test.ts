import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { binsOf, periodOf } from '../../console/src/audit/histogram-spans.ts';
import { area, chooseScale, curve, type Point, roundedUp, shareOf } from '../../console/src/plots/scale.ts';
import { peakOf, queryOf, spansOf, totalsOf } from '../../console/src/start/activity-spans.ts';
import { weeksFrom } from '../../console/src/start/weeks.ts';

describe('the scale of a plot', () => {
  test('is a square root where one count would flatten the others', () => {
    const usual = Array.from({ length: 29 }, (_, i) => 40 + (i % 12));
    assert.equal(chooseScale(usual), 'linear');
    assert.equal(chooseScale([...usual, 900]), 'root');
    assert.equal(chooseScale([]), 'linear');
    assert.equal(shareOf(25, 100, 'root'), 0.5);
    assert.equal(shareOf(25, 100), 0.25);
    assert.equal(shareOf(5, 0), 0);
  });

  test('ends at a round number that no count exceeds', () => {
    assert.deepEqual([0, 1, 3, 9, 21, 24, 101, 2401].map(roundedUp), [1, 1, 5, 10, 25, 25, 200, 2500]);
    fc.assert(fc.property(fc.integer({ min: 0, max: 1e9 }), (count) => roundedUp(count) >= count));
  });
});

/** The ends and control points of a curve, in order. */
const numbersIn = (path: string) => (path.match(/-?\d+(?:\.\d+)?/g) ?? []).map(Number);

describe('the curve of a plot', () => {
  test('stays between the counts that it joins', () => {
    const counts = fc.array(fc.integer({ min: 0, max: 1000 }), { minLength: 2, maxLength: 60 });
    fc.assert(
      fc.property(counts, (values) => {
        const points = values.map((y, x): Point => [x * 10, y]);
        const ys = numbersIn(curve(points)).filter((_, i) => i % 2 === 1);
        for (let i = 1; i < values.length; i++) {
          const [from, to] = [Number(values[i - 1]), Number(values[i])];
          for (const y of ys.slice(3 * i - 2, 3 * i + 1))
            assert.ok(
              y >= Math.min(from, to) - 0.01 && y <= Math.max(from, to) + 0.01,
              `${y} between ${from} and ${to}`,
            );
        }
      }),
    );
  });

  test('of nothing is nothing', () => {
    assert.equal(curve([]), '');
    assert.equal(area([], 60), '');
  });
});

describe('spans of activity', () => {
  const now = Date.parse('2026-11-18T14:20:00.000Z');
  const counts = { reads: 3, changes: 1, other: 0, denied: 2, failed: 0 };

  test('hours in which nothing happened are there, and the last one is this hour', () => {
    const { from, to } = queryOf('day', now);
    assert.deepEqual([from, to], ['2026-11-17T15:00:00.000Z', '2026-11-18T15:00:00.000Z']);
    assert.equal(queryOf('day', now, 1).to, from);
    const spans = spansOf({ to, spans: [{ start: '2026-11-18T03:00:00.000Z', ...counts }] }, 'day');
    assert.equal(spans.length, 24);
    assert.deepEqual(spans.find(({ counts: { reads } }) => reads > 0)?.from, new Date('2026-11-18T03:00:00.000Z'));
  });

  test('longer periods add hours up', () => {
    const { to } = queryOf('week', now);
    const at = (hour: string) => ({ start: `2026-11-18T${hour}:00:00.000Z`, ...counts });
    const spans = spansOf({ to, spans: [at('11'), at('12'), at('13'), at('14')] }, 'week');
    assert.equal(spans.length, 42);
    assert.equal(spans.at(-1)?.counts.reads, 12);
  });

  test('a period that was not counted from its beginning is compared with nothing', () => {
    const answer = { ...queryOf('day', now), spans: [], most_active: [], counted_until: null, next_cursor: null };
    assert.equal(totalsOf({ ...answer, counted_since: null }), null);
    assert.equal(totalsOf({ ...answer, counted_since: '2026-11-18T00:00:00.000Z' }), null);
    assert.equal(totalsOf({ ...answer, counted_since: '2026-11-01T00:00:00.000Z' })?.reads, 0);
  });

  test('a peak is named only if it stands out', () => {
    assert.equal(peakOf([0, 1, 0, 21, 0, 0, 0, 1]), 21);
    assert.equal(peakOf([10, 12, 11, 10]), null);
    assert.equal(peakOf([0, 0, 1, 0]), null);
    assert.equal(peakOf([]), null);
  });
});

test('the calendar begins with the Monday of this week, also across the end of a month or of summer time', () => {
  for (const today of [new Date(2026, 10, 18), new Date(2026, 10, 29), new Date(2026, 9, 26), new Date(2027, 0, 1)]) {
    const days = weeksFrom(today).flat();
    assert.equal(days.length, 28);
    assert.equal(days[0]?.getDay(), 1);
    assert.ok(days.slice(0, 7).some((day) => day.toDateString() === today.toDateString()));
    assert.equal(new Set(days.map((day) => day.toDateString())).size, 28);
  }
});

describe('the histogram of the audit log', () => {
  const now = Date.parse('2026-11-18T14:20:00.000Z');
  const counts = { reads: 2, changes: 1, other: 5, denied: 1, failed: 1 };

  test('has hours of a day unless the filter names a time, minutes of a short one, and is bounded', () => {
    assert.deepEqual(periodOf({}, now), {
      from: Date.parse('2026-11-17T14:00:00.000Z'),
      to: Date.parse('2026-11-18T15:00:00.000Z'),
      span: 'hour',
    });
    assert.equal(periodOf({ from: '2026-11-18T13:00:00.000Z' }, now).span, 'minute');
    const long = periodOf({ from: '2020-01-01' }, now);
    assert.equal((long.to - long.from) / 3_600_000, 960);
    const backwards = periodOf({ from: '2030-01-01', to: '2026-11-18' }, now);
    assert.ok(backwards.from < backwards.to);
  });

  test('joins neighbours where there are many, and counts look-ups only if they are listed', () => {
    const period = periodOf({ from: '2026-11-08T00:00:00.000Z', to: '2026-11-18T00:00:00.000Z' }, now);
    const bins = binsOf(period, [{ start: '2026-11-08T01:00:00.000Z', ...counts }], false);
    assert.equal(bins.length, 80);
    assert.deepEqual([bins[0]?.allowed, bins[0]?.refused], [3, 2]);
    assert.equal(binsOf(period, [{ start: '2026-11-08T01:00:00.000Z', ...counts }], true)[0]?.allowed, 8);
    assert.equal(bins.at(-1)?.to, period.to);
  });
});
