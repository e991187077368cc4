import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { pino } from 'pino';
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../../server/src/kernel/base/clock.ts';
import { StartError } from '../../server/src/kernel/base/data-folder.ts';
import { newId } from '../../server/src/kernel/base/ids.ts';
import { Metrics } from '../../server/src/kernel/observability/metrics.ts';
import type { Database } from '../../server/src/kernel/storage/database.ts';
import { SCHEMA_VERSION } from '../../server/src/kernel/storage/schema-version.ts';
import { ClockGuard, refuseWrongStart, SECOND_CHECK_MS } from '../../server/src/kernel/time/clock-guard.ts';
import { CLOCK, savePermission } from '../../server/src/kernel/time/operator-permissions.ts';
import { openDatabase } from '../support/database.ts';
import { behindItsBack } from '../support/rows.ts';
import { type DatabaseKind, onBothDatabases, TestClock } from '../support/service.ts';

interface Line {
  level: number;
  msg: string;
  what_to_do?: string;
}

/** A guard that the test asks itself, on a database of its own. */
async function setUp(kind: DatabaseKind) {
  const clock = new TestClock();
  const database = await openDatabase(kind);
  const metrics = new Metrics();
  const lines: Line[] = [];
  const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const guard = new ClockGuard({ time: clock, database, log, metrics });
  return { clock, database, metrics, lines, guard };
}

type SetUp = Awaited<ReturnType<typeof setUp>>;

async function gauge({ metrics }: SetUp, name: string): Promise<number> {
  const text = await metrics.registry.metrics();
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);
}

/** An audit entry of some tenant, made by a clock that showed this time. */
async function recordAt(database: Database, time: number): Promise<void> {
  const tenant_id = newId('tenant', time);
  await behindItsBack(database, async (db) => {
    await db
      .insertInto('tenants')
      .values({
        tenant_id,
        name: tenant_id,
        status: 'active',
        is_operator: 0,
        plan: 'starter',
        rate_overrides: '{}',
        epoch: 1,
        created_at: time,
      })
      .execute();
    await db
      .insertInto('audit_segments')
      .values({
        tenant_id,
        id: newId('audit', time),
        entries: '[]',
        first_seq: null,
        hashes: null,
        schema_version: SCHEMA_VERSION,
      })
      .execute();
  });
}

onBothDatabases('a clock', (kind) => {
  let it: SetUp;
  beforeEach(async () => {
    it = await setUp(kind);
  });

  test('behind the newest record is said, and nothing may be removed until it has passed that', async () => {
    const { clock, database, guard, lines } = it;
    await recordAt(database, clock.now() - DAY_MS);
    await recordAt(database, clock.now() + 10 * MINUTE_MS);
    await guard.firstCheck();
    assert.equal(await guard.cutoff(0), null);
    guard.refuseWrongClock();
    const [line] = lines;
    assert.match(String(line?.msg), /^the clock is behind the newest record/);
    assert.match(String(line?.what_to_do), /coffer server accept-clock$/);
    assert.equal(await gauge(it, 'cv_clock_trusted'), 0);
    await guard.check();
    assert.equal(lines.length, 1, 'it is said once');

    clock.advance(10 * MINUTE_MS);
    assert.notEqual(await guard.check(), null);
    assert.equal(lines.at(-1)?.msg, 'the clock is right again');
    assert.notEqual(await guard.cutoff(0), null);
    assert.equal(await guard.cutoff(SECOND_CHECK_MS), null, 'the hour begins only now');
    clock.advance(SECOND_CHECK_MS);
    assert.notEqual(await guard.cutoff(SECOND_CHECK_MS), null);
  });

  test('a little behind is usual: nodes differ by seconds', async () => {
    await recordAt(it.database, it.clock.now() + 20 * SECOND_MS);
    await it.guard.firstCheck();
    assert.deepEqual(it.lines, []);
    assert.notEqual(await it.guard.cutoff(0), null);
  });

  test('far ahead of the newest record is said, and refuses nothing: the machine may have been off', async () => {
    await recordAt(it.database, it.clock.now() - 60 * DAY_MS);
    await refuseWrongStart(it.clock, it.database);
    await it.guard.firstCheck();
    assert.match(String(it.lines[0]?.what_to_do), /correct the clock of this machine/);
    assert.equal(await it.guard.cutoff(SECOND_CHECK_MS), null, 'but it waits for the second look');
  });

  test('that an operator accepted is trusted, although something was recorded later; what comes after that counts again', async () => {
    const { clock, database, guard } = it;
    const newest = clock.now() + 400 * DAY_MS;
    await recordAt(database, newest);
    await database.transaction((tx) =>
      savePermission(tx, { subject: CLOCK, given_at: clock.now(), valid_until: newest }),
    );
    await guard.firstCheck();
    assert.notEqual(await guard.cutoff(0), null);

    const again = await setUp(kind);
    await recordAt(again.database, newest + DAY_MS);
    const word = { subject: CLOCK, given_at: clock.now(), valid_until: newest };
    await again.database.transaction((tx) => savePermission(tx, word));
    await again.guard.firstCheck();
    assert.equal(await again.guard.cutoff(0), null, 'it was wrong once more');
  });

  test('that is set, on all machines at once, makes the second look wait for another hour', async () => {
    const { clock, guard, lines } = it;
    await guard.check();
    clock.advance(SECOND_CHECK_MS);
    assert.notEqual(await guard.cutoff(SECOND_CHECK_MS), null);
    clock.set({ node: 40 * DAY_MS, database: 40 * DAY_MS });
    assert.equal(await guard.cutoff(SECOND_CHECK_MS), null);
    assert.match(String(lines.at(-1)?.msg), /^the clock was changed/);
    clock.advance(SECOND_CHECK_MS - MINUTE_MS);
    assert.equal(await guard.cutoff(SECOND_CHECK_MS), null);
    clock.advance(MINUTE_MS);
    assert.notEqual(await guard.cutoff(SECOND_CHECK_MS), null);
    clock.set({});
    assert.equal(await guard.cutoff(SECOND_CHECK_MS), null, 'and so does setting it back');
  });
});

