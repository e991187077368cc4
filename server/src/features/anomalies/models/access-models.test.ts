import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { DAY_MS, HOUR_MS } from '../../../kernel/base/clock.ts';
import { judge, type ModelMode, sampleOf, type Verdict } from './access-models.ts';
import { emptyHistory, HOURS_PER_DAY, periodUntil, type ResourceHistory } from './resource-history.ts';
import { seededRandom } from './seeded-random.ts';

const NOW = Date.UTC(2026, 10, 16, 12, 30);
const PERIOD = periodUntil(NOW);
const HOURS = 31 * HOURS_PER_DAY;
const WINDOW_START = 30 * HOURS_PER_DAY;
const MODES: readonly ModelMode[] = ['v1', 'shadow', 'v2', 'ensemble'];

/** `reads` says how many there are in an hour, counted from the first one. */
function historyWith(reads: (hour: number) => number): ResourceHistory {
  const history = emptyHistory('vault/a/b', PERIOD);
  for (let hour = 0; hour < HOURS; hour++) {
    history.reads[hour] = reads(hour);
    if (reads(hour) > 0) history.actors[Math.floor(hour / HOURS_PER_DAY)] = 1;
  }
  return history;
}

function judged(mode: ModelMode, reads: (hour: number) => number, threshold?: number, since = 0): Verdict | null {
  return judge(mode, sampleOf(historyWith(reads), since, []), threshold);
}

test('a period is 30 days and the 24 hours that end with the hour that has begun', () => {
  assert.deepEqual(PERIOD, {
    from: Date.UTC(2026, 9, 16, 13),
    windowFrom: Date.UTC(2026, 10, 15, 13),
    to: Date.UTC(2026, 10, 16, 13),
  });
});

describe('v1', () => {
  test('raises from the 95th percentile times the factor on, and never below the floor', () => {
    const spikeOf = (usual: number, spike: number) => (hour: number) => (hour === HOURS - 3 ? spike : usual);
    assert.equal(judged('v1', spikeOf(10, 30))?.isUnusual, false);
    const found = judged('v1', spikeOf(10, 60));
    assert.deepEqual(
      [found?.isUnusual, found?.ratio, found?.readsPerHour, found?.readsPerHourP95, found?.readsPerDay],
      [true, 2, 60, 10, 60 + 23 * 10],
    );
    assert.equal(found?.hour, PERIOD.to - 3 * HOUR_MS);
    assert.equal(judged('v1', spikeOf(0, 20))?.isUnusual, false, 'the floor');
    assert.equal(judged('v1', spikeOf(0, 21))?.isUnusual, true);
  });

  test('hours without reads count as zero', () => {
    // 30 reads in one hour of each day: in most hours nothing, so that the percentile is 0.
    const found = judged('v1', (hour) => (hour % HOURS_PER_DAY === 0 ? 30 : 0));
    assert.equal(found?.readsPerHourP95, 0);
  });

  test('a threshold of the tenant replaces the factor', () => {
    const reads = (hour: number) => (hour === HOURS - 1 ? 60 : 10);
    assert.equal(judged('v1', reads, 7)?.isUnusual, false);
    assert.equal(judged('v1', reads, 5)?.ratio, 1.2);
  });
});

test('fewer than 7 days of history raise nothing, in any model', () => {
  const reads = (hour: number) => (hour >= WINDOW_START ? 10_000 : 0);
  for (const mode of MODES) {
    assert.equal(judged(mode, reads, undefined, PERIOD.windowFrom - 7 * DAY_MS + HOUR_MS), null, mode);
    assert.equal(judged(mode, reads, undefined, PERIOD.windowFrom - 7 * DAY_MS)?.isUnusual, true, mode);
  }
});

test('hours that were found unusual before are not part of the baseline', () => {
  const attacked = 5 * HOURS_PER_DAY;
  const reads = (hour: number) => (hour >= HOURS - attacked ? 100 : 5);
  const history = historyWith(reads);
  const unusual = [{ from: PERIOD.to - attacked * HOUR_MS, to: PERIOD.windowFrom }];
  const at = (parts: typeof unusual) => judge('v1', sampleOf(history, 0, parts), undefined);
  assert.equal(at([])?.readsPerHourP95, 100);
  assert.equal(at([])?.isUnusual, false, 'the attack would become usual');
  assert.equal(at(unusual)?.readsPerHourP95, 5);
  assert.equal(at(unusual)?.isUnusual, true);
});

