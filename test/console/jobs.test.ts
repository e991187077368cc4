import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeConsole, requireAccessible } from '../support/console.ts';
import { ok } from '../support/people.ts';
import { onSqliteAtLanding } from '../support/service.ts';
import { until } from '../support/until.ts';
import { auditOf } from '../support/vaults.ts';

const JOB = 'verify-audit';

onSqliteAtLanding('background jobs in the console', (database) => {
  describeConsole(database, (world, inConsole) => {
    const jobOf = async () => {
      const { jobs } = await ok(world().service.call('GET', '/admin/jobs'));
      return jobs.find(({ name }: { name: string }) => name === JOB);
    };

    test(
      'a job is listed with its runs and what failed, and runs now',
      inConsole(async ({ page, open, signIn }) => {
        await until('the job has not run', async () => (await jobOf()).runs > 0);
        const { runs } = await jobOf();
        await world().service.app.kernel.database.transaction((tx) =>
          tx
            .updateTable('job_leases')
            .set({ last_error: 'the disk is full', last_failed_at: 1 })
            .where('job', '=', JOB)
            .execute(),
        );
        await open('/jobs');
        await signIn(await world().person('owner'));
        await page.getByRole('heading', { name: 'Background jobs', level: 1 }).waitFor();
        const row = page.getByRole('row', { name: new RegExp(JOB) });
        await row.getByText('succeeded').waitFor();
        await row.getByText('the disk is full').waitFor();
        await page.getByRole('heading', { name: 'Nodes' }).waitFor();
        await page.getByText('reports itself').first().waitFor();
        await page.getByText(', which wrote this page’s data').waitFor();
        await requireAccessible(page);
        await row.getByRole('button', { name: `Run now: ${JOB}` }).click();
        await page.getByText(`${JOB} runs within seconds.`).waitFor();
        await until('it has not run again', async () => (await jobOf()).runs > runs);
        await page.setViewportSize({ width: 390, height: 844 });
        await row.waitFor();
        assert.equal(await page.evaluate('document.documentElement.scrollWidth'), 390);
        await requireAccessible(page);
      }),
    );

    test(
      'an auditor is offered no run, and a member is told that the page is not for them, without a refused request',
      inConsole(async ({ page, open, signIn }) => {
        const auditor = await world().person('auditor');
        await open('/jobs');
        await signIn(auditor);
        await page.getByRole('row', { name: new RegExp(JOB) }).waitFor();
        assert.equal(await page.getByRole('button', { name: /^Run now/ }).count(), 0);
        const member = await world().newPage();
        const person = await world().person('member');
        await member.open('/jobs');
        await member.signIn(person);
        await member.page.getByRole('heading', { name: 'You may not see this' }).waitFor();
        assert.deepEqual(member.complaints, []);
        await member.close();
        for (const { id } of [auditor, person])
          assert.deepEqual(await auditOf(world().service, `actor=${id}&decision=deny`), []);
      }),
    );
  });
});
