import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addPast, eachHour, finding, raiseIn } from '../support/anomalies.ts';
import { describeConsole, requireAccessible, untilInPage } from '../support/console.ts';
import { addPerson, addTenant, ok, uniqueName } from '../support/people.ts';
import { onSqliteAtLanding } from '../support/service.ts';
import { addSecret, addVault, secretUrl } from '../support/vaults.ts';

onSqliteAtLanding('plots of the console', (database) => {
  describeConsole(database, (world, inConsole) => {
    const readSecret = async (times: number) => {
      const { service } = world();
      const vault = uniqueName('vault');
      await ok(service.call('POST', '/v1/vaults', { body: { name: vault } }), 201);
      const body = { path: 'db/password', value: 'swordfish-17' };
      await ok(service.call('POST', `/v1/vaults/${vault}/secrets`, { body }), 201);
      for (let i = 0; i < times; i++) await ok(service.call('GET', secretUrl(vault, 'db/password')));
      return vault;
    };

    test(
      'the start page draws what happened, has it as a table, and leads to the entries, by keyboard alone',
      inConsole(async ({ page, open, signIn }) => {
        await readSecret(3);
        await open('/');
        await signIn(await world().person());
        const plot = page.getByRole('slider', { name: 'Reads, changes and refusals over time' });
        await plot.waitFor();
        const reading = async () => String(await plot.getAttribute('aria-valuetext'));
        assert.match(await reading(), /: reads [1-9]\d*, changes [1-9]\d*, refusals \d+$/);
        await page.getByText('As a table').click();
        const table = page.getByRole('table', { name: 'Reads, changes and refusals over time' });
        assert.equal(await table.getByRole('row').count(), 25);
        await page.getByRole('heading', { name: 'Most active' }).waitFor();
        await page.getByRole('link', { name: 'admin@localhost' }).waitFor();
        await requireAccessible(page);
        await plot.focus();
        await page.keyboard.press('ArrowLeft');
        assert.match(await reading(), /: reads 0, changes 0, refusals 0$/);
        await page.keyboard.press('End');
        await page.keyboard.press('Enter');
        await page.getByRole('heading', { name: 'Audit log' }).waitFor();
        assert.match(page.url(), /#\/audit\?from=\d{4}-/);
        await page.getByText('Read a secret').first().waitFor();
      }),
    );

    test(
      'other periods are chosen by keyboard, and a phone has room for all of it',
      inConsole(async ({ page, open, signIn }) => {
        await readSecret(1);
        await open('/');
        await signIn(await world().person());
        await page.getByRole('radio', { name: '24 hours' }).focus();
        await page.keyboard.press('ArrowRight');
        await page.getByRole('radio', { name: '7 days', checked: true }).waitFor();
        const plot = page.getByRole('slider');
        await untilInPage(page, `document.querySelector('[role=slider]')?.getAttribute('aria-valuemax') === '41'`);
        assert.match(String(await plot.getAttribute('aria-valuetext')), /reads [1-9]/);
        await page.setViewportSize({ width: 390, height: 844 });
        const width = Number(await page.evaluate('document.documentElement.scrollWidth'));
        assert.ok(width <= 390, `${width} px wide`);
        await requireAccessible(page);
      }),
    );

    test(
      'the audit log draws what its filters find, and what is selected there becomes a filter',
      inConsole(async ({ page, open, signIn }) => {
        const { service } = world();
        const vault = await readSecret(4);
        const member = await world().person('member');
        assert.equal((await service.call('GET', secretUrl(vault, 'db/password'), { token: member.token })).status, 403);
        await open(`/audit?vault=${vault}`);
        await signIn(await world().person());
        const plot = page.getByRole('slider', { name: 'How much was allowed and refused over time' });
        await plot.waitFor();
        // The vault, its secret and four reads.
        await page.getByText('allowed 6', { exact: true }).waitFor();
        await page.getByText('refused or failed 1', { exact: true }).waitFor();
        await requireAccessible(page);
        await page.getByText('As a table').click();
        await page.getByRole('cell', { name: '6', exact: true }).waitFor();
        await plot.focus();
        await page.keyboard.press('End');
        await page.keyboard.press('Shift+ArrowLeft');
        assert.match(String(await plot.getAttribute('aria-valuetext')), / – /);
        await page.keyboard.press('Enter');
        await page.getByText(/^From: /).waitFor();
        assert.match(page.url(), /from=.*to=/);
        // Two hours are drawn by minute.
        await untilInPage(page, `Number(document.querySelector('[role=slider]')?.getAttribute('aria-valuemax')) > 50`);
        await page.getByText('allowed 6', { exact: true }).waitFor();
        await page.getByRole('button', { name: 'Refused', exact: true }).click();
        await page.getByText('allowed 0', { exact: true }).waitFor();
        await page.getByText('refused or failed 1', { exact: true }).waitFor();
        await page.getByRole('button', { name: 'Save this search' }).click();
        await page.getByRole('button', { name: 'Saved; press to delete it' }).waitFor();
        await open('/audit');
        await page.getByRole('link', { name: new RegExp(`Vault: ${vault}, Result: refused`) }).click();
        await page.getByText('refused or failed 1', { exact: true }).waitFor();
        await page.getByRole('button', { name: 'Saved; press to delete it' }).click();
        await page.getByRole('button', { name: 'Save this search' }).waitFor();
        await requireAccessible(page);
      }),
    );

    test(
      'a period is chosen with the pointer too',
      inConsole(async ({ page, open, signIn }) => {
        await readSecret(1);
        await open('/audit');
        await signIn(await world().person());
        const plot = page.getByRole('slider');
        const box = await plot.boundingBox();
        assert.ok(box !== null);
        await page.mouse.move(box.x + box.width * 0.5, box.y + 40);
        await page.mouse.down();
        await page.mouse.move(box.x + box.width * 0.8, box.y + 40);
        await page.mouse.up();
        await page
          .getByText(/^From: /)
          .first()
          .waitFor();
        const query = new URLSearchParams(page.url().split('?')[1]);
        const hours = (Date.parse(String(query.get('to'))) - Date.parse(String(query.get('from')))) / 3_600_000;
        assert.ok(hours >= 6 && hours <= 9, `${hours} hours`);
      }),
    );

    test(
      'a secret and an anomaly show reads beside what is usual, and the unusual hour is marked',
      inConsole(async ({ page, open, signIn }) => {
        const { service } = world();
        const tenant = await addTenant(service, { plan: 'enterprise' });
        const { token } = tenant.owner;
        const vault = await addVault(service, {}, token);
        await addSecret(service, vault, 'db/password', {}, token);
        const resource = `vault/${vault}/db/password`;
        await addPast(service, tenant.id, eachHour(24 * 31 - 1, 3, { resource, reads: 5 }));
        await addPast(service, tenant.id, [{ resource, hoursAgo: 2, reads: 200 }]);
        const { anomalyId } = await raiseIn(service, tenant.id, 'unusual_access_pattern', finding({ resource }));
        await open(`/vaults/${vault}/secret/db/password`);
        await signIn(await addPerson(service, { role: 'admin', tenant }));
        const days = page.getByRole('slider', { name: 'Reads by day, 30 days' });
        await days.waitFor();
        await page.getByText('usual 120 to 120 a day').waitFor();
        await requireAccessible(page);
        await page.getByText('As a table').first().click();
        await page.getByRole('region', { name: 'Reads by day, 30 days' }).getByText('120').first().waitFor();

        await open(`/anomalies/${anomalyId}`);
        const hours = page.getByRole('slider', { name: 'Reads by hour, three days' });
        await hours.focus();
        await page.keyboard.press('ArrowLeft');
        await page.keyboard.press('ArrowLeft');
        assert.match(String(await hours.getAttribute('aria-valuetext')), /: 200 reads, unusual; usual 5 to \d+$/);
        const week = page.getByRole('table', { name: 'What is usual at each hour of the week' });
        assert.equal(await week.getByRole('row').count(), 8);
        await week.getByRole('cell', { name: '5', exact: true }).first().waitFor();
        await requireAccessible(page);
        await page.getByRole('button', { name: 'It was expected' }).click();
        await page.getByText('Dismissed.').waitFor();
        const { status, note } = await ok(service.call('GET', `/anomalies/${anomalyId}`, { token }));
        assert.deepEqual([status, note], ['dismissed', 'It was expected.']);
        await page.setViewportSize({ width: 390, height: 844 });
        assert.equal(await page.evaluate('document.documentElement.scrollWidth'), 390);
        await hours.focus();
        await page.keyboard.press('Enter');
        await page.getByRole('heading', { name: 'Audit log' }).waitFor();
        assert.match(decodeURIComponent(page.url()), new RegExp(`resource=${resource}`));
      }),
    );

    test(
      'a caller without permission to read the audit log sees no activity, and nothing is refused because of it',
      inConsole(async ({ page, open, signIn }) => {
        const vault = await readSecret(1);
        const member = await world().person('member');
        const body = { user: member.id, role: 'reader' };
        await ok(world().service.call('POST', `/v1/vaults/${vault}/members`, { body }), 201);
        await open('/');
        await signIn(member);
        await page.getByRole('heading', { name: 'Rotations and certificates' }).waitFor();
        assert.equal(await page.getByRole('slider').count(), 0);
        assert.equal(await page.getByRole('heading', { name: 'Most active' }).count(), 0);
      }),
    );

    test(
      'another organization’s activity is not drawn',
      inConsole(async ({ page, open, signIn }) => {
        const { service } = world();
        await readSecret(2);
        const tenant = await addTenant(service);
        const person = await addPerson(service, { role: 'admin', tenant });
        await ok(service.call('POST', '/v1/vaults', { token: person.token, body: { name: 'their-own' } }), 201);
        await open('/');
        await signIn(person);
        const plot = page.getByRole('slider');
        await plot.waitFor();
        assert.match(String(await plot.getAttribute('aria-valuetext')), /: reads 0, changes [1-9]/);
        assert.equal(await page.getByRole('link', { name: 'admin@localhost' }).count(), 0);
      }),
    );
  });
});
