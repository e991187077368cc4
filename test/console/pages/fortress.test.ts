import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addAuthenticator, describeConsole, forgive, requireAccessible } from '../../support/console.ts';
import { firstPasskey, signIn as signInBy } from '../../support/passkeys.ts';
import { approve, ok } from '../../support/people.ts';
import { onSqliteAtLanding } from '../../support/service.ts';
import { addSecret, addVault } from '../../support/vaults.ts';

const DAY_MS = 24 * 3_600_000;

onSqliteAtLanding('fortress secrets in the console', (database) => {
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
        const viewer = await world().person('member');
        await ok(
          service.call('POST', `/v1/vaults/${vault}/members`, { body: { user: reader.email, role: 'writer' } }),
          201,
        );
        await ok(
          service.call('POST', `/v1/vaults/${vault}/members`, { body: { user: viewer.email, role: 'reader' } }),
          201,
        );
        await addSecret(service, vault, 'bronze', { value: 'bar of bronze' });
        const proven = await signInBy(service, passkeys[0]);
        await addSecret(service, vault, 'gold', { value: 'bar of gold', protection: 'fortress' }, proven);

        await page.clock.setSystemTime(Date.now() + DAY_MS);
        // A person without a factor is told what is needed, where they create such a secret and where they cannot read it.
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
        // It was added just now, so nothing asks for it again.
        await page.getByRole('button', { name: 'Make recovery codes', exact: true }).click();
        await page.getByRole('heading', { name: 'Your recovery codes' }).waitFor();
        assert.equal(await page.getByText('Show that it is you').count(), 0);
        await page.getByRole('button', { name: 'I have stored it' }).click();
        await page.getByRole('link', { name: 'Back to the secret' }).click();
        await page.getByRole('heading', { name: 'gold' }).waitFor();
        await reveal.focus();
        await page.keyboard.press('Enter');
        await page.getByText('Your second factors are less than a day old.').waitFor();
        await page.getByText('The passkey phone opens fortress secrets').waitFor();
        await requireAccessible(page);
        const ask = page.getByRole('button', { name: 'Ask the administrators to trust it' });
        service.clock.advance(16 * 60_000);
        await ask.click();
        await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
        await page.getByRole('dialog').waitFor({ state: 'detached' });
        assert.equal(await page.getByText(/req_/).count(), 1, 'who cancelled knows why nothing happened');
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
        // A person without a factor cannot approve it.
        await other.page.getByRole('button', { name: 'Approve' }).click();
        await other.page.getByRole('heading', { name: 'Why this is refused' }).waitFor();
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

        // And make an ordinary secret one, which somebody who only reads is not offered.
        const read = (path: string) => service.call('GET', `/v1/vaults/${vault}/secrets/${path}`);
        assert.equal((await read('bronze')).status, 200);
        await open(`/vaults/${vault}/secret/bronze`);
        const raise = page.getByRole('button', { name: 'Make it a fortress secret' });
        await raise.click();
        const dialog = page.getByRole('dialog');
        await dialog.getByText('This cannot be undone.').waitFor();
        await dialog.getByText('The passkey phone opens fortress secrets').waitFor();
        await requireAccessible(page);
        await dialog.getByRole('button', { name: 'Make it a fortress secret' }).click();
        await page.getByText('fortress: needs a second factor').waitFor();
        await dialog.waitFor({ state: 'detached' });
        assert.equal(await raise.count(), 0);
        assert.equal((await read('bronze')).status, 403);
        await reveal.focus();
        await page.keyboard.press('Enter');
        await page.getByText('bar of bronze').waitFor();
        await addSecret(service, vault, 'tin', { value: 'bar of tin' });
        const viewing = await world().newPage();
        await viewing.open(`/vaults/${vault}/secret/tin`);
        await viewing.signIn(viewer);
        await viewing.page.getByRole('button', { name: 'Hold to reveal' }).waitFor();
        assert.equal(await viewing.page.getByRole('button', { name: 'Make it a fortress secret' }).count(), 0);
        await viewing.close();
      }),
    );
  });
});

