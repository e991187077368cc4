import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ConsolePage, describeConsole, forgive, requireAccessible } from '../../support/console.ts';
import { addPerson, done, ok, uniqueName } from '../../support/people.ts';
import { onSqliteAtLanding } from '../../support/service.ts';
import { until } from '../../support/until.ts';

/** Values in the list of a vault: shown, copied and exported from there. */

onSqliteAtLanding('values in the list of a vault', (database) => {
  describeConsole(database, (world, inConsole) => {
    const newVault = async (secrets: Record<string, string>) => {
      const { service } = world();
      const name = uniqueName('vault');
      await ok(service.call('POST', '/v1/vaults', { body: { name } }), 201);
      for (const [path, value] of Object.entries(secrets)) {
        await ok(service.call('POST', `/v1/vaults/${name}/secrets`, { body: { path, value } }), 201);
      }
      return name;
    };
    const readsOf = async (vault: string, path: string) => {
      const query = new URLSearchParams({ action: 'secrets:read', resource: `vault/${vault}/${path}` });
      const { entries } = await ok(world().service.call('GET', `/v1/audit?${query}`));
      return entries.length;
    };
    const allowClipboard = ({ page }: ConsolePage) =>
      page.context().grantPermissions(['clipboard-read', 'clipboard-write']);

    test(
      'a value is shown while its button is held or by keyboard, copied, and each time recorded',
      inConsole(async (console) => {
        const { page, open, signIn } = console;
        const vault = await newVault({ 'db/password': 'shown-in-the-list\nsecond line', other: 'x' });
        await allowClipboard(console);
        await open(`/vaults/${vault}`);
        await signIn(await world().person());
        const reveal = page.getByRole('button', { name: 'Hold to reveal db/password' });
        const shown = page.getByLabel('Value of db/password', { exact: true });
        assert.equal(await reveal.innerText(), 'Hold to reveal');
        await reveal.click();
        await page.getByText('Keep the button pressed to see the value.').waitFor();
        assert.equal(await readsOf(vault, 'db/password'), 0);
        await reveal.hover();
        await page.mouse.down();
        await shown.getByText('second line').waitFor();
        await requireAccessible(page);
        await page.mouse.up();
        await shown.waitFor({ state: 'detached' });
        assert.equal(await readsOf(vault, 'db/password'), 1);

        await page.getByRole('link', { name: 'password', exact: true }).focus();
        await page.keyboard.press('Tab');
        await page.keyboard.press('Enter');
        await shown.waitFor();
        await page.evaluate(`dispatchEvent(new Event('blur'))`);
        await shown.waitFor({ state: 'detached' });
        await page.keyboard.press('Tab');
        await page.keyboard.press('Enter');
        await page.getByText(/^Copied\. The clipboard is cleared/).waitFor();
        assert.equal(await page.evaluate('navigator.clipboard.readText()'), 'shown-in-the-list\nsecond line');
        assert.equal(await readsOf(vault, 'db/password'), 3);
        assert.equal(await readsOf(vault, 'other'), 0);
      }),
    );

    test(
      'a vault is exported as a file once it is confirmed; what a file cannot hold is said by path',
      inConsole(async (console) => {
        const { page, open, signIn } = console;
        const vault = await newVault({ 'db/password': 'p w', 'db/host': 'localhost', 'keys/pem': 'a\nb' });
        await open(`/vaults/${vault}`);
        await signIn(await world().person());
        await page.getByRole('button', { name: 'Export' }).click();
        const dialog = page.getByRole('dialog');
        const submit = dialog.getByRole('button', { name: 'Download the file' });
        assert.equal(await submit.getAttribute('aria-disabled'), 'true');
        await requireAccessible(page);
        await dialog.getByLabel('I know that the values leave').check();
        await dialog.getByLabel('File', { exact: true }).selectOption('docker');
        await submit.click();
        await dialog
          .getByRole('alert')
          .getByText(/keys\/pem/)
          .waitFor();
        forgive(console, /422/);
        await dialog.getByLabel('File', { exact: true }).selectOption('json');
        await dialog.getByLabel('Only paths that begin with').fill('db/');
        const downloading = page.waitForEvent('download');
        await submit.click();
        const download = await downloading;
        assert.equal(download.suggestedFilename(), `${vault}.json`);
        const pieces: Buffer[] = [];
        for await (const piece of await download.createReadStream()) pieces.push(piece as Buffer);
        assert.deepEqual(JSON.parse(Buffer.concat(pieces).toString()), {
          'db/host': 'localhost',
          'db/password': 'p w',
        });
        await dialog.waitFor({ state: 'detached' });
      }),
    );

    test(
      'names that can run code are exported once each is ticked, and the risk is said',
      inConsole(async (console) => {
        const { page, open, signIn } = console;
        const vault = await newVault({ 'db/host': 'localhost', LD_PRELOAD: '/tmp/x.so', 'https/proxy': 'http://x' });
        await open(`/vaults/${vault}`);
        await signIn(await world().person());
        await page.getByRole('button', { name: 'Export' }).click();
        const dialog = page.getByRole('dialog');
        const submit = dialog.getByRole('button', { name: 'Download the file' });
        await dialog.getByLabel('I know that the values leave').check();
        await submit.click();
        const names = dialog.getByRole('group', { name: 'Names that can run code' });
        await names.getByText(/makes programs load code or connect elsewhere/).waitFor();
        assert.deepEqual(await names.locator('code').allTextContents(), ['LD_PRELOAD', 'HTTPS_PROXY']);
        await dialog.getByRole('alert').getByText(/req_/).waitFor();
        assert.doesNotMatch(await dialog.innerText(), /permit=|x\.so/);
        await requireAccessible(page);
        await names.getByLabel('LD_PRELOAD').check();
        await submit.click();
        await until('the other is still refused', () => names.locator('[aria-invalid]:focus').isVisible());
        assert.ok(await names.getByLabel('LD_PRELOAD').isChecked());
        await names.getByLabel('HTTPS_PROXY').check();
        forgive(console, /422/);
        const downloading = page.waitForEvent('download');
        await submit.click();
        const pieces: Buffer[] = [];
        for await (const piece of await (await downloading).createReadStream()) pieces.push(piece as Buffer);
        assert.match(Buffer.concat(pieces).toString(), /^LD_PRELOAD=/m);
        await dialog.waitFor({ state: 'detached' });
      }),
    );

    test(
      'rows of the preview are left out one by one, and what cannot be written holds up the rest only until then',
      inConsole(async ({ page, open, signIn }) => {
        const { service } = world();
        const vault = await newVault({ HOST: 'old' });
        const data = { path: 'DATA', type: 'json', value: '{}' };
        await ok(service.call('POST', `/v1/vaults/${vault}/secrets`, { body: data }), 201);
        await open(`/vaults/${vault}?open=import`);
        await signIn(await world().person());
        const dialog = page.getByRole('dialog');
        await dialog.getByLabel('Contents of the file').fill('HOST=new\nDATA=no-json\nA=1\nB=$x\n');
        await dialog.getByRole('button', { name: 'Preview' }).click();
        await dialog.getByText('One cannot be written. Leave it out, or go back and correct the file.').waitFor();
        const write = (count: string) => dialog.getByRole('button', { name: `Write ${count}`, exact: true });
        assert.equal(await write('3 secrets').getAttribute('aria-disabled'), 'true');
        for (const each of await dialog.getByRole('checkbox').all()) assert.ok(await each.isChecked());
        await requireAccessible(page);
        const leaveOut = (path: string) => dialog.getByRole('checkbox', { name: `Write ${path}`, exact: true });
        await leaveOut('DATA').uncheck();
        await dialog.getByText('2 new, 1 that exists gets a new version, 1 left out').waitFor();
        await dialog.getByText(/^Line 4, B:/).waitFor();
        await leaveOut('B').uncheck();
        await dialog.getByText(/^Line 4, B:/).waitFor({ state: 'detached' });
        await leaveOut('HOST').uncheck();
        await dialog.getByText('1 new, 3 left out').waitFor();
        await leaveOut('HOST').check();
        await write('2 secrets').click();
        await page.getByText('1 secret is new, 1 has a new version.').waitFor();
        const { secrets } = await ok(service.call('GET', `/v1/vaults/${vault}/secrets`));
        const versions = secrets.map(({ path, version }: { path: string; version: number }) => `${path} ${version}`);
        assert.deepEqual(versions, ['A 1', 'DATA 1', 'HOST 2']);
      }),
    );

    test(
      'a file is chosen; lines to look at are named, and so is what happens to secrets that exist',
      inConsole(async (console) => {
        const { page, open, signIn } = console;
        const vault = await newVault({ HOST: 'old', SAME: 'same' });
        await open(`/vaults/${vault}?open=import`);
        await signIn(await world().person());
        const dialog = page.getByRole('dialog');
        const chooseFile = async (text: string) => {
          const choosing = page.waitForEvent('filechooser');
          await dialog.getByRole('button', { name: 'Choose a file' }).click();
          const chooser = await choosing;
          await chooser.setFiles({ name: '.env.local', mimeType: 'text/plain', buffer: Buffer.from(text) });
          await dialog.getByText('.env.local is read.').waitFor();
        };
        await chooseFile('HOST=new\nnot a line');
        await dialog.getByRole('button', { name: 'Preview' }).click();
        await dialog.getByText('Line 2: must have the form KEY=value.').waitFor();
        const selected = () => page.evaluate('getSelection()?.toString()');
        await until('the line is selected', async () => (await selected()) === 'not a line');
        forgive(console, /422/);
        await chooseFile('HOST=first\nSAME=same\nHOST=new-$HOME\nEXTRA=1\n');
        await dialog.getByLabel('Secrets that exist already').selectOption('skip');
        await dialog.getByRole('button', { name: 'Preview' }).click();
        await dialog.getByText('1 new, 2 that exist stay as they are').waitFor();
        await dialog.getByRole('button', { name: 'Back' }).click();
        await dialog.getByLabel('Secrets that exist already').selectOption('update');
        await dialog.getByRole('button', { name: 'Preview' }).click();
        await dialog.getByText('1 new, 1 that exists gets a new version, 1 that exists stays as it is').waitFor();
        await dialog.getByText('It exists: version 2 is written, version 1 stays in its history.').waitFor();
        await dialog.getByText(/^Line 3, HOST: the name stands on an earlier line too/).waitFor();
        await dialog.getByText(/^Line 3, HOST: a shell would replace/).waitFor();
        await requireAccessible(page);
        await dialog.getByRole('button', { name: 'Write 2 secrets' }).click();
        await page.getByText('1 secret is new, 1 has a new version.').waitFor();
      }),
    );

    test(
      'a .env file that is pasted or dropped onto the page opens the import; what goes into a field does not',
      inConsole(async (console) => {
        const { page, open, signIn } = console;
        const vault = await newVault({ OLD: 'x' });
        await allowClipboard(console);
        await open(`/vaults/${vault}`);
        await signIn(await world().person());
        await page.getByRole('button', { name: 'Paste or drop a .env file' }).waitFor();
        await page.evaluate(`navigator.clipboard.writeText('PASTED=one')`);
        const dialog = page.getByRole('dialog');
        const search = page.getByLabel('Search paths');
        await search.focus();
        await page.keyboard.press('Control+V');
        assert.equal(await search.inputValue(), 'PASTED=one');
        assert.equal(await dialog.count(), 0);
        await search.fill('');
        await search.blur();
        await page.keyboard.press('Control+V');
        const contents = dialog.getByLabel('Contents of the file');
        await contents.waitFor();
        assert.equal(await contents.inputValue(), 'PASTED=one');
        assert.doesNotMatch(page.url(), /PASTED/);
        await dialog.getByRole('button', { name: 'Cancel' }).click();

        const dataTransfer = await page.evaluateHandle(`(() => {
          const given = new DataTransfer();
          given.items.add(new File(['DROPPED=two'], '.env.dropped'));
          return given;
        })()`);
        await page.getByRole('button', { name: 'Paste or drop a .env file' }).dispatchEvent('drop', { dataTransfer });
        await dialog.getByText('.env.dropped is read.').waitFor();
        assert.equal(await contents.inputValue(), 'DROPPED=two');
        await dialog.getByRole('button', { name: 'Preview' }).click();
        await dialog.getByRole('button', { name: 'Write 1 secret' }).click();
        await page.getByText('1 secret is new.').waitFor();
        await page.getByRole('button', { name: 'Paste or drop a .env file' }).click();
        await contents.waitFor();
        assert.equal(await contents.inputValue(), '', 'nothing of it is kept');
      }),
    );

    test(
      'on a phone rows are cards with labels; on a wide screen the list stays beside the secret',
      inConsole(async ({ page, open, signIn }) => {
        const name = `${'long-'.repeat(12)}name`;
        const vault = await newVault({ [`folder/${name}`]: 'x', other: 'y' });
        await open(`/vaults/${vault}/secret/folder/${name}`);
        await signIn(await world().person());
        await page.setViewportSize({ width: 390, height: 844 });
        await page.getByRole('cell', { name: /^What happened\s*created by/ }).waitFor();
        const columns = page.getByRole('columnheader', { name: 'What happened' });
        assert.equal(await columns.count(), 1, 'a table stays a table for screen readers');
        assert.equal(await page.evaluate('document.documentElement.scrollWidth'), 390);
        assert.equal(await page.getByRole('complementary').count(), 0);
        await requireAccessible(page);
        await open(`/vaults/${vault}`);
        const link = page.getByRole('link', { name, exact: true });
        await link.waitFor();
        assert.ok(
          await link.evaluate((element) => element.scrollHeight <= element.clientHeight),
          'the name is not cut',
        );
        await requireAccessible(page);
        await open(`/vaults/${vault}/secret/folder/${name}`);

        await page.setViewportSize({ width: 1920, height: 1000 });
        const beside = page.getByRole('complementary', { name: 'The other secrets of this vault' });
        await beside.getByRole('link', { name, exact: true }).waitFor();
        assert.equal(await beside.locator('[aria-current="page"]').innerText(), name);
        await beside.getByRole('link', { name: 'other', exact: true }).click();
        await page.getByRole('heading', { name: 'other', exact: true }).waitFor();
        await beside.locator('[aria-current="page"]').getByText('other').waitFor();
        await page.getByText('of 100').waitFor();
        await requireAccessible(page);
      }),
    );

    test(
      'nobody is offered a value that they may not read, and nothing is refused',
      inConsole(async ({ page, open, signIn }) => {
        const { service } = world();
        const vault = await newVault({ 'open/one': 'x', 'closed/two': 'y' });
        const member = await addPerson(service, { role: 'member' });
        const name = uniqueName('policy');
        const statement = (effect: string, action: string[], resource: string[]) => ({ effect, action, resource });
        const document = {
          version: '2026-01-01',
          statement: [
            statement('allow', ['vaults:list', 'vaults:read', 'secrets:list'], [`vault/${vault}`, `vault/${vault}/**`]),
            statement('allow', ['secrets:read'], [`vault/${vault}/open/**`]),
          ],
        };
        await ok(service.call('POST', '/v1/policies', { body: { name, document } }), 201);
        const principal = { user: member.email };
        await done(service, service.call('POST', `/v1/policies/${name}/attach`, { body: { principal } }), 200);
        await open(`/vaults/${vault}`);
        await signIn(member);
        await page.getByRole('button', { name: 'Hold to reveal open/one' }).waitFor();
        assert.equal(await page.getByRole('button', { name: /closed\/two/ }).count(), 0);
        assert.equal(await page.getByRole('button', { name: 'Export' }).count(), 0);
        const query = new URLSearchParams({ decision: 'deny', vault });
        assert.deepEqual((await ok(service.call('GET', `/v1/audit?${query}`))).entries, []);
      }),
    );
  });
});
