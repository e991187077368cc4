import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addAuthenticator, describeConsole, forgive, requireAccessible } from '../support/console.ts';
import { firstPasskey, signIn as signInBy } from '../support/passkeys.ts';
import { approve, ok } from '../support/people.ts';
import { onClientDatabases } from '../support/service.ts';
import { addSecret, addVault } from '../support/vaults.ts';

const DAY_MS = 24 * 3_600_000;

onClientDatabases('fortress secrets in the console', (database) => {
  describeConsole(database, (world, inConsole) => {
    test(
      'a new factor does not open one; the person asks, and administrators see it and trust it',
      inConsole(async (console) => {
        const { page, open, signIn } = console;
        const { service } = world();
        const admins = [await world().person('admin'), await world().person('admin')] as const;
        const passkeys = [
          (await firstPasskey(service, admins[0])).passkey,
          (await firstPasskey(service, admins[1])).passkey,
        ] as const;
        service.clock.advance(DAY_MS);
        const vault = await addVault(service);
        const reader = await world().person('member');
        const looker = await world().person('admin');
        await ok(
          service.call('POST', `/v1/vaults/${vault}/members`, { body: { user: reader.email, role: 'writer' } }),
          201,
        );
        const proven = await signInBy(service, passkeys[0]);
        await addSecret(service, vault, 'gold', { value: 'bar of gold', protection: 'fortress' }, proven);

        await page.clock.setSystemTime(Date.now() + DAY_MS);
        // Whoever has no factor is told what it takes, where they make such a secret and where they cannot read it.
        await open(`/vaults/${vault}?open=new`);
        await signIn(reader);
        await page.getByLabel('Fortress', { exact: true }).check();
        await page.getByText('You have no second factor yet. It opens fortress secrets a day after').waitFor();
        const save = page.getByRole('dialog').getByRole('button', { name: 'Save' });
        assert.equal(await save.getAttribute('aria-disabled'), 'true', 'it would be refused');
        await requireAccessible(page);
        await page.getByLabel('Fortress', { exact: true }).uncheck();
        await page.getByText('You cannot write a fortress secret yet').waitFor({ state: 'detached' });
        assert.equal(await save.getAttribute('aria-disabled'), 'false');
        await open(`/vaults/${vault}/secret/gold`);
        await page.getByText('you are asked for a second factor before you see or copy it').waitFor();
        const reveal = page.getByRole('button', { name: 'Hold to reveal' });
        await reveal.hover();
        await page.mouse.down();
        await page.getByRole('link', { name: 'Add a second factor' }).waitFor();
        await page.mouse.up();
        assert.equal(await page.getByRole('dialog').count(), 0, 'to ask for a factor would not help');
        assert.equal(await page.getByText('mTLS').count(), 0);
        assert.equal(await page.getByText('Keep the button pressed to see the value.').count(), 0);
        await page.getByRole('link', { name: 'Add a second factor' }).click();

        await addAuthenticator(page);
        await page.getByRole('button', { name: 'Add a passkey' }).click();
        await page.getByLabel('Name', { exact: true }).last().fill('phone');
        await page.getByRole('dialog').getByRole('button', { name: 'Add a passkey' }).click();
        await page.getByText('phone is added.').waitFor();
        await page.getByRole('button', { name: 'Later' }).click();
        await open(`/vaults/${vault}/secret/gold`);
        await reveal.focus();
        await page.keyboard.press('Enter');
        await page.getByText('Your second factors are less than a day old.').waitFor();
        await page.getByText('The passkey phone opens fortress secrets').waitFor();
        await requireAccessible(page);
        const ask = page.getByRole('button', { name: 'Ask the administrators to trust it' });
        await ask.click();
        await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
        await page.getByRole('dialog').waitFor({ state: 'detached' });
        assert.equal(await page.getByText(/req_/).count(), 0, 'who cancelled knows why nothing happened');
        await ask.click();
        await page.getByRole('dialog').getByRole('button', { name: 'Use a passkey' }).click();
        await page.getByText('Your request waits for the administrators.').waitFor();
        forgive(console, /403/);

        const other = await world().newPage();
        await other.open(`/people/${reader.id}`);
        await other.signIn(looker);
        await other.page.getByText('asks that their new second factor opens fortress secrets').waitFor();
        await other.page.getByRole('button', { name: 'Trust new second factor' }).waitFor();
        await requireAccessible(other.page);
        await other.page.getByRole('link', { name: 'See the request and decide' }).click();
        await other.page.getByRole('heading', { name: /^Trust the new second factors of / }).waitFor();
        await other.page.getByText('Another owner or admin: not decided yet').waitFor();
        // Whoever has no factor of their own cannot approve it.
        await other.page.getByRole('button', { name: 'Approve' }).click();
        await other.page.getByRole('heading', { name: 'Why you cannot approve this yet' }).waitFor();
        await other.page.getByText('You have no second factor yet.').waitFor();
        await requireAccessible(other.page);
        const approvalId = new URL(other.page.url()).hash.split('/').at(-1) as string;
        await other.close();
        for (const passkey of passkeys) await ok(approve(service, approvalId, await signInBy(service, passkey)));
        await reveal.focus();
        await page.keyboard.press('Enter');
        await page.getByText('bar of gold').waitFor();

        // Now they can write one too.
        await open(`/vaults/${vault}?open=new`);
        await page.getByLabel('Path', { exact: true }).fill('silver');
        await page.getByLabel('Value', { exact: true }).fill('bar of silver');
        await page.getByLabel('Fortress', { exact: true }).check();
        await page.getByText('The passkey phone opens fortress secrets').waitFor();
        await save.click();
        await page.getByText('silver is written.').waitFor();
      }),
    );
  });
});
