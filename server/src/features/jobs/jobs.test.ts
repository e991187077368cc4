import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { KEEPING } from '../../../../test/support/clocked.ts';
import { addPerson, addTenant, ok } from '../../../../test/support/people.ts';
import { newMigratedDatabase } from '../../../../test/support/postgres.ts';
import { onBothDatabases, type Service, startService } from '../../../../test/support/service.ts';
import { until } from '../../../../test/support/until.ts';
import { startNodeBeside } from '../../../../test/support/vaults.ts';
import { HOUR_MS } from '../../kernel/base/clock.ts';
import { type Job, JobRunner } from '../../kernel/jobs/job-runner.ts';

/** It removes nothing, so it runs at once. */
const JOB = 'verify-audit';
const RUN = `/admin/jobs/${JOB}/run`;

onBothDatabases('the list of jobs', (kind, { rule }) => {
  let service: Service;
  let databaseUrl: string | undefined;
  before(async () => {
    databaseUrl = kind === 'postgres' ? await newMigratedDatabase() : undefined;
    service = await startService(kind, databaseUrl === undefined ? {} : { databaseUrl });
  });
  after(() => service.close());

  const jobOf = async (of = service, name = JOB) => {
    const { jobs } = await ok(of.call('GET', '/admin/jobs'));
    const found = jobs.find((job: { name: string }) => job.name === name);
    assert.ok(found !== undefined, name);
    return found;
  };
  const ranOnce = () => until('the job has not run', async () => (await jobOf()).runs > 0);

  test('has every job in order, with its last and next run', async () => {
    await ranOnce();
    const { jobs } = await ok(service.call('GET', '/admin/jobs'));
    const names: string[] = jobs.map(({ name }: { name: string }) => name);
    assert.deepEqual(names, names.toSorted());
    assert.ok(names.includes('forget-nodes'));
    const job = await jobOf();
    assert.deepEqual([job.is_removing, job.last_outcome, job.last_error], [false, 'success', null]);
    assert.ok(Date.parse(job.last_started_at) <= Date.parse(job.last_finished_at));
    assert.equal(Date.parse(job.next_run_at) - Date.parse(job.last_finished_at), job.interval_seconds * 1000);
    assert.equal((await jobOf(service, 'forget-nodes')).is_removing, true);
  });

  rule('those that remove nothing are what is written down, because they run whatever the clock says', async () => {
    const { jobs } = await ok(service.call('GET', '/admin/jobs'));
    const keeping = jobs.filter((job: { is_removing: boolean }) => !job.is_removing);
    const names = keeping.map(({ name }: { name: string }) => name);
    assert.deepEqual(names, KEEPING, 'KEEPING in test/support/clocked.ts, in order of the names');
  });

  test('a job runs now when somebody says so, and the audit log says who', async () => {
    await ranOnce();
    const { runs } = await jobOf();
    const answer = await ok(service.call('POST', RUN));
    assert.deepEqual([answer.name, answer.next_run_at], [JOB, null]);
    await until('it has not run again', async () => (await jobOf()).runs === runs + 1);
    const { entries } = await ok(service.call('GET', '/v1/audit?action=jobs:run'));
    assert.deepEqual(
      entries.map((entry: { resource: string; decision: string }) => [entry.resource, entry.decision]),
      [[`job/${JOB}`, 'allow']],
    );
  });

  test('what the last failure said stays, in one line, when a later run succeeds', async () => {
    await ranOnce();
    service.expectErrorLogs(/a job failed/);
    const { kernel } = service.app;
    const failing: Job = {
      name: JOB,
      intervalMs: HOUR_MS,
      removes: 'nothing',
      run: () => Promise.reject(new Error(`the disk is full\nat a place ${'x'.repeat(1000)}`)),
    };
    const ahead = { now: () => kernel.clock.now() + 2 * HOUR_MS };
    assert.deepEqual(await new JobRunner({ ...kernel, clock: ahead, jobs: [failing] }).runDue(), [JOB]);
    const failed = await jobOf();
    assert.deepEqual([failed.last_outcome, failed.last_error], ['failure', 'the disk is full']);
    await ok(service.call('POST', RUN));
    await until('it did not succeed again', async () => (await jobOf()).last_outcome === 'success');
    assert.equal((await jobOf()).last_error, 'the disk is full');
  });

  test('is for the operator alone, and only somebody who may change things runs one', async () => {
    const tenant = await addTenant(service);
    const auditor = await addPerson(service, { role: 'auditor' });
    for (const [method, path] of [
      ['GET', '/admin/jobs'],
      ['POST', RUN],
    ] as const) {
      const { status, body } = await service.call(method, path, { token: tenant.owner.token });
      assert.deepEqual([status, body.error.code], [403, 'INSUFFICIENT_PRIVILEGE']);
    }
    assert.equal((await service.call('GET', '/admin/jobs', { token: auditor.token })).status, 200);
    assert.equal((await service.call('POST', RUN, { token: auditor.token })).status, 403);
    const checks = [{ action: 'jobs:list', resource: 'job' }];
    const capable = async (token: string) =>
      (await ok(service.call('POST', '/auth/capabilities', { token, body: { checks } }))).allowed;
    assert.deepEqual(await capable(tenant.owner.token), [false], 'the console must not offer it');
    assert.deepEqual(await capable(auditor.token), [true]);
  });

  test('a job that there is not is absent, and a name that can be none is malformed', async () => {
    assert.equal((await service.call('POST', '/admin/jobs/no-such-job/run')).status, 404);
    assert.equal((await service.call('POST', '/admin/jobs/No%20Job/run')).status, 422);
  });

  if (kind === 'postgres') {
    test('shows on one node what ran on another', async () => {
      assert.ok(databaseUrl !== undefined);
      await ranOnce();
      const beside = await startNodeBeside(service, databaseUrl);
      try {
        const { runs } = await jobOf(beside);
        await ok(beside.call('POST', RUN));
        await until('no node ran it', async () => (await jobOf(service)).runs > runs);
        assert.deepEqual(await jobOf(beside), await jobOf(service));
      } finally {
        await beside.close();
      }
    });
  }
});
