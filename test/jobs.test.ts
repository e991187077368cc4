import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { pino } from 'pino';
import { DAY_MS, MINUTE_MS } from '../server/src/kernel/clock.ts';
import { type Job, JobRunner } from '../server/src/kernel/jobs/job-runner.ts';
import { Metrics } from '../server/src/kernel/observability/metrics.ts';
import type { Database } from '../server/src/kernel/storage/database.ts';
import { ClockGuard } from '../server/src/kernel/time/clock-guard.ts';
import { openDatabase } from './support/database.ts';
import { onBothDatabases, TestClock } from './support/service.ts';

onBothDatabases('jobs', (kind) => {
  const clock = new TestClock();
  const log = pino({ level: 'silent' });
  let database: Database;
  before(async () => {
    database = await openDatabase(kind);
  });

  const runner = (nodeId: string, jobs: Job[], metrics = new Metrics()) =>
    new JobRunner({
      database,
      jobs,
      clock,
      clockGuard: new ClockGuard({ time: clock, database, log, metrics }),
      log,
      metrics,
      nodeId,
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
    let finish = () => {};
    const stuck: Job = {
      name: 'stuck',
      intervalMs: MINUTE_MS,
      removes: 'nothing',
      run: () =>
        new Promise<void>((resolve) => {
          finish = resolve;
        }),
    };
    const dying = runner('node_dying', [stuck]).runDue();
    while (finish.toString() === '() => {}') await new Promise((resolve) => setTimeout(resolve, 5));
    let rescued = 0;
    const rescuer = runner('node_rescuer', [{ ...stuck, removes: 'nothing', run: async () => void rescued++ }]);
    await rescuer.runDue();
    assert.equal(rescued, 0);
    clock.advance(MINUTE_MS + 1);
    await rescuer.runDue();
    assert.equal(rescued, 1);
    finish();
    await dying;
    const row = await database.read
      .selectFrom('job_leases')
      .selectAll()
      .where('job', '=', 'stuck')
      .executeTakeFirstOrThrow();
    assert.equal(row.owner, 'node_rescuer', 'the one presumed dead does not write over its successor');
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
