import assert from 'node:assert/strict';
import { test } from 'node:test';
import { finding, raiseIn } from '../../support/anomalies.ts';
import { describeConsole, forgive, requireAccessible } from '../../support/console.ts';
import { addCluster } from '../../support/fleet.ts';
import { ok } from '../../support/people.ts';
import { recompute } from '../../support/risk.ts';
import { onSqliteAtLanding } from '../../support/service.ts';
import { addSecret, addVault } from '../../support/vaults.ts';

onSqliteAtLanding('what the console explains', (database) => {
  describeConsole(database, (world, inConsole) => {
    test(
      'an anomaly is explained as text, with the pages where it is repaired; who cannot see it is told so',
      inConsole(async ({ page, open, signIn }) => {
        const { service } = world();
        const { tenant } = await ok(service.call('GET', '/auth/me'));
        const vault = await addVault(service);
        const { id: secretId } = await addSecret(service, vault, 'db/password');
        const { id: vaultId } = await ok(service.call('GET', `/v1/vaults/${vault}`));
        const resource = `vault/${vault}/db/password`;
        const observed = { reads_per_hour_last: 412, hour: '2026-11-17T10:00:00.000Z', reads_last_24h: 900 };
        const baseline = { reads_per_hour_p95: 40 };
        const about = { resource, vaultId, secretId, observed, baseline };
        await raiseIn(service, tenant.id, 'unusual_access_pattern', finding(about));
        await open('/anomalies');
        await signIn(await world().person());
        await page.getByRole('link', { name: 'Unusual reads' }).click();
        await page.getByText('See who read which secrets.').waitFor();
        await page.getByText('Reads in an hour', { exact: true }).waitFor();
        await page.getByText('usually at most').waitFor();
        await requireAccessible(page);
        await page.getByText('As requests, for programs').click();
        await page.getByText(/GET \/v1\/audit/).waitFor();
        const address = String(await page.evaluate('location.hash'));
        await page.getByRole('link', { name: 'Open the secret' }).click();
        await page.getByRole('heading', { name: 'db/password' }).waitFor();

        const member = await world().newPage();
        await member.open(address.slice(1));
        await member.signIn(await world().person('member'));
        await member.page.getByRole('heading', { name: 'There is no such anomaly' }).waitFor();
        await requireAccessible(member.page);
        await member.open('/anomalies');
        await member.page.getByText('Nothing that you may see.').waitFor();
        forgive(member, /403/);
        assert.deepEqual(member.complaints, []);
        await member.close();
      }),
    );

    test(
      'an attack path marks its weakest step and leads to the secret; a new cluster says how it is started',
      inConsole(async ({ page, open, signIn }) => {
        const { service } = world();
        const person = await world().person();
        const vault = await addVault(service);
        await addSecret(service, vault, 'db/password');
        await recompute(service);
        await open('/attack-paths');
        await signIn(person);
        await page.getByText('weakest step', { exact: true }).first().waitFor();
        await requireAccessible(page);
        await page.setViewportSize({ width: 390, height: 844 });
        assert.equal(await page.evaluate('document.documentElement.scrollWidth'), 390);
        await page
          .getByRole('link', { name: `${vault}/db/password` })
          .first()
          .click();
        await page.getByRole('heading', { name: 'db/password' }).waitFor();

        const { id, name } = await addCluster(service);
        await open(`/clusters/${id}`);
        await page.getByRole('heading', { name: 'What to do next' }).waitFor();
        await page.getByText(`clusterId=${id}`).waitFor();
        await requireAccessible(page);
        await open('/clusters');
        await page.getByRole('row', { name }).getByText('never reported').waitFor();
      }),
    );
  });
});