onSqliteAtLanding('a fortress secret and a factor that is too new, in the console', (database) => {
  describeConsole(database, (world, inConsole) => {
    test(
      'wherever a fortress secret is used, a factor that is too new is explained, and not requested in vain',
      inConsole(async (console) => {
        const { page, open, signIn } = console;
        const { service } = world();
        const admin = await world().person('admin');
        const { passkey } = await firstPasskey(service, admin);
        service.clock.advance(DAY_MS);
        const [vault, other] = [await addVault(service), await addVault(service)];
        const writer = await world().person('admin');
        await addSecret(service, other, 'plain', { value: 'of no worth' });
        const proven = await signInBy(service, passkey);
        await addSecret(service, vault, 'gold', { value: 'bar of gold', protection: 'fortress' }, proven);
        const body = { value: 'another bar' };
        await ok(service.call('PUT', `/v1/vaults/${vault}/secrets/gold`, { body, token: proven }));
        await page.clock.setSystemTime(service.clock.now());

        await open('/me');
        await signIn(writer);
        await addAuthenticator(page);
        await page.getByRole('button', { name: 'Add a passkey' }).click();
        await page.getByLabel('Name', { exact: true }).last().fill('phone');
        await page.getByRole('dialog').getByRole('button', { name: 'Add a passkey' }).click();
        await page.getByRole('button', { name: 'Later' }).click();

        const dialog = page.getByRole('dialog');
        const explained = page.getByRole('heading', { name: 'Why this is refused' });
        const isExplained = async (what: string) => {
          await explained.waitFor();
          await page.getByText('The passkey phone opens fortress secrets').first().waitFor();
          assert.equal(await explained.count(), 1, what);
          assert.equal(await page.getByText('Show that it is you').count(), 0, what);
          assert.ok((await page.getByText(/req_/).count()) > 0, `${what}: the request can be named`);
        };
        const secret = `/vaults/${vault}/secret/gold`;
        await open(secret);
        await page.getByRole('button', { name: 'Write a new version' }).click();
        await dialog.getByLabel('New value').fill('a third bar');
        await dialog.getByRole('button', { name: 'Save' }).click();
        await isExplained('write');
        await requireAccessible(page);
        await open(secret);
        await page.getByRole('button', { name: 'Write a new version' }).click();
        await dialog.getByRole('button', { name: 'Start from the current value' }).click();
        await isExplained('start from the current value');
        await open(secret);
        await page.getByRole('button', { name: 'Rotate', exact: true }).click();
        await dialog.getByRole('button', { name: 'Rotate' }).click();
        await isExplained('rotate');
        await open(secret);
        await page.getByRole('button', { name: 'Difference' }).click();
        await dialog.getByRole('button', { name: 'Show the difference' }).click();
        await isExplained('read an older version');
        await open(secret);
        await page.getByRole('button', { name: 'Bring back' }).click();
        await dialog.getByRole('button', { name: 'Bring back' }).click();
        await isExplained('bring back');
        await open(secret);
        await page.getByRole('button', { name: 'Edit details' }).click();
        await dialog.getByRole('button', { name: 'Save' }).click();
        await isExplained('describe');
        await open(secret);
        await page.getByRole('button', { name: 'Delete', exact: true }).click();
        await dialog.getByRole('button', { name: 'Delete' }).click();
        await isExplained('delete');
        await open(`/vaults/${vault}`);
        await page.getByRole('button', { name: 'Copy the value of gold' }).click();
        await isExplained('copy from the list');
        await open(`/compare?vault=${vault}&vault=${other}`);
        await page.getByRole('button', { name: `Copy gold (${vault})` }).click();
        await isExplained('copy from Compare');
        await open(`/vaults/${other}/secret/plain`);
        await page.getByRole('button', { name: 'Make it a fortress secret' }).click();
        await dialog.getByRole('heading', { name: 'You cannot write a fortress secret yet' }).waitFor();
        await dialog.getByRole('button', { name: 'Make it a fortress secret' }).click();
        await isExplained('raise');
        forgive(console, /403/);
      }),
    );

    test(
      'the way back from My account leads to pages of the console only',
      inConsole(async (console) => {
        const { page, open, signIn } = console;
        const person = await world().person('member');
        const back = page.getByRole('link', { name: /Back to/ });
        const openBack = (text: string) => open(`/me?${new URLSearchParams({ back: text })}`);
        await openBack('#/vaults/payments/secret/db/password');
        await signIn(person);
        await back.waitFor();
        assert.equal(await back.getAttribute('href'), '#/vaults/payments/secret/db/password');
        assert.equal(await back.textContent(), '← Back to the secret');
        await openBack('#/compare?vault=a&vault=b');
        await back.waitFor();
        assert.equal(await back.getAttribute('href'), '#/compare?vault=a&vault=b');
        const elsewhere = [
          'https://evil.example/',
          '//evil.example',
          'javascript:alert(1)',
          '#javascript:alert(1)',
          '\\\\evil.example',
          '#/nowhere',
          '#/constructor',
          '#/me',
          '',
        ];
        for (const text of elsewhere) {
          await openBack(text);
          await page.getByRole('heading', { name: 'My account' }).waitFor();
          assert.equal(await back.count(), text === '' ? 1 : 0, text);
        }
        assert.equal(await back.getAttribute('href'), '#/');
      }),
    );
  });
});