describe('v2', () => {
  const HOUR_OF_DAY = 12;
  /** Much is read on each working day at the same hour, and little otherwise. */
  const weekly = (hour: number) => {
    const day = Math.floor(hour / HOURS_PER_DAY) % 7;
    return day < 5 && hour % HOURS_PER_DAY === HOUR_OF_DAY ? 200 : 2;
  };

  test('knows the hours of the week in which more is read', () => {
    assert.equal(judged('v2', weekly)?.isUnusual, false);
    // The day of the window is the 30th, of which the number by 7 is 2: a working day. The same reads at another hour are unusual.
    const atNight = (hour: number) => (hour === WINDOW_START + 3 ? 100 : weekly(hour));
    assert.equal(judged('v2', atNight)?.isUnusual, true);
    assert.ok((judged('v2', atNight)?.ratio ?? 0) > 4);
  });

  test('single reads of a secret that nobody reads are noise', () => {
    assert.equal(judged('v2', (hour) => (hour > HOURS - 5 ? 2 : 0))?.isUnusual, false);
  });

  test('reads that vary at random are not unusual', () => {
    const random = seededRandom(7);
    const noise = Array.from({ length: HOURS }, () => Math.round(50 + 14 * (random() + random() + random() - 1.5)));
    assert.equal(judged('v2', (hour) => noise[hour] ?? 0)?.isUnusual, false);
  });

  test('a burst like earlier ones, as by a deployment, is not unusual at another hour; one far above them is', () => {
    const deployed = new Set([100, 250, 420]);
    const lastOf = (reads: number) => (hour: number) => (hour === HOURS - 4 ? reads : deployed.has(hour) ? 40 : 1);
    assert.equal(judged('v2', lastOf(40))?.isUnusual, false);
    assert.equal(judged('v1', lastOf(40))?.isUnusual, true, 'v1 knows no bursts');
    assert.equal(judged('v2', lastOf(100))?.isUnusual, true);
  });

  test('a day with a little more in each hour is unusual as a whole', () => {
    const slow = (hour: number) => (hour >= WINDOW_START ? 12 : 4);
    assert.equal(judged('v1', slow)?.isUnusual, false, 'no hour stands out');
    assert.equal(judged('v2', slow)?.isUnusual, true);
  });
});

describe('more than one model', () => {
  const slow = (hour: number) => (hour >= WINDOW_START ? 12 : 4);
  const burst = (hour: number) => (hour === HOURS - 2 ? 500 : 4);

  test('shadow acts on v1 and says what v2 would have said', () => {
    const found = judged('shadow', slow);
    assert.deepEqual([found?.isUnusual, found?.votes], [false, { v1: false, v2: true, forest: null }]);
    assert.deepEqual(judged('shadow', burst)?.votes, { v1: true, v2: true, forest: null });
  });

  test('ensemble needs two of three, and asks the forest only where the others differ', () => {
    assert.deepEqual(judged('ensemble', burst)?.votes, { v1: true, v2: true, forest: null });
    assert.equal(judged('ensemble', burst)?.isUnusual, true);
    const calm = judged('ensemble', () => 4);
    assert.deepEqual([calm?.isUnusual, calm?.votes], [false, { v1: false, v2: false, forest: null }]);
    // All days before are equal, so a day with three times the reads is alone among them.
    assert.deepEqual(judged('ensemble', slow)?.votes, { v1: false, v2: true, forest: true });
    assert.equal(judged('ensemble', slow)?.isUnusual, true);
    // A weekly peak that v1 takes for a spike, and that is like the days before.
    const peaks = (hour: number) => (hour % HOURS_PER_DAY === 3 ? 90 : 4);
    assert.deepEqual(judged('ensemble', peaks)?.votes, { v1: true, v2: false, forest: false });
    assert.equal(judged('ensemble', peaks)?.isUnusual, false);
  });
});
