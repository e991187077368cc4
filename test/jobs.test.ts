import assert from 'node:assert/strict';
import { before, beforeEach, test } from 'node:test';
import { pino } from 'pino';
import { DAY_MS, MINUTE_MS } from '../server/src/kernel/base/clock.ts';
import { type Job, JobRunner } from '../server/src/kernel/jobs/job-runner.ts';
import type { Share } from '../server/src/kernel/jobs/share.ts';
import { Metrics } from '../server/src/kernel/observability/metrics.ts';
import type { Database } from '../server/src/kernel/storage/database.ts';
import { ClockGuard, SECOND_CHECK_MS } from '../server/src/kernel/time/clock-guard.ts';
import { savePermission } from '../server/src/kernel/time/operator-permissions.ts';
import { openDatabase } from './support/database.ts';
import { onBothDatabases, TestClock } from './support/service.ts';

onBothDatabases('jobs that remove', (kind) => {
  const metrics = new Metrics();
  let clock: TestClock;
  let database: Database;
  let clockGuard: ClockGuard;
  let logged: { level: number; what_to_do?: string; excess?: object[] }[];
  let cutoffs: number[];
  beforeEach(async () => {
    clock = new TestClock();
    database = await openDatabase(kind);
    logged = [];
    cutoffs = [];
    clockGuard = new ClockGuard({ time: clock, database, log: log(), metrics });
    await clockGuard.check();
  });

  const log = () => pino({ level: 'info' }, { write: (line: string) => void logged.push(JSON.parse(line)) });
  const removing = (share: () => Share[], secondCheckMs = SECOND_CHECK_MS): Job => ({
    name: 'remove',
    intervalMs: MINUTE_MS,
    removes: { secondCheckMs, share: async () => share() },
    run: async (_, cutoff) => void cutoffs.push(cutoff),
  });
  const runner = (job: Job) =>
    new JobRunner({ database, jobs: [job], clock, clockGuard, log: log(), metrics, nodeId: 'node_a' });
  const outcome = async () => {
    const row = await database.read.selectFrom('job_leases').select('last_outcome').executeTakeFirst();
    return row?.last_outcome;
  };
  const shareOf = (expired: number, total: number) => [{ of: 'rows', expired, floor: 10, total: async () => total }];

  test('wait for the second look, and get the time of the first', async () => {
    const first = clock.now();
    const node = runner(removing(() => []));
    clock.advance(SECOND_CHECK_MS - MINUTE_MS);
    assert.deepEqual(await node.runDue(), []);
    assert.equal(await outcome(), undefined, 'nor is the lease taken: a node that looked earlier may run it');
    clock.advance(MINUTE_MS);
    assert.deepEqual(await node.runDue(), ['remove']);
    assert.ok(Math.abs(Number(cutoffs[0]) - first) < 5000);
  });

  test('run at once where one look will do, but not with a wrong clock', async () => {
    const node = runner(removing(() => [], 0));
    if (kind === 'postgres') {
      clock.set({ node: 2 * MINUTE_MS });
      assert.deepEqual(await node.runDue(), []);
      clock.set({});
      await clockGuard.check();
    }
    assert.deepEqual(await node.runDue(), ['remove']);
    assert.ok(Math.abs(Number(cutoffs[0]) - clock.now()) < 5000);
  });

  test('beyond their share they remove nothing until an operator allows one run', async () => {
    let expired = 11;
    const node = runner(removing(() => shareOf(expired, 100)));
    clock.advance(SECOND_CHECK_MS);
    assert.deepEqual(await node.runDue(), ['remove']);
    assert.deepEqual([cutoffs.length, await outcome()], [0, 'refused']);
    const [line] = logged.filter((one) => one.what_to_do !== undefined);
    assert.match(String(line?.what_to_do), /coffer server allow-purge remove$/);
    assert.deepEqual(line?.excess, [{ of: 'rows', expired: 11, total: 100, allowed: 10 }]);
    assert.match(await metrics.registry.metrics(), /cv_job_removal_refused\{job="remove"\} 1/);

    const allow = (subject: string, ms: number) =>
      database.transaction((tx) =>
        savePermission(tx, { subject, given_at: clock.now(), valid_until: clock.now() + ms }),
      );
    await allow('another', DAY_MS);
    await allow('remove', 2 * MINUTE_MS);
    clock.advance(2 * SECOND_CHECK_MS);
    await node.runDue();
    assert.equal(cutoffs.length, 0, 'a word for another job, or one that is over');

    await allow('remove', DAY_MS);
    clock.advance(MINUTE_MS + 1);
    await node.runDue();
    assert.deepEqual([cutoffs.length, await outcome()], [1, 'success']);
    assert.match(await metrics.registry.metrics(), /cv_job_removal_refused\{job="remove"\} 0/);
    clock.advance(MINUTE_MS + 1);
    await node.runDue();
    assert.deepEqual([cutoffs.length, await outcome()], [1, 'refused'], 'for one run');
    expired = 10;
    clock.advance(MINUTE_MS + 1);
    await node.runDue();
    assert.equal(cutoffs.length, 2, 'within its share it needs no word');
  });

  test('one that fails to count its share removes nothing', async () => {
    const job = removing(() => {
      throw new Error('not counted');
    });
    clock.advance(SECOND_CHECK_MS);
    await runner(job).runDue();
    assert.deepEqual([cutoffs.length, await outcome()], [0, 'failure']);
  });
});

