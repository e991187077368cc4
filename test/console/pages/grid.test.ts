import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeConsole, requireAccessible } from '../../support/console.ts';
import { ok } from '../../support/people.ts';
import { onSqliteAtLanding } from '../../support/service.ts';
import { addSecret, addVault } from '../../support/vaults.ts';

onSqliteAtLanding('the table of a vault', (database) => {
  describeConsole(database, (world, inConsole) => {
    test(
      'rows are filtered, sorted and chosen by keyboard, and several are changed with one save or one act',
      inConsole(async ({ page, open, signIn }) => {
        const { service } = world();
        const vault = await addVault(service);
        for (const path of ['db/one', 'db/two', 'mail/one'])
          await addSecret(service, vault, path, { type: 'password' });
        await addSecret(service, vault, 'plain', { metadata: { tags: ['pci'] } });
        const listed = async () => (await ok(service.call('GET', `/v1/vaults/${vault}/secrets`))).secrets;
        await open(`/vaults/${vault}`);
        await signIn(await world().person());
        await page.getByRole('button', { name: 'Table' }).click();
        await page.getByText('4 secrets', { exact: true }).waitFor();
        await requireAccessible(page);
        const rows = page.locator('[data-row]');
        await page.getByRole('button', { name: 'Path, sorted upwards' }).click();
        assert.equal(await rows.first().getAttribute('aria-label'), 'Choose plain');
        await page.getByRole('combobox', { name: 'Tag' }).selectOption('pci');
        await page.getByText('1 of 4 secrets').waitFor();
        await page.getByRole('combobox', { name: 'Tag' }).selectOption('');
        await page.getByLabel('Search paths').fill('no such path');
        await page.getByText('They hide 4 secrets.').waitFor();
        await page.getByRole('button', { name: 'Show all again' }).click();

        // By keyboard: the first two of mail/one, db/two, db/one are chosen.
        await page.getByRole('combobox', { name: 'Type' }).selectOption('password');
        await page.getByLabel('Choose mail/one').focus();
        await page.keyboard.press('Space');
        await page.keyboard.press('ArrowDown');
        await page.keyboard.press('Space');
        await page.getByText('2 chosen').waitFor();
        await requireAccessible(page);
        const dialog = page.getByRole('dialog');
        await page.getByRole('button', { name: 'Tag', exact: true }).click();
        await dialog.getByLabel('Tag to add').fill('reviewed');
        await dialog.getByRole('button', { name: 'Tag', exact: true }).click();
        await page.getByText('Done for 2 secrets.').waitFor();
        const tagged = (await listed()).filter(({ metadata }: { metadata: { tags?: string[] } }) =>
          metadata.tags?.includes('reviewed'),
        );
        assert.deepEqual(
          tagged.map(({ path }: { path: string }) => path),
          ['db/two', 'mail/one'],
        );

        await page.getByLabel('Choose db/one').click();
        await page.getByLabel('Choose mail/one').click({ modifiers: ['Shift'] });
        await page.getByText('3 chosen').waitFor();
        await page.getByRole('button', { name: 'Write values' }).click();
        await dialog.getByLabel('db/one').fill('a value of its own');
        await dialog.getByLabel('db/two').fill('another value');
        await requireAccessible(page);
        await dialog.getByRole('button', { name: 'Save' }).click();
        await page.getByText('Done for 2 secrets.').last().waitFor();
        const { value } = await ok(service.call('GET', `/v1/vaults/${vault}/secrets/db/two`));
        assert.equal(value, 'another value');

        await page.getByLabel('Choose db/one').click();
        await page.getByRole('button', { name: 'Move to' }).click();
        await dialog.getByLabel('Folder there').fill('database');
        await dialog.getByRole('button', { name: 'Move to' }).click();
        await page.getByLabel('Choose database/one').click();
        await page.getByRole('button', { name: 'Delete', exact: true }).click();
        await dialog.getByRole('button', { name: 'Delete' }).click();
        await page.getByText('2 of 3 secrets').waitFor();
        assert.deepEqual(
          (await listed()).map(({ path }: { path: string }) => path),
          ['db/two', 'mail/one', 'plain'],
        );
      }),
    );
  });
});