describe('the clock of a node, beside that of PostgreSQL', () => {
  let it: SetUp;
  beforeEach(async () => {
    it = await setUp('postgres');
  });

  test('that is off refuses to start, in either direction, and says both times and what to do', async () => {
    for (const node of [31 * SECOND_MS, -31 * SECOND_MS, 40 * DAY_MS, 400 * DAY_MS, -400 * DAY_MS]) {
      it.clock.set({ node });
      await assert.rejects(refuseWrongStart(it.clock, it.database), (error: Error) => {
        assert.ok(error instanceof StartError);
        const shown = [...error.message.matchAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g)].map(([time]) => Date.parse(time));
        assert.equal(shown.length, 2);
        assert.ok(Math.abs(Number(shown[0]) - Number(shown[1]) - node) < 2 * SECOND_MS, error.message);
        return /Correct the one that is wrong, .* and start again\.$/.test(error.message);
      });
    }
    for (const node of [0, 25 * SECOND_MS, -25 * SECOND_MS]) {
      it.clock.set({ node });
      await refuseWrongStart(it.clock, it.database);
    }
  });

  test('that goes wrong stops what removes and readiness, says so once, and heals by itself', async () => {
    const { clock, guard, lines } = it;
    await guard.check();
    clock.advance(SECOND_CHECK_MS);
    for (const node of [40 * DAY_MS, -40 * DAY_MS]) {
      lines.length = 0;
      clock.set({ node });
      assert.equal(await guard.cutoff(0), null);
      assert.equal(await guard.check(), null);
      assert.throws(() => guard.refuseWrongClock(), /differs from the database’s by more than 30 s/);
      assert.deepEqual(
        lines.map(({ level, what_to_do }) => [level, typeof what_to_do]),
        [[50, 'string']],
      );
      assert.equal(await gauge(it, 'cv_clock_trusted'), 0);
      assert.ok(Math.abs((await gauge(it, 'cv_clock_offset_seconds')) - node / SECOND_MS) < 2);
      clock.set({});
      assert.notEqual(await guard.check(), null);
      guard.refuseWrongClock();
      assert.equal(lines.at(-1)?.msg, 'the clock is right again');
      assert.equal(await gauge(it, 'cv_clock_trusted'), 1);
      assert.equal(await guard.cutoff(SECOND_CHECK_MS), null, 'and removes nothing for another hour');
    }
  });

  test('is found wrong as well if it is the database’s that was set', async () => {
    it.clock.set({ database: 400 * DAY_MS });
    assert.equal(await it.guard.check(), null);
    assert.throws(() => it.guard.refuseWrongClock(), /differs/);
  });

  test('a round trip is halved, and one that takes too long tells nothing', async () => {
    const slow = (tripMs: number, offsetMs: number) =>
      Object.assign(new TestClock(), {
        async ofDatabase(this: TestClock) {
          this.advance(tripMs / 2);
          const now = this.elapsed() + offsetMs;
          this.advance(tripMs / 2);
          return now;
        },
      });
    for (const [tripMs, offsetMs] of [
      [28_000, 0],
      [28_000, 25_000],
      [31_000, 0],
      [HOUR_MS, 400 * DAY_MS],
    ] as const) {
      await refuseWrongStart(slow(tripMs, offsetMs), it.database);
    }
    await assert.rejects(refuseWrongStart(slow(28_000, 31_000), it.database), StartError);
    const log = pino({ level: 'silent' });
    const guard = new ClockGuard({ time: slow(31_000, 0), database: it.database, log, metrics: it.metrics });
    assert.equal(await guard.check(), null, 'nor does it let anything be removed');
    guard.refuseWrongClock();
  });
});
