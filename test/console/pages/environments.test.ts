import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeConsole, forgive, requireAccessible } from '../../support/console.ts';
import { ok, uniqueName } from '../../support/people.ts';
import { onSqliteAtLanding } from '../../support/service.ts';

onSqliteAtLanding('environments in the console', (database) => {
  describeConsole(database, (world, inConsole) => {
    const newVault = async (secrets: Record<string, string>, environment = 'development') => {
      const { service } = world();
      const name = uniqueName('vault');
      await ok(service.call('POST', '/v1/vaults', { body: { name, environment } }), 201);
      for (const [path, value] of Object.entries(secrets)) {
        await ok(service.call('POST', `/v1/vaults/${name}/secrets`, { body: { path, value, environment } }), 201);
      }
      return name;
    };

    test(
      'an environment is composed, shows where each value comes from, and cannot lose its children',
      inConsole(async (console) => {
        const { page, open, signIn } = console;
        const vault = await newVault({ 'db/url': 'postgres://somewhere' });
        const [base, child] = [uniqueName('base'), uniqueName('child')];
        await open('/environments?new=1');
        await signIn(await world().person());
        await page.getByLabel('Name', { exact: true }).fill(base);
        await page.getByRole('button', { name: 'Create', exact: true }).click();
        await page.getByRole('heading', { name: base }).waitFor();
        await page.getByText('There are no variables here or in what it takes over.').waitFor();
        await page.getByRole('button', { name: 'Add a variable' }).click();
        const dialog = page.getByRole('dialog');
        await dialog.getByLabel('Name').fill('DATABASE_URL');
        await dialog.getByLabel('Vault').fill(vault);
        await dialog.getByLabel('Path of the secret').fill('db/nothing');
        await dialog.getByRole('button', { name: 'Add a variable' }).click();
        await dialog.getByText('There is no secret at this path.').waitFor();
        await requireAccessible(page);
        await dialog.getByLabel('Path of the secret').fill('db/url');
        await dialog.getByRole('button', { name: 'Add a variable' }).click();
        await page.getByText('DATABASE_URL is added.').waitFor();
        await page.getByRole('link', { name: `${vault}/db/url` }).waitFor();

        await open('/environments?new=1');
        await page.getByLabel('Name', { exact: true }).fill(child);
        await page.getByLabel('Takes over the variables of').selectOption({ label: base });
        await page.getByRole('button', { name: 'Create', exact: true }).click();
        await page.getByRole('heading', { name: child }).waitFor();
        await page.getByRole('cell', { name: base }).waitFor();
        await page.getByRole('button', { name: 'Hold to reveal' }).focus();
        await page.keyboard.press('Enter');
        await page.getByText('postgres://somewhere').waitFor();
        await requireAccessible(page);

        await page.getByRole('link', { name: 'Composed environments' }).first().click();
        await page.getByRole('link', { name: base }).click();
        await page.getByRole('button', { name: 'Delete' }).click();
        await dialog.getByRole('button', { name: 'Delete' }).click();
        await dialog.getByRole('alert').waitFor();
        forgive(console, /409/);
        await page.keyboard.press('Escape');
        await page.getByRole('button', { name: 'Remove' }).click();
        await page.getByText('DATABASE_URL is removed.').waitFor();
      }),
    );

    test(
      'vaults side by side: what is missing is added, what differs is edited, and no value stays in the page',
      inConsole(async ({ page, open, signIn }) => {
        const { service } = world();
        const one = await newVault({ same: 'equal-value', other: 'value-of-one', 'only/here': 'x' });
        const two = await newVault({ same: 'equal-value', other: 'value-of-two' }, 'production');
        await open('/compare');
        await signIn(await world().person());
        await page.getByLabel(one, { exact: true }).check();
        await page.getByLabel(two, { exact: true }).check();
        await page.getByText('3 paths').waitFor();
        await requireAccessible(page);
        await page.getByRole('button', { name: 'Compare values' }).click();
        const badge = (text: string) => page.locator('.badge', { hasText: new RegExp(`^${text}$`) });
        await badge('different').first().waitFor();
        assert.deepEqual([await badge('different').count(), await badge('same').count()], [2, 2]);
        assert.equal(await page.getByText(/value-of-|equal-value/).count(), 0);
        await page.getByRole('button', { name: `Add only/here (${two})` }).click();
        await page.getByRole('dialog').getByLabel('Value', { exact: true }).fill('y');
        await page.getByRole('button', { name: 'Save' }).click();
        await page.getByText(`only/here is written in ${two}.`).waitFor();
        assert.equal((await ok(service.call('GET', `/v1/vaults/${two}/secrets/only/here`))).value, 'y');
        await page.getByLabel('Only what is missing or different').check();
        await page.getByText('2 paths').waitFor();
        await badge('not compared').first().waitFor();
        assert.deepEqual([await badge('not compared').count(), await badge('different').count()], [2, 2]);
        await page.getByText('Something was written since the values were compared.').waitFor();
        await requireAccessible(page);
        await page.getByRole('button', { name: 'Compare values' }).click();
        await badge('not compared').first().waitFor({ state: 'detached' });
        assert.equal(await badge('different').count(), 4);
      }),
    );

    test(
      'what may not be copied out of production is typed in one form; a refused one keeps the others',
      inConsole(async (console) => {
        const { page, open, signIn } = console;
        const { service } = world();
        const from = await newVault({ a: 'production-a', b: 'production-b', c: 'production-c' }, 'production');
        const to = await newVault({});
        await open(`/compare?vault=${from}&vault=${to}`);
        await signIn(await world().person());
        await page.getByRole('button', { name: `Add 3 missing to ${to}` }).click();
        const dialog = page.getByRole('dialog');
        await dialog.getByText(`Production values are never copied to ${to}.`).waitFor();
        assert.equal(await dialog.getByLabel('Where the value comes from').count(), 0);
        assert.equal(await dialog.getByRole('button', { name: 'Save' }).getAttribute('aria-disabled'), 'true');
        await dialog.getByLabel('a', { exact: true }).fill('typed-a');
        await dialog.getByLabel('c', { exact: true }).fill('typed-c');
        await requireAccessible(page);
        // Meanwhile somebody else writes one of them.
        await ok(service.call('POST', `/v1/vaults/${to}/secrets`, { body: { path: 'c', value: 'theirs' } }), 201);
        await dialog.getByRole('button', { name: 'Add 2 secrets' }).click();
        await dialog.getByText('This one and those below it are not written yet.').waitFor();
        forgive(console, /409/);
        assert.equal(await dialog.getByLabel('a', { exact: true }).count(), 0, 'it is written');
        await dialog.getByLabel('c', { exact: true }).fill('');
        await dialog.getByLabel('b', { exact: true }).fill('typed-b');
        await dialog.getByRole('button', { name: 'Add 1 secret' }).click();
        await page.getByText(`2 secrets are added to ${to}.`).waitFor();
        const written = async (path: string) =>
          (await ok(service.call('GET', `/v1/vaults/${to}/secrets/${path}`))).value;
        assert.deepEqual(
          [await written('a'), await written('b'), await written('c')],
          ['typed-a', 'typed-b', 'theirs'],
        );
      }),
    );

    test(
      'comparing says that it needs two vaults',
      inConsole(async ({ page, open, signIn }) => {
        await open('/compare');
        await signIn(await world().person('member'));
        await page.getByRole('heading', { name: 'Comparing needs two vaults' }).waitFor();
        await requireAccessible(page);
      }),
    );

    test(
      'what a vault lacks is copied from another one, after a preview; what is refused says why',
      inConsole(async (console) => {
        const { page, open, signIn } = console;
        const { service } = world();
        const from = await newVault({ 'a/one': 'value-one', 'b/two': 'value-two', 'c/three': 'value-three' });
        const to = await newVault({ 'c/three': 'stays' }, 'production');
        const other = await newVault({ 'd/four': 'x' });
        const query = [from, to, other].map((name) => `vault=${name}`).join('&');
        await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
        await open(`/compare?${query}`);
        await signIn(await world().person());
        await page.getByRole('button', { name: `Copy a/one (${from})` }).click();
        await page.getByText(/^Copied\. The clipboard is cleared/).waitFor();
        assert.equal(await page.evaluate('navigator.clipboard.readText()'), 'value-one');

        await page.getByRole('button', { name: `Add 3 missing to ${to}` }).click();
        const dialog = page.getByRole('dialog');
        await dialog.getByText(`${to} is a production vault.`).waitFor();
        await dialog.getByText('It is not in the vault to copy from.').waitFor();
        await requireAccessible(page);
        // Meanwhile somebody else writes one of them.
        const body = { path: 'b/two', value: 'theirs', environment: 'production' };
        await ok(service.call('POST', `/v1/vaults/${to}/secrets`, { body }), 201);
        await dialog.getByRole('button', { name: 'Add 2 secrets' }).click();
        await dialog.getByText('1 of 3 were added.').waitFor();
        await dialog.getByRole('alert').getByText(/req_/).waitFor();
        await requireAccessible(page);
        forgive(console, /409/);
        await dialog.getByRole('button', { name: 'Close' }).click();
        await page.getByRole('button', { name: `Add 1 missing to ${to}` }).waitFor();
        const written = async (path: string) =>
          (await ok(service.call('GET', `/v1/vaults/${to}/secrets/${path}`))).value;
        assert.deepEqual(
          [await written('a/one'), await written('b/two'), await written('c/three')],
          ['value-one', 'theirs', 'stays'],
        );

        await page.getByRole('button', { name: `Add d/four (${from})` }).click();
        await dialog.getByLabel('Where the value comes from').selectOption(other);
        await dialog.getByRole('button', { name: 'Add 1 secret' }).click();
        await page.getByText(`1 secret is added to ${from}.`).waitFor();
      }),
    );

    test(
      'a member without rights sees no environments and no buttons',
      inConsole(async ({ page, open, signIn }) => {
        await open('/');
        await signIn(await world().person('member'));
        await page.getByRole('link', { name: 'Vaults' }).waitFor();
        assert.equal(await page.getByRole('link', { name: 'Composed environments' }).count(), 0);
      }),
    );
  });
});
