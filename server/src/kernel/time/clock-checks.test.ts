import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../base/clock.ts';
import { ClockChecks } from './clock-checks.ts';

const AT = Date.UTC(2026, 10, 1);

/** A clock, and the elapsed time independent of it. */
class Wall {
  elapsed = 5000;
  wrongBy = 0;
  readonly checks = new ClockChecks(HOUR_MS);

  get now() {
    return { time: AT + this.elapsed + this.wrongBy, elapsed: this.elapsed };
  }

  /** Lets time pass and adds a look every minute. */
  pass(ms: number): void {
    for (const end = this.elapsed + ms; this.elapsed < end; this.checks.add(this.now)) this.elapsed += MINUTE_MS;
  }

  cutoff(waitMs = HOUR_MS): number | null {
    return this.checks.cutoff(this.now, waitMs);
  }
}

describe('checks the clock', () => {
  test('nothing may be removed before the second look; then what was over at the first', () => {
    const wall = new Wall();
    assert.equal(wall.checks.hasOne(wall.elapsed, HOUR_MS), false);
    assert.equal(wall.cutoff(), null);
    wall.checks.add(wall.now);
    const first = wall.now.time;
    wall.pass(HOUR_MS - MINUTE_MS);
    assert.equal(wall.cutoff(), null);
    wall.pass(MINUTE_MS);
    assert.equal(wall.checks.hasOne(wall.elapsed, HOUR_MS), true);
    assert.equal(wall.cutoff(), first);
    wall.pass(30 * MINUTE_MS);
    assert.equal(wall.cutoff(), first + 30 * MINUTE_MS, 'it goes on with the clock, an hour behind it');
    assert.equal(wall.cutoff(0), wall.now.time, 'what needs one look alone gets the present');
  });

  test('a clock that is ahead for a moment, at either end of the hour, gives no later cutoff', () => {
    const wall = new Wall();
    wall.checks.add(wall.now);
    const first = wall.now.time;
    wall.pass(HOUR_MS);
    wall.wrongBy = 400 * DAY_MS;
    assert.equal(wall.cutoff(), first, 'ahead now');

    const other = new Wall();
    other.wrongBy = 400 * DAY_MS;
    other.checks.add(other.now);
    other.wrongBy = 0;
    other.elapsed += HOUR_MS;
    assert.equal(other.cutoff(), other.now.time, 'ahead then');
  });

  test('time that only the clock shows is no time that passed', () => {
    const wall = new Wall();
    wall.checks.add(wall.now);
    wall.wrongBy = 400 * DAY_MS;
    assert.equal(wall.cutoff(), null);
    assert.equal(wall.checks.jumpTo(wall.now), 400 * DAY_MS);
    wall.wrongBy = -MINUTE_MS;
    assert.equal(wall.checks.jumpTo(wall.now), -MINUTE_MS);
    wall.checks.clear();
    assert.equal(wall.checks.jumpTo(wall.now), 0);
  });

  test('small steps add up: the clock is held against the oldest look', () => {
    const wall = new Wall();
    wall.checks.add(wall.now);
    for (let step = 0; step < 10; step++) {
      wall.wrongBy += 20_000;
      wall.pass(MINUTE_MS);
    }
    assert.equal(wall.checks.jumpTo(wall.now), 200_000);
  });

  test('looks without end are bounded, and old ones stay for as long as they are needed', () => {
    const wall = new Wall();
    wall.checks.add(wall.now);
    const first = wall.now.time;
    for (let n = 0; n < 20_000; n++) {
      wall.elapsed += 100;
      wall.checks.add(wall.now);
    }
    wall.elapsed = 5000 + HOUR_MS;
    assert.equal(wall.cutoff(), first);
    assert.throws(() => wall.checks.hasOne(wall.elapsed, HOUR_MS + 1), /no look is kept for that long/);
  });
});
