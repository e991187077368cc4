import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Locator } from 'playwright-core';
import { describeConsole, forgive, requireAccessible } from '../../support/console.ts';
import { ok, uniqueName } from '../../support/people.ts';
import { onSqliteAtLanding } from '../../support/service.ts';
import { until } from '../../support/until.ts';

/** What a form says when the service does not accept it. */

onSqliteAtLanding('forms of the console', (database) => {
  describeConsole(database, (world, inConsole) => {
    /** The text that a screen reader reads with the field as what is wrong with it. */
    const problemOf = async (field: Locator) => {
      assert.equal(await field.getAttribute('aria-invalid'), 'true');
      const ids = String(await field.getAttribute('aria-describedby')).split(' ');
      return field
        .page()
        .locator(`[id="${ids.at(-1)}"]`)
        .innerText();
    };
    const hasFocus = (field: Locator) => field.evaluate((element) => element.matches(':focus'));

    test(
      'a refused field says what is wrong with it, gets the focus, and is right again once it is changed',
      inConsole(async (console) => {
        const { page, open, signIn } = console;
        await open('/vaults?new=1');
        await signIn(await world().person());
        const name = page.getByLabel('Name', { exact: true });
        const tags = page.getByRole('dialog').getByLabel('Tags');
        await name.fill('no spaces allowed');
        await tags.fill(`fine, ${'x'.repeat(300)}`);
        const create = page.getByRole('button', { name: 'Create', exact: true });
        await create.click();
        const environment = page.getByLabel('Environment');
        assert.equal(await problemOf(environment), 'Choose where the values are used.');
        await name.fill('shop-prod');
        assert.equal(await environment.inputValue(), 'production', 'until somebody chooses, the name tells it');
        await environment.selectOption('staging');
        await name.fill('no spaces allowed');
        await create.click();
        const note = page.getByRole('alert');
        await note.getByText('This was not accepted. Correct what is marked and send it again.').waitFor();
        await note.getByText(/req_/).waitFor();
        assert.match(await problemOf(name), /^Use letters, digits, .* no spaces/);
        assert.match(await problemOf(tags), /^Entry 2: /);
        assert.doesNotMatch(await page.getByRole('dialog').innerText(), /\/body/);
        await page.locator('input:focus[aria-invalid="true"]').waitFor();
        assert.ok(await hasFocus(name));
        await requireAccessible(page);
        const right = uniqueName('right');
        await name.fill(right);
        assert.equal(await name.getAttribute('aria-invalid'), null);
        await tags.fill('fine');
        await page.getByRole('button', { name: 'Create', exact: true }).click();
        await page.getByRole('heading', { name: right, exact: true }).waitFor();
        forgive(console, /422/);
      }),
    );

    test(
      'what a long form was refused for is brought into sight, above its buttons',
      inConsole(async (console) => {
        const { page, open, signIn } = console;
        const vault = uniqueName('vault');
        const { service } = world();
        await ok(service.call('POST', '/v1/vaults', { body: { name: vault } }), 201);
        await ok(service.call('POST', `/v1/vaults/${vault}/secrets`, { body: { path: 'there', value: 'x' } }), 201);
        await page.setViewportSize({ width: 1366, height: 560 });
        await open(`/vaults/${vault}?open=new`);
        await signIn(await world().person());
        await page.getByLabel('Path', { exact: true }).fill('there');
        await page.getByLabel('Value', { exact: true }).fill('y');
        await page.getByRole('button', { name: 'Save' }).click();
        await page.getByRole('alert').getByText('There is a secret at this path already').waitFor();
        forgive(console, /409/);
        const inSight = `document.querySelector('dialog [role="alert"]').getBoundingClientRect().bottom <=
          document.querySelector('.dialog-foot').getBoundingClientRect().top`;
        await until('what went wrong is in sight', async () => (await page.evaluate(inSight)) === true);
      }),
    );

    test(
      'a form on a page marks its fields as well; a problem without a field is said as text',
      inConsole(async (console) => {
        const { page, open, signIn } = console;
        const vault = uniqueName('vault');
        await ok(world().service.call('POST', '/v1/vaults', { body: { name: vault } }), 201);
        await open(`/vaults/${vault}?part=settings`);
        await signIn(await world().person());
        const days = page.getByLabel('New encryption key every … days');
        await days.fill('0');
        await page.getByRole('button', { name: 'Save' }).click();
        await page.locator('input:focus[aria-invalid="true"]').waitFor();
        assert.ok(await hasFocus(days));
        assert.equal(await problemOf(days), 'This number is too small: 1 at least.');
        await requireAccessible(page);

        await open(`/vaults/${vault}?open=import`);
        await page.getByLabel('Contents of the file').fill('# only a comment');
        await page.getByRole('button', { name: 'Preview' }).click();
        const note = page.getByRole('alert');
        await note.getByText('Has nothing to import.').waitFor();
        assert.doesNotMatch(await note.innerText(), /\/body/);
        forgive(console, /422/);
      }),
    );

    test(
      'Escape asks before it discards what was typed, and closes at once what was not changed',
      inConsole(async ({ page, open, signIn }) => {
        await open('/vaults?new=1');
        await signIn(await world().person());
        const dialog = page.getByRole('dialog', { name: 'Create a vault' });
        const question = page.getByRole('dialog', { name: 'Discard what you typed?' });
        const name = dialog.getByLabel('Name', { exact: true });
        await name.waitFor();
        await page.keyboard.press('Escape');
        await dialog.waitFor({ state: 'detached' });

        await page.getByRole('button', { name: 'New vault' }).first().click();
        await name.fill('half-typed');
        await page.keyboard.press('Escape');
        await question.waitFor();
        await requireAccessible(page);
        for (const again of [1, 2, 3]) {
          // The browser itself closes a dialog whose page refuses twice, unless it is shown again.
          await page.keyboard.press('Escape');
          await question.waitFor({ state: 'detached' });
          assert.equal(await name.inputValue(), 'half-typed', `kept ${again}`);
          assert.ok(await hasFocus(name), 'the focus is back where it was');
          await page.keyboard.press('Escape');
          await question.waitFor();
        }
        await question.getByRole('button', { name: 'Keep it' }).click();
        await name.fill('');
        await page.keyboard.press('Escape');
        await dialog.waitFor({ state: 'detached' });

        await page.getByRole('button', { name: 'New vault' }).first().click();
        await dialog.getByLabel('Environment').selectOption('staging');
        await page.keyboard.press('Escape');
        await question.getByRole('button', { name: 'Discard' }).click();
        await dialog.waitFor({ state: 'detached' });
        await page.keyboard.press('Control+k');
        await page.getByRole('combobox').fill('a search is nothing to lose');
        await page.keyboard.press('Escape');
        await page.getByRole('combobox').waitFor({ state: 'detached' });
        assert.equal(await question.count(), 0);
      }),
    );

    test(
      'Escape in the preview of a file asks too, and shows no value',
      inConsole(async ({ page, open, signIn }) => {
        const vault = uniqueName('vault');
        await ok(world().service.call('POST', '/v1/vaults', { body: { name: vault } }), 201);
        await open(`/vaults/${vault}?open=import`);
        await signIn(await world().person());
        await page.getByLabel('Contents of the file').fill('TYPED=hidden-value');
        await page.getByRole('button', { name: 'Preview' }).click();
        await page.getByRole('checkbox', { name: 'Write TYPED' }).waitFor();
        await page.keyboard.press('Escape');
        const question = page.getByRole('dialog', { name: 'Discard what you typed?' });
        await question.waitFor();
        assert.doesNotMatch(await page.locator('body').innerText(), /hidden-value/);
        await question.getByRole('button', { name: 'Discard' }).click();
        await page.getByRole('dialog').waitFor({ state: 'detached' });
      }),
    );
  });
});