onBothDatabases('jobs', (kind) => {
  const clock = new TestClock();
  const log = pino({ level: 'silent' });
  let database: Database;
  before(async () => {
    database = await openDatabase(kind);
  });

  const runner = (nodeId: string, jobs: Job[], metrics = new Metrics(), leases = database) =>
    new JobRunner({
      database: leases,
      jobs,
      clock,
      clockGuard: new ClockGuard({ time: clock, database, log, metrics }),
      log,
      metrics,
      nodeId,
    });

  test('to find that none is due takes one query, however many there are', async () => {
    const jobs = Array.from(
      { length: 30 },
      (_, i): Job => ({ name: `idle-${i}`, intervalMs: MINUTE_MS, removes: 'nothing', run: async () => {} }),
    );
    assert.equal((await runner('node_a', jobs).runDue()).length, jobs.length);
    const used: PropertyKey[] = [];
    const watched = new Proxy(database, {
      get(target, name) {
        used.push(name);
        const value = Reflect.get(target, name, target);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
    assert.deepEqual(await runner('node_b', jobs, new Metrics(), watched).runDue(), []);
    assert.deepEqual(used, ['read']);
  });

  test('a due job runs once on any number of nodes, and again when due again', async () => {
    let runs = 0;
    const job: Job = { name: 'count', intervalMs: MINUTE_MS, removes: 'nothing', run: async () => void runs++ };
    const nodes = ['a', 'b', 'c', 'd'].map((id) => runner(`node_${id}`, [job]));
    await Promise.all(nodes.map((node) => node.runDue()));
    assert.equal(runs, 1);
    await Promise.all(nodes.map((node) => node.runDue()));
    assert.equal(runs, 1, 'not due yet');
    clock.advance(MINUTE_MS + 1);
    await Promise.all(nodes.map((node) => node.runDue()));
    assert.equal(runs, 2);
  });

  test('a job whose node died is run by another once the lease is over, not before', async () => {
    const started = Promise.withResolvers<void>();
    const finish = Promise.withResolvers<void>();
    const stuck: Job = {
      name: 'stuck',
      intervalMs: MINUTE_MS,
      removes: 'nothing',
      run: () => {
        started.resolve();
        return finish.promise;
      },
    };
    const dying = runner('node_dying', [stuck]).runDue();
    await started.promise;
    let rescued = 0;
    const rescuer = runner('node_rescuer', [{ ...stuck, removes: 'nothing', run: async () => void rescued++ }]);
    await rescuer.runDue();
    assert.equal(rescued, 0);
    clock.advance(MINUTE_MS + 1);
    await rescuer.runDue();
    assert.equal(rescued, 1);
    finish.resolve();
    await dying;
    const row = await database.read
      .selectFrom('job_leases')
      .selectAll()
      .where('job', '=', 'stuck')
      .executeTakeFirstOrThrow();
    assert.equal(row.node_id, 'node_rescuer', 'the one presumed dead does not write over its successor');
    assert.equal(row.runs, 1);
  });

  test('what a clock that was far ahead has set is not believed; a little ahead is', async () => {
    let runs = 0;
    const job: Job = { name: 'ahead', intervalMs: MINUTE_MS, removes: 'nothing', run: async () => void runs++ };
    const nodes = ['a', 'b', 'c'].map((id) => runner(`node_${id}`, [job]));
    const runAll = () => Promise.all(nodes.map((node) => node.runDue()));
    clock.advance(40 * DAY_MS);
    await runAll();
    clock.advance(-40 * DAY_MS);
    await runAll();
    assert.equal(runs, 2, 'set back by weeks it runs at once, and once');
    clock.advance(DAY_MS / 2);
    await runAll();
    clock.advance(-DAY_MS / 2);
    await runAll();
    assert.equal(runs, 3, 'set back by hours it waits: nodes whose clocks differ must not take turns for ever');
  });

  test('a failure is counted, waits for its next turn, and leaves other jobs alone', async () => {
    const metrics = new Metrics();
    let others = 0;
    const failing: Job = {
      name: 'failing',
      intervalMs: MINUTE_MS,
      removes: 'nothing',
      run: () => Promise.reject(new Error('no')),
    };
    const other: Job = { name: 'other', intervalMs: MINUTE_MS, removes: 'nothing', run: async () => void others++ };
    assert.deepEqual(await runner('node_e', [failing, other], metrics).runDue(), ['failing', 'other']);
    assert.equal(others, 1);
    const text = await metrics.registry.metrics();
    assert.match(text, /cv_job_runs_total\{job="failing",outcome="failure"\} 1/);
    assert.match(text, /cv_job_runs_total\{job="other",outcome="success"\} 1/);
    assert.deepEqual(await runner('node_f', [failing], metrics).runDue(), []);
  });
});
