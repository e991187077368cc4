import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addAuthenticator, describeConsole, forgive, giveCredentials, requireAccessible } from '../support/console.ts';
import { ok, uniqueName } from '../support/people.ts';
import { onSqliteAtLanding } from '../support/service.ts';

/** Passkeys in a real browser, with an authenticator that Chromium simulates. */

onSqliteAtLanding('passkeys in the console', (database) => {
  describeConsole(database, (world, inConsole) => {
    test(
      'sessions are listed, and another one is ended',
      inConsole(async ({ page, open, signIn }) => {
        const person = await world().person();
        const other = await world().newPage();
        await other.open('/');
        await other.signIn(person);
        await open('/me');
        await signIn(person);
        const section = page.getByRole('region', { name: 'Sessions' });
        await section.getByText('this one').waitFor();
        const ends = section.getByRole('button', { name: 'End' });
        for (let left = await ends.count(); left > 0; left--) {
          await ends.first().click();
          await ends.nth(left - 1).waitFor({ state: 'detached' });
        }
        await other.page.getByRole('link', { name: 'Vaults' }).click();
        await other.page.getByText('Your session has ended.').waitFor();
        await other.close();
      }),
    );

    test(
      'a passkey is added, signs in without a name, and opens what needs a second factor',
      inConsole(async (console) => {
        const { page, open, signIn } = console;
        const { service } = world();
        const authenticator = await addAuthenticator(page);
        const person = await world().person();
        await open('/me');
        await signIn(person);
        await page.getByRole('button', { name: 'Add a passkey' }).click();
        await page.getByLabel('Name', { exact: true }).last().fill('work laptop');
        await requireAccessible(page);
        await page.getByRole('dialog').getByRole('button', { name: 'Add a passkey' }).click();
        await page.getByText('work laptop is added.').waitFor();
        await page.getByRole('dialog', { name: 'Make recovery codes now?' }).waitFor();
        await requireAccessible(page);
        await page.getByRole('button', { name: 'Later' }).click();
        await page.getByText('Your passkey counts as a second factor.').waitFor();
        await page.getByRole('cell', { name: /^Name\s*work laptop$/ }).waitFor();
        await page.getByText(/^Opens fortress secrets (?:tomorrow|in 23 hours)/).waitFor();
        await requireAccessible(page);
        await page.getByRole('button', { name: 'Rename work laptop' }).click();
        await page.getByRole('dialog').getByLabel('Name').fill('home laptop');
        await requireAccessible(page);
        await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
        await page.getByRole('cell', { name: /^Name\s*home laptop$/ }).waitFor();

        // It was shown by adding it, but a while ago.
        service.clock.advance(16 * 60_000);
        await page.getByRole('button', { name: 'Ask the administrators to trust it' }).click();
        await page.getByRole('dialog').getByRole('button', { name: 'Use a passkey' }).click();
        forgive(console, /403/);
        await page.getByText('Your request waits for the administrators.').waitFor();
        await open('/me');
        await page.getByText('Your request waits for the administrators.').waitFor();

        await page.getByText('You have no recovery codes.').waitFor();
        await page.getByRole('button', { name: 'Sign out' }).click();
        await giveCredentials(page, person);
        await page.getByText('Your account has a passkey').waitFor();
        assert.equal(await page.getByLabel('Code from your authenticator app').count(), 0);
        forgive(console, /403/);
        await page.getByRole('button', { name: 'Use a passkey' }).click();
        await page.getByRole('navigation').waitFor();
        await page.getByText(person.email).first().waitFor();
        const { entries } = await ok(service.call('GET', '/v1/audit?action=auth:passkey_login'));
        assert.equal(entries[0].decision, 'allow');

        // A session with a password and a passkey shown long ago needs it again.
        const vault = uniqueName('vault');
        await ok(service.call('POST', '/v1/vaults', { body: { name: vault } }), 201);
        // A factor opens fortress secrets a day after it was added.
        service.clock.advance(25 * 3_600_000);
        await page.clock.setSystemTime(Date.now() + 25 * 3_600_000);
        await open(`/vaults/${vault}?open=new`);
        await page.getByRole('button', { name: 'Use a passkey' }).click();
        forgive(console, /401/);
        await page.getByLabel('Path', { exact: true }).fill('root/key');
        await page.getByLabel('Value', { exact: true }).fill('behind the fortress');
        await page.getByLabel('Fortress', { exact: true }).check();
        await page.getByRole('button', { name: 'Save' }).click();
        await page.getByRole('link', { name: 'key', exact: true }).click();
        await page.getByRole('button', { name: 'Hold to reveal' }).waitFor();
        service.clock.advance(20 * 60_000);
        const before = (await page.context().cookies())[0]?.value;
        await page.getByRole('button', { name: 'Hold to reveal' }).focus();
        await page.keyboard.press('Enter');
        await page.getByRole('heading', { name: 'Show that it is you' }).waitFor();
        await requireAccessible(page);
        await authenticator.setVerified(false);
        await page.getByRole('dialog').getByRole('button', { name: 'Use a passkey' }).click();
        await page.getByRole('dialog').getByRole('alert').waitFor();
        await authenticator.setVerified(true);
        await page.getByRole('dialog').getByRole('button', { name: 'Use a passkey' }).click();
        await page.getByRole('dialog').waitFor({ state: 'detached' });
        forgive(console, /403/);
        assert.notEqual((await page.context().cookies())[0]?.value, before, 'a new session at step-up');
        await page.getByRole('button', { name: 'Hold to reveal' }).focus();
        await page.keyboard.press('Enter');
        await page.getByText('behind the fortress').waitFor();
      }),
    );
  });
});
