import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeConsole, forgive, requireAccessible } from '../../support/console.ts';
import { addPerson, addTenant, ok } from '../../support/people.ts';
import { onSqliteAtLanding } from '../../support/service.ts';

onSqliteAtLanding('policies in the console', (database) => {
  describeConsole(database, (world, inConsole) => {
    test(
      'a policy is written, refused at its statement, tried, attached, changed as JSON, detached and deleted',
      inConsole(async (console) => {
        const { page, open, signIn } = console;
        const { service } = world();
        const tenant = await addTenant(service);
        const { token } = tenant.owner;
        const password = 'the password of this owner';
        await ok(service.call('POST', '/auth/password', { token, body: { new_password: password } }), 204);
        const person = await addPerson(service, { tenant });
        await ok(service.call('POST', '/v1/vaults', { token, body: { name: 'billing' } }), 201);
        await ok(service.call('POST', '/v1/groups', { token, body: { name: 'team' } }), 201);

        await open('/policies');
        await signIn({ email: tenant.owner.email, password, tenant: tenant.name });
        await page.getByRole('heading', { name: 'No policies yet' }).waitFor();
        await requireAccessible(page);
        await page.getByRole('link', { name: 'New policy' }).first().click();
        await page.getByRole('heading', { name: 'Create a policy' }).waitFor();
        await page.getByLabel('Name', { exact: true }).fill('read-billing');
        const first = page.getByRole('region', { name: 'Statement 1' });
        const actions = first.getByRole('combobox', { name: 'Actions' });
        await actions.fill('secret:read');
        await actions.press('Enter');
        const resources = first.getByRole('combobox', { name: 'Resources' });
        assert.ok((await page.locator('datalist option[value="vault/billing/**"]').count()) > 0);
        await resources.fill('vault/billing/**');
        await resources.press('Enter');
        await page.getByRole('button', { name: 'Create' }).click();
        await first.getByText(/did you mean secrets:read/).waitFor();
        await requireAccessible(page);
        forgive(console, /422/);
        await first.getByRole('button', { name: 'Remove secret:read' }).click();
        await actions.fill('secrets:read,');
        await page.getByRole('button', { name: 'Add a statement' }).click();
        const second = page.getByRole('region', { name: 'Statement 2' });
        await second.getByLabel('Effect').selectOption('deny');
        await second.getByLabel('Name of the statement').fill('not-the-keys');
        await second.getByRole('combobox', { name: 'Actions' }).fill('*');
        await second.getByRole('combobox', { name: 'Resources' }).fill('vault/billing/keys/**');
        await second.getByText('Conditions').click();
        await second.getByRole('combobox', { name: 'Times of day (UTC)' }).fill('whenever');
        await page.getByRole('button', { name: 'Create' }).click();
        await second.getByText(/time_between.*must not have more than 5 characters/).waitFor();
        forgive(console, /422/);
        await second.getByRole('combobox', { name: 'Times of day (UTC)' }).fill('');

        const tried = page.getByRole('region', { name: 'Try it' });
        await tried.getByLabel('Resource').fill('vault/billing/db');
        await tried.getByRole('button', { name: 'Decide' }).click();
        await tried.getByText('A statement allows it, and none denies it.').waitFor();
        await tried.getByLabel('Resource').fill('vault/billing/keys/one');
        await tried.getByRole('button', { name: 'Decide' }).click();
        await tried.getByText('A statement denies it.').waitFor();
        await tried.getByText('not-the-keys').waitFor();
        await page.getByRole('button', { name: 'Create' }).click();
        await page.getByRole('heading', { name: 'read-billing', exact: true }).waitFor();
        await requireAccessible(page);
        const stored = await ok(service.call('GET', '/v1/policies/read-billing', { token }));
        assert.deepEqual(stored.document.statement, [
          { effect: 'allow', action: ['secrets:read'], resource: ['vault/billing/**'] },
          { sid: 'not-the-keys', effect: 'deny', action: ['*'], resource: ['vault/billing/keys/**'] },
        ]);

        const dialog = page.getByRole('dialog');
        await page.getByRole('button', { name: 'Attach', exact: true }).click();
        await dialog.getByLabel('Kind').selectOption('user');
        await dialog.getByLabel('Name').fill('nobody@example.com');
        await dialog.getByRole('button', { name: 'Attach' }).click();
        await dialog.getByRole('alert').waitFor();
        forgive(console, /404/);
        await requireAccessible(page);
        await dialog.getByLabel('Name').fill(person.email);
        await dialog.getByRole('button', { name: 'Attach' }).click();
        await page.getByRole('link', { name: person.email }).waitFor();

        await page.getByRole('button', { name: 'Edit as JSON' }).click();
        const json = page.getByLabel('Document as JSON');
        await json.fill('{');
        await page.getByText(/This is not a document/).waitFor();
        const statement = [{ effect: 'allow', action: ['secrets:list'], resource: ['vault/billing'] }];
        // What the form does not know is not dropped, but refused by the service.
        const misspelt = statement.map((each) => ({ ...each, conditions: { mfa: [true] } }));
        await json.fill(JSON.stringify({ version: '2026-01-01', statement: misspelt }));
        await page.getByText('The form cannot show all of this document.').waitFor();
        await page.getByRole('button', { name: 'Save' }).click();
        await page.getByRole('alert').waitFor();
        forgive(console, /422/);
        await json.fill(JSON.stringify({ version: '2026-01-01', statement }));
        await page.getByRole('button', { name: 'Edit as a form' }).click();
        await first.getByText('secrets:list').waitFor();
        await page.getByRole('button', { name: 'Save' }).click();
        await page.getByText('Version 2 is saved.').waitFor();

        // What is opened while the policy is saved and loaded again stays open, with what was typed.
        await page.getByLabel('Description').fill('For the people of billing');
        const held = Promise.withResolvers<void>();
        await page.route('**/v1/policies/read-billing', async (route) => {
          if (route.request().method() === 'GET') await held.promise;
          await route.continue();
        });
        const loadedAgain = page.waitForResponse(
          (response) => response.url().endsWith('/v1/policies/read-billing') && response.request().method() === 'GET',
        );
        await page.getByRole('button', { name: 'Save' }).click();
        await page.getByText('Version 3 is saved.').waitFor();
        await page.getByRole('button', { name: 'Attach', exact: true }).click();
        await dialog.getByLabel('Name').fill('somebody');
        held.resolve();
        await loadedAgain;
        await page.unrouteAll({ behavior: 'wait' });
        assert.equal(await dialog.getByLabel('Name').inputValue(), 'somebody');
        await page.keyboard.press('Escape');
        await page.getByRole('button', { name: 'Discard' }).click();
        assert.equal(await page.getByLabel('Description').inputValue(), 'For the people of billing');

        // Somebody else changes it meanwhile: what was typed is not written over that.
        await page.getByLabel('Description').fill('My own words');
        const theirs = { document: stored.document, description: 'Their words' };
        await ok(service.call('PUT', '/v1/policies/read-billing', { token, body: { ...theirs, expected_version: 3 } }));
        await page.getByRole('button', { name: 'Attach', exact: true }).click();
        await dialog.getByLabel('Kind').selectOption('group');
        await dialog.getByLabel('Name').fill('team');
        await dialog.getByRole('button', { name: 'Attach' }).click();
        await page.getByRole('button', { name: 'Detach from team' }).click();
        await dialog.getByRole('button', { name: 'Detach' }).click();
        await page.getByRole('button', { name: 'Detach from team' }).waitFor({ state: 'detached' });
        await page.getByRole('button', { name: 'Save' }).click();
        await page.getByRole('alert').waitFor();
        forgive(console, /409/);
        const now = await ok(service.call('GET', '/v1/policies/read-billing', { token }));
        assert.deepEqual([now.version, now.description], [4, 'Their words']);
        await page.reload();

        await page.getByRole('button', { name: 'Delete' }).click();
        await dialog.getByRole('button', { name: 'Delete' }).click();
        await dialog.getByRole('alert').waitFor();
        forgive(console, /409/);
        await page.keyboard.press('Escape');
        await page.getByRole('button', { name: `Detach from ${person.email}` }).click();
        await dialog.getByRole('button', { name: 'Detach' }).click();
        await page.getByText('Nobody yet: it has no effect.').waitFor();
        await page.getByRole('button', { name: 'Delete' }).click();
        await dialog.getByRole('button', { name: 'Delete' }).click();
        await page.getByRole('heading', { name: 'No policies yet' }).waitFor();
        await open('/policies/gone');
        await page.getByRole('heading', { name: 'There is no such policy' }).waitFor();
        forgive(console, /404/);
      }),
    );

    test(
      'an auditor sees policies and changes nothing; a member sees none',
      inConsole(async ({ page, open, signIn }) => {
        const { service, newPage } = world();
        const statement = [{ effect: 'allow', action: ['audit:read'], resource: ['audit'] }];
        const body = { name: 'seen-by-auditors', document: { version: '2026-01-01', statement } };
        await ok(service.call('POST', '/v1/policies', { body }), 201);
        await open('/policies');
        await signIn(await addPerson(service, { role: 'auditor' }));
        await page.getByRole('link', { name: 'seen-by-auditors' }).click();
        await page.getByRole('heading', { name: 'seen-by-auditors' }).waitFor();
        for (const name of ['Save', 'Delete', 'Attach', 'Decide']) {
          assert.equal(await page.getByRole('button', { name, exact: true }).count(), 0, name);
        }
        const member = await newPage();
        await member.open('/policies');
        await member.signIn(await addPerson(service));
        await member.page.getByRole('heading', { name: 'You may not see this' }).waitFor();
        assert.deepEqual(member.complaints, []);
        await member.close();
      }),
    );
  });
});
