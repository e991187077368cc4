import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeConsole, forgive, giveCredentials, requireAccessible, untilInPage } from '../support/console.ts';
import { addPerson, ok, uniqueName } from '../support/people.ts';
import { onSqliteAtLanding } from '../support/service.ts';

onSqliteAtLanding('secrets in the console', (database) => {
  describeConsole(database, (world, inConsole) => {
    const newVault = async (more: object = {}) => {
      const name = uniqueName('vault');
      await ok(world().service.call('POST', '/v1/vaults', { body: { name, ...more } }), 201);
      return name;
    };
    const write = (vault: string, path: string, value: string) =>
      ok(world().service.call('POST', `/v1/vaults/${vault}/secrets`, { body: { path, value } }), 201);

    test(
      'a new owner gives the admin token once, chooses a password and is welcomed',
      inConsole(async ({ page, open }) => {
        const { service } = world();
        await open('/');
        // Nobody can sign in yet, so this is what is shown first.
        await page.getByLabel('Admin token').fill(service.adminToken);
        await requireAccessible(page);
        await page.getByRole('button', { name: 'Continue' }).click();
        const email = page.getByLabel('E-mail address');
        assert.equal(await email.inputValue(), 'admin@localhost');
        await email.fill('ada@example.com');
        await requireAccessible(page);
        await page.getByLabel('New password').fill('correct horse battery staple');
        await page.getByLabel('The same password again').fill('correct horse battery staple');
        await page.getByRole('button', { name: 'Choose this password and sign in' }).click();
        await page.getByRole('heading', { name: 'Welcome to Coffer' }).waitFor();
        await requireAccessible(page);
        assert.equal(await page.evaluate('document.cookie'), '');
        const stored = await page.evaluate('JSON.stringify([localStorage, sessionStorage, location.href])');
        assert.doesNotMatch(String(stored), /cv_pat|eyJ|horse/);
        await page.getByText('ada@example.com').first().waitFor();
        await page.getByRole('button', { name: 'Sign out' }).click();
        await page.getByRole('button', { name: 'I have an admin token and no password' }).waitFor();
        assert.equal(await page.getByLabel('Admin token').count(), 0, 'it is over');
        await requireAccessible(page);
        const password = 'correct horse battery staple';
        await giveCredentials(page, { email: 'ada@example.com', password, tenant: undefined });
        await page.getByRole('navigation').waitFor();
      }),
    );

    test(
      'a wrong password says so with the id of the request, and changes nothing',
      inConsole(async (console) => {
        const { page, open } = console;
        const person = await world().person();
        await open('/vaults');
        await giveCredentials(page, { ...person, password: 'not the password at all' });
        await page.getByRole('alert').getByText(/req_/).waitFor();
        await requireAccessible(page);
        forgive(console, /401/);
        await page.getByLabel('Password', { exact: true }).fill(person.password);
        await page.getByRole('button', { name: 'Sign in', exact: true }).click();
        await page.getByRole('heading', { name: 'Vaults', exact: true }).waitFor();
      }),
    );

    test(
      'a vault is created, a .env file is previewed and imported, and a value revealed',
      inConsole(async (console) => {
        const { page, open, signIn } = console;
        const name = uniqueName('payments');
        await open('/vaults?new=1');
        await signIn(await world().person());
        await page.getByLabel('Name', { exact: true }).fill(name);
        const stages = await page.getByLabel('Environment').locator('option').allInnerTexts();
        assert.deepEqual(stages, ['Choose one', 'development', 'acceptance testing', 'staging', 'production']);
        await page.getByLabel('Environment').selectOption('production');
        await requireAccessible(page);
        await page.getByRole('button', { name: 'Create', exact: true }).click();
        await page.getByRole('heading', { name, exact: true }).waitFor();
        await page.getByRole('button', { name: 'Paste or drop a .env file' }).click();
        await page.getByLabel('Contents of the file').fill('DB_PASSWORD=a-value-of-its-own\nDEBUG=false\n');
        await page.getByLabel('Folder').fill('app');
        await page.getByRole('button', { name: 'Preview' }).click();
        await page.getByRole('button', { name: 'Write 2 secrets' }).click();
        await page.getByRole('link', { name: 'DB_PASSWORD' }).click();
        await page.getByRole('heading', { name: 'app/DB_PASSWORD' }).waitFor();
        await page.getByText('of 100').waitFor();
        await requireAccessible(page);
        assert.equal(await page.getByText('a-value-of-its-own').count(), 0);
        await page.getByRole('button', { name: 'Hold to reveal' }).focus();
        await page.keyboard.press('Enter');
        await page.getByText('a-value-of-its-own').waitFor();
        await page.evaluate(`dispatchEvent(new Event('blur'))`);
        await page.getByText('a-value-of-its-own').waitFor({ state: 'detached' });
      }),
    );

    test(
      'a value is shown while the button is held',
      inConsole(async ({ page, open, signIn }) => {
        const vault = await newVault();
        await write(vault, 'api/key', 'shown-while-held');
        await open(`/vaults/${vault}/secret/api/key`);
        await signIn(await world().person());
        const button = page.getByRole('button', { name: 'Hold to reveal' });
        await button.hover();
        await page.mouse.down();
        await page.getByText('shown-while-held').waitFor();
        await page.mouse.up();
        await page.getByText('shown-while-held').waitFor({ state: 'detached' });
      }),
    );

    test(
      'versions: written, compared, brought back; a stale edit is refused',
      inConsole(async (console) => {
        const { page, open, signIn } = console;
        const { service } = world();
        const vault = await newVault();
        await write(vault, 'db', 'first value');
        await open(`/vaults/${vault}/secret/db`);
        await signIn(await world().person());
        await page.getByText('Nobody read it lately.').waitFor();
        await page.getByRole('button', { name: 'Copy', exact: true }).waitFor();
        await page.getByRole('button', { name: 'Write a new version' }).click();
        await page.getByRole('button', { name: 'Start from the current value' }).click();
        await untilInPage(page, `document.querySelector('dialog textarea')?.value === 'first value'`);
        await page.getByText('Nobody read it lately.').waitFor({ state: 'detached' });
        await requireAccessible(page);
        await page.getByLabel('Type').selectOption('API key');
        await page.getByLabel('New value').fill('two\nlines');
        await page.getByRole('button', { name: 'Save' }).click();
        await page.getByText('Must be one line').waitFor();
        forgive(console, /422/);
        await page.getByLabel('New value').fill('second value');
        await page.getByRole('button', { name: 'Save' }).click();
        await page.getByText('Version 2 is written.').waitFor();
        await page.getByRole('definition').filter({ hasText: 'API key' }).waitFor();
        await page.getByRole('button', { name: 'Difference' }).click();
        await page.getByRole('button', { name: 'Show the difference' }).click();
        await page.getByText('− first value').waitFor();
        await page.getByText('+ second value').waitFor();
        assert.equal(await page.getByRole('button', { name: 'Show the difference' }).count(), 0);
        await page.keyboard.press('Escape');
        await page.getByRole('button', { name: 'Bring back' }).click();
        await page.getByRole('dialog').getByRole('button', { name: 'Bring back' }).click();
        await page.getByText('Version 3 is written.').waitFor();
        await page.getByText(/^version 1 brought back by/).waitFor();
        const { value } = await ok(service.call('GET', `/v1/vaults/${vault}/secrets/db`));
        assert.equal(value, 'first value');

        await page.getByRole('button', { name: 'Write a new version' }).click();
        await page.getByLabel('New value').fill('from the console');
        await ok(service.call('PUT', `/v1/vaults/${vault}/secrets/db`, { body: { value: 'from elsewhere' } }));
        await page.getByRole('button', { name: 'Save' }).click();
        await page.getByRole('alert').waitFor();
        forgive(console, /409/);
        assert.equal((await ok(service.call('GET', `/v1/vaults/${vault}/secrets/db`))).value, 'from elsewhere');
      }),
    );

    test(
      'an existing secret is rotated automatically, until somebody stops it',
      inConsole(async ({ page, open, signIn }) => {
        const vault = await newVault();
        await write(vault, 'imported', 'x');
        await open(`/vaults/${vault}/secret/imported`);
        await signIn(await world().person());
        await page.getByText('No automatic rotation is configured.').waitFor();
        await page.getByRole('button', { name: 'Rotate automatically' }).click();
        await page.getByLabel('Days from one rotation to the next').fill('30');
        await requireAccessible(page);
        await page.getByRole('dialog').getByRole('button', { name: 'Rotate automatically' }).click();
        await page.getByText('It is rotated every 30 days from now on.').waitFor();
        await page.getByText('No automatic rotation is configured.').waitFor({ state: 'detached' });
        await page.getByRole('definition').getByText('every 30 days').waitFor();
        await page.getByText(/^details, protection or rotation changed by .*, same value/).waitFor();
        await page.getByText('Automatic rotation every 30 days').waitFor();
        assert.equal(await page.getByRole('button', { name: 'Rotate automatically' }).count(), 0);
        await page.getByRole('button', { name: 'Change automatic rotation' }).click();
        assert.equal(await page.getByLabel('Days from one rotation to the next').inputValue(), '30');
        await page.getByRole('button', { name: 'Stop rotating it automatically' }).click();
        await page.getByText('It is no longer rotated automatically.').waitFor();
        await page.getByText('No automatic rotation is configured.').waitFor();
      }),
    );

    test(
      'what was imported is rotated to random characters or a typed value; an address is not made up',
      inConsole(async (console) => {
        const { page, open, signIn } = console;
        const { service } = world();
        const vault = await newVault();
        await write(vault, 'API_SECRET', 'imported');
        await write(vault, 'DATABASE_URL', 'postgres://shop:old@db/shop');
        await open(`/vaults/${vault}/secret/API_SECRET`);
        await signIn(await world().person());
        const dialog = page.getByRole('dialog');
        const valueAt = async (path: string) =>
          (await ok(service.call('GET', `/v1/vaults/${vault}/secrets/${path}`))).value;
        await page.getByRole('button', { name: 'Rotate', exact: true }).click();
        await dialog.getByText('The random characters replace the whole value.', { exact: false }).waitFor();
        await dialog.getByLabel('Number of characters').fill('4');
        await dialog.getByRole('button', { name: 'Rotate' }).click();
        await dialog.getByRole('alert').waitFor();
        forgive(console, /422/);
        await requireAccessible(page);
        await dialog.getByLabel('Number of characters').fill('20');
        await dialog.getByRole('button', { name: 'Rotate' }).click();
        await page.getByText('Rotated to version 2.').waitFor();
        assert.match(await valueAt('API_SECRET'), /^[A-Za-z0-9]{20}$/);

        await open(`/vaults/${vault}/secret/DATABASE_URL`);
        await page.getByRole('button', { name: 'Rotate', exact: true }).click();
        const submit = dialog.getByRole('button', { name: 'Rotate' });
        assert.equal(await submit.getAttribute('aria-disabled'), 'true', 'it has to be typed');
        await dialog.getByLabel('Where the new value comes from').selectOption('made');
        await dialog.getByText('DATABASE_URL is named like a URL').waitFor();
        await dialog.getByLabel('Where the new value comes from').selectOption('typed');
        await dialog.getByLabel('New value', { exact: true }).fill('postgres://shop:new@db/shop');
        await dialog.getByText('must be told the new value too').waitFor();
        await submit.click();
        await page.getByText('Rotated to version 2.').waitFor();
        assert.equal(await valueAt('DATABASE_URL'), 'postgres://shop:new@db/shop');
      }),
    );

    test(
      'a deleted secret comes back by undoing, and from the list of what was deleted',
      inConsole(async ({ page, open, signIn }) => {
        const vault = await newVault();
        await write(vault, 'folder/gone', 'x');
        await open(`/vaults/${vault}/secret/folder/gone`);
        await signIn(await world().person());
        await page.getByRole('button', { name: 'Delete' }).click();
        await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
        await page.getByRole('button', { name: 'Undo' }).click();
        await page.getByRole('heading', { name: 'folder/gone' }).waitFor();
        await page.getByRole('button', { name: 'Hold to reveal' }).waitFor();

        await page.getByRole('button', { name: 'Delete' }).click();
        await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
        await page.getByRole('button', { name: 'Undo' }).waitFor();
        await open(`/vaults/${vault}?deleted=1`);
        await page.getByRole('button', { name: 'Restore' }).click();
        await page.getByText('Nothing deleted can be restored.').waitFor();
        await page.getByLabel('Deleted secrets').click();
        await page.getByRole('link', { name: 'gone' }).waitFor();
      }),
    );

    test(
      'a zero-knowledge vault is written and read in the browser; no request has the passphrase',
      inConsole(async (c) => {
        const { page, open, signIn } = c;
        const vault = await newVault({ is_zero_knowledge: true });
        const sent: string[] = [];
        page.on('request', (request) => sent.push(`${request.url()} ${request.postData() ?? ''}`));
        await open(`/vaults/${vault}?open=new`);
        await signIn(await world().person());
        await page.getByLabel('Path', { exact: true }).fill('sealed/one');
        await page.getByLabel('Value', { exact: true }).fill('only-in-the-browser');
        await page.getByLabel('Choose the passphrase of this vault').fill('a long passphrase that stays here');
        await page.getByLabel('Type it again').fill('a long passphrase that stays hree');
        await page.getByText('This is not the same as above.').waitFor();
        assert.ok(await page.getByRole('button', { name: 'Save' }).isDisabled());
        await page.getByLabel('Type it again').fill('a long passphrase that stays here');
        await page.getByRole('button', { name: 'Save' }).click();
        await page.getByRole('link', { name: 'one' }).waitFor();
        assert.equal(await page.locator('.tree-value').count(), 0, 'the list cannot show sealed values');

        // A .env file would be sent as it is.
        assert.equal(await page.getByRole('button', { name: /\.env/ }).count(), 0);
        const dataTransfer = await page.evaluateHandle(`(() => {
          const given = new DataTransfer();
          given.items.add(new File(['PLAIN=only-in-the-browser'], '.env'));
          return given;
        })()`);
        await page.getByRole('heading', { name: vault }).dispatchEvent('drop', { dataTransfer });
        await open(`/vaults/${vault}?open=import`);
        await page.getByRole('link', { name: 'one' }).waitFor();
        assert.equal(await page.getByRole('dialog').count(), 0);
        await page.getByRole('link', { name: 'one' }).click();
        await page.getByLabel('Passphrase of this vault').fill('a long passphrase that stays here');
        await page.getByRole('button', { name: 'Use this passphrase' }).click();
        await page.getByRole('button', { name: 'Hold to reveal' }).focus();
        await page.keyboard.press('Enter');
        await page.getByText('only-in-the-browser').waitFor();

        // A mistyped passphrase seals nothing.
        await page.getByRole('button', { name: 'Write a new version' }).click();
        const dialog = page.getByRole('dialog');
        await dialog.getByLabel('New value').fill('would be lost');
        await dialog.getByLabel('Passphrase of this vault').fill('a long passphrase that stays hree');
        await dialog.getByRole('button', { name: 'Save' }).click();
        await dialog.getByText('This is not the passphrase of this vault. Nothing was stored.').waitFor();
        await dialog.getByLabel('Passphrase of this vault').fill('a long passphrase that stays here');
        await dialog.getByRole('button', { name: 'Save' }).click();
        await page.getByText('version 2').first().waitFor();
        // Another passphrase seals what is there, and the former one opens nothing any more.
        await open(`/vaults/${vault}?part=settings`);
        await page.getByRole('button', { name: 'Change the passphrase …' }).click();
        await dialog.getByLabel('Passphrase until now').fill('a long passphrase that stays hree');
        await dialog.getByLabel('New passphrase').fill('another long one that stays here');
        await dialog.getByLabel('Type it again').fill('another long one that stays here');
        await requireAccessible(page);
        await dialog.getByRole('button', { name: 'Change the passphrase' }).click();
        await dialog.getByText('This is not the passphrase of this vault. Nothing was stored.').waitFor();
        await dialog.getByLabel('Passphrase until now').fill('a long passphrase that stays here');
        await dialog.getByRole('button', { name: 'Change the passphrase' }).click();
        await page.getByText(`The passphrase of ${vault} is changed: 1 value is sealed under it.`).waitFor();
        await open(`/vaults/${vault}/secret/sealed/one`);
        await page.getByLabel('Passphrase of this vault').fill('another long one that stays here');
        await page.getByRole('button', { name: 'Use this passphrase' }).click();
        await page.getByRole('button', { name: 'Hold to reveal' }).focus();
        await page.keyboard.press('Enter');
        await page.getByText('would be lost').waitFor();
        assert.ok(sent.some((each) => each.includes('zk:v1')));
        assert.ok(!sent.some((each) => /only-in-the-browser|stays here/.test(each)));
      }),
    );

    test(
      'who may only list sees paths, and nothing that would be refused is offered',
      inConsole(async (console) => {
        const { page, open, signIn } = console;
        const { service } = world();
        const vault = await newVault();
        await write(vault, 'listed', 'never shown');
        const member = await addPerson(service, { role: 'auditor' });
        await open(`/vaults/${vault}`);
        await signIn(member);
        await page.getByRole('link', { name: 'listed' }).click();
        await page.getByRole('heading', { name: 'listed' }).waitFor();
        await page.getByText('of 100').waitFor();
        for (const name of ['Hold to reveal', 'Write a new version', 'Rotate', 'Delete']) {
          assert.equal(await page.getByRole('button', { name }).count(), 0, name);
        }
      }),
    );

    test(
      'what does not exist says so',
      inConsole(async ({ page, open, signIn }) => {
        const vault = await newVault();
        await open(`/vaults/${vault}/secret/nothing/here`);
        await signIn(await world().person());
        await page.getByRole('heading', { name: 'There is no secret at this path' }).waitFor();
        await open('/no-such-page');
        await page.getByRole('heading', { name: 'There is no such page' }).waitFor();
        await requireAccessible(page);
      }),
    );
  });
});
