import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeConsole, forgive, requireAccessible } from '../../support/console.ts';
import { onSqliteAtLanding } from '../../support/service.ts';
import { addVault } from '../../support/vaults.ts';

onSqliteAtLanding('the console without a connection', (database) => {
  describeConsole(database, (world, inConsole) => {
    test(
      'one message says that there is none, what was loaded stays, and all else follows by itself',
      inConsole(async (console) => {
        const { page, open, signIn } = console;
        const vault = page.getByText(await addVault(world().service), { exact: true });
        await open('/vaults');
        await signIn(await world().person());
        await vault.waitFor();
        await page.context().setOffline(true);
        await page.getByLabel('Deleted vaults').check();
        const message = page.getByRole('region', { name: 'No connection' });
        await message.waitFor();
        assert.ok(await vault.isVisible());
        assert.equal(await page.getByRole('alert').count(), 0, 'it is said once');
        assert.doesNotMatch(await page.locator('body').innerText(), /localhost|127\.0\.0\.1/);
        await requireAccessible(page);
        // A page whose script was not loaded yet waits too, instead of leaving the console.
        await page.getByRole('link', { name: 'Webhooks', exact: true }).click();
        await message.waitFor();
        await page.context().setOffline(false);
        await page.getByRole('heading', { name: 'Webhooks', exact: true }).waitFor();
        await message.waitFor({ state: 'detached' });
        await page.getByText('No webhooks yet').waitFor();
        forgive(console, /ERR_INTERNET_DISCONNECTED|Failed to (fetch|load)/);
      }),
    );
  });
});
