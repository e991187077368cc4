import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeConsole, forgive, requireAccessible } from '../../support/console.ts';
import { addPerson, addTenant, ok } from '../../support/people.ts';
import { onSqliteAtLanding } from '../../support/service.ts';

onSqliteAtLanding('settings, plan and sign-on in the console', (database) => {
  describeConsole(database, (world, inConsole) => {
    const newOwner = async (more: object = {}) => {
      const { service } = world();
      const tenant = await addTenant(service, { ...more });
      const password = 'the password of this owner';
      const { token } = tenant.owner;
      await ok(service.call('POST', '/auth/password', { token, body: { new_password: password } }), 204);
      return { token, tenant, owner: { email: tenant.owner.email, password, tenant: tenant.name } };
    };

    test(
      'settings are changed; what needs a second factor says so; the plan shows what is used',
      inConsole(async (console) => {
        const { page, open, signIn } = console;
        const { service } = world();
        const { token, owner } = await newOwner({ plan: 'starter' });
        await ok(service.call('POST', '/v1/vaults', { token, body: { name: 'one' } }), 201);
        await open('/settings');
        await signIn(owner);
        await page.getByLabel('Everybody needs a second factor').click();
        await page.getByRole('button', { name: 'Save' }).click();
        await page.getByText('You have no second factor yet.').waitFor();
        await requireAccessible(page);
        await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
        await page.getByRole('dialog').waitFor({ state: 'detached' });
        forgive(console, /403/);
        assert.equal(await page.getByRole('alert').count(), 0, 'who cancels knows why nothing is saved');
        assert.equal((await ok(service.call('GET', '/v1/tenant/settings', { token }))).require_mfa, false);
        await requireAccessible(page);
        await page.getByLabel('Everybody needs a second factor').click();
        await page.getByLabel('Send invitations by mail').click();
        await page.getByLabel('Days since a connection was used').fill('30');
        await page.getByRole('button', { name: 'Save' }).click();
        await page.getByText('The settings are saved.').waitFor();
        const settings = await ok(service.call('GET', '/v1/tenant/settings', { token }));
        assert.deepEqual(settings.mail_notices, ['invitations']);
        assert.deepEqual(settings.anomaly_thresholds, { zombie_app_connection: 30 });
        assert.equal(settings.require_mfa, false);

        await page.getByRole('link', { name: 'Plan' }).click();
        await page.getByText('This organization has the Starter plan.').waitFor();
        await page.getByText('1 of 10', { exact: true }).first().waitFor();
        await requireAccessible(page);
      }),
    );

    test(
      'a provider is added, changed, turned off and deleted; a wrong one says why',
      inConsole(async (console) => {
        const { page, open, signIn } = console;
        const { service } = world();
        const { token, owner } = await newOwner();
        await open('/sign-on');
        await signIn(owner);
        await page.getByRole('heading', { name: 'No provider yet' }).waitFor();
        await requireAccessible(page);
        await page.getByRole('button', { name: 'Add a provider' }).first().click();
        const dialog = page.getByRole('dialog');
        await dialog.getByLabel('Provider').selectOption('entra');
        await dialog.getByText(/groups come as object ids/).waitFor();
        await dialog.getByLabel('Name', { exact: true }).fill('okta');
        await dialog.getByLabel('Issuer').fill('not an address');
        await dialog.getByLabel('Client id').fill('0oa1b2c3');
        await dialog.getByLabel('Client secret').fill('from-the-provider');
        await dialog.getByLabel('Roles by group').fill('Platform Admins');
        await dialog.getByText('Write one “group = value” per line.').waitFor();
        await dialog.getByLabel('Roles by group').fill('Platform Admins = admin');
        await requireAccessible(page);
        await dialog.getByRole('button', { name: 'Add', exact: true }).click();
        await dialog.getByRole('alert').waitFor();
        forgive(console, /422/);
        await dialog.getByLabel('Issuer').fill('https://acme.okta.example');
        await dialog.getByRole('button', { name: 'Add', exact: true }).click();
        const card = page.getByRole('region', { name: 'okta' });
        await card.getByText('https://acme.okta.example').waitFor();
        await requireAccessible(page);
        const added = await ok(service.call('GET', '/auth/sso/providers/okta', { token }));
        assert.match(added.redirect_uri, /\/auth\/sso\/callback\/[^/]+\/okta$/);
        await card.getByText(added.redirect_uri).waitFor();
        await card.getByRole('button', { name: 'Edit okta' }).click();
        await dialog.getByText(added.redirect_uri).waitFor();
        await dialog.getByLabel('Enabled').click();
        await dialog.getByRole('button', { name: 'Save' }).click();
        await card.getByText('off', { exact: true }).waitFor();
        const { providers } = await ok(service.call('GET', '/auth/sso/providers', { token }));
        assert.deepEqual(
          [providers[0].enabled, providers[0].has_client_secret, providers[0].role_mapping],
          [false, true, { 'Platform Admins': 'admin' }],
        );
        await card.getByRole('button', { name: 'Delete okta' }).click();
        await dialog.getByLabel('Type okta to confirm').fill('okta');
        await dialog.getByRole('button', { name: 'Delete' }).click();
        await page.getByRole('heading', { name: 'No provider yet' }).waitFor();
      }),
    );

    test(
      'a member is offered their account and nothing else of this',
      inConsole(async ({ page, open, signIn }) => {
        const { tenant } = await newOwner();
        await open('/settings');
        await signIn(await addPerson(world().service, { tenant }));
        for (const path of [
          'settings',
          'sign-on',
          'groups',
          'people/usr_1',
          'groups/grp_1',
          'policies/any',
          'policies?new=1',
        ]) {
          await open(`/${path}`);
          await page.getByRole('heading', { name: 'You may not see this' }).waitFor();
          await requireAccessible(page);
        }
        for (const name of ['People', 'Groups', 'Policies', 'Sign-on', 'Settings']) {
          assert.equal(await page.getByRole('navigation').getByRole('link', { name, exact: true }).count(), 0, name);
        }
        await page.getByRole('navigation').getByRole('link', { name: 'My account' }).click();
        await page.getByRole('heading', { name: 'My account' }).waitFor();
      }),
    );
  });
});
