import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { SignOnBrowser } from '../support/browser-sign-on.ts';
import { describeConsole, forgive, requireAccessible } from '../support/console.ts';
import { OUTSIDE_ENV } from '../support/external-logins.ts';
import { OidcIssuer } from '../support/oidc-issuer.ts';
import { addPerson, addTenant, ok, uniqueName } from '../support/people.ts';
import { onSqliteAtLanding } from '../support/service.ts';

/** Signing in to the console with the provider of an organization, in a real browser. */

const idp = await OidcIssuer.start();
after(() => idp.close());

onSqliteAtLanding('sign-on in the console', (database) => {
  describeConsole(
    database,
    (world, inConsole) => {
      test(
        'a person signs in at their provider and is in; what the provider sent is not left in the address',
        inConsole(async (console) => {
          const { service } = world();
          await idp.register(service.url);
          const sub = uniqueName('subject');
          idp.account = { sub, email: `${sub}@acme.example`, email_verified: true, name: 'Ada', groups: [] };
          const tenant = await addTenant(service);
          const body = {
            name: 'idp',
            issuer: idp.url,
            client_id: 'coffer',
            client_secret: 'coffer-client-secret',
            default_role: 'member',
          };
          await ok(service.call('POST', '/auth/sso/providers', { token: tenant.owner.token, body }), 201);
          const { page } = console;
          // The provider knows the service by this address.
          await page.goto(service.url);
          await page.getByRole('button', { name: 'Single sign-on' }).click();
          await page.getByLabel('Identity provider').fill('not-there');
          await page.getByLabel('Organization').fill(tenant.name);
          await requireAccessible(page);
          await page.getByRole('button', { name: 'Continue at the provider' }).click();
          await page.getByRole('alert').waitFor();
          forgive(console, /401/);
          await page.getByLabel('Identity provider').fill('idp');
          await page.getByRole('button', { name: 'Continue at the provider' }).click();
          await page.getByRole('navigation').waitFor();
          await page.getByText(`${sub}@acme.example`).waitFor();
          assert.equal(new URL(page.url()).hash, '#/');
          assert.equal(await page.evaluate('document.cookie'), '');

          // Somebody who is sent here with a code of another person gets nothing.
          await page.getByRole('button', { name: 'Sign out' }).click();
          await page.getByLabel('E-mail address').waitFor();
          const atProvider = page.getByRole('link', { name: 'Sign out at idp too' });
          assert.ok((await atProvider.getAttribute('href'))?.startsWith(`${idp.url}/session/end?`));
          await requireAccessible(page);
          await page.reload();
          await page.getByLabel('E-mail address').waitFor();
          assert.equal(await atProvider.count(), 0, 'it is offered once');
          await page.getByRole('button', { name: 'Continue with idp' }).waitFor();
          await page.goto('about:blank');
          await page.goto(`${service.url}/#/signed-on?code=stolen&state=chosen&redirect_uri=made-up`);
          await page.getByRole('heading', { name: 'The sign-in did not work' }).waitFor();
          await requireAccessible(page);
          forgive(console, /401/);
        }),
      );

      test(
        'another program that puts the cookie of its own sign-in into the browser signs nobody in as itself',
        inConsole(async (console) => {
          const { service } = world();
          await idp.register(service.url);
          const attacker = new SignOnBrowser(service, idp);
          const sub = attacker.newAccount();
          const tenant = await addTenant(service);
          await attacker.addProvider(tenant);
          const { page } = console;
          await page.goto(service.url);
          await page.getByLabel('E-mail address').waitFor();
          const theirs = await attacker.beginSignIn(tenant);
          // As a page on any port of the host can.
          await page.evaluate(`document.cookie = '${theirs.cookie}; Path=/; Secure; SameSite=Lax'`);
          await page.goto(await idp.signIn(theirs.url));
          await page.getByRole('heading', { name: 'The sign-in did not work' }).waitFor();
          assert.equal(await page.getByText(sub).count(), 0);
          const cookies = await page.context().cookies(service.url);
          assert.ok(!cookies.some((cookie) => cookie.name === '__Host-coffer-session'));
          forgive(console, /401/);
        }),
      );

      test(
        'a person with a password links their account, signs in with either, and unlinks it',
        inConsole(async (console) => {
          const { service } = world();
          const sub = uniqueName('subject');
          idp.account = { sub, email: `${sub}@acme.example`, email_verified: true, name: 'Ada', groups: [] };
          const tenant = await addTenant(service);
          const body = {
            name: 'idp',
            issuer: idp.url,
            client_id: 'coffer',
            client_secret: 'coffer-client-secret',
            default_role: 'member',
          };
          await ok(service.call('POST', '/auth/sso/providers', { token: tenant.owner.token, body }), 201);
          const person = await addPerson(service, { tenant });
          const { page } = console;
          await page.goto(`${service.url}/#/me`);
          await console.signIn(person);
          await page.getByRole('button', { name: 'Link with idp' }).waitFor();
          await requireAccessible(page);
          await page.getByRole('button', { name: 'Link with idp' }).click();
          await page
            .getByRole('dialog')
            .getByText(/whether your account stays active/)
            .waitFor();
          await requireAccessible(page);
          await page.getByRole('dialog').getByRole('button', { name: 'Link', exact: true }).click();
          await page.getByText('You can sign in with idp now.').waitFor();
          assert.equal(new URL(page.url()).hash, '#/me');
          await page.getByRole('button', { name: 'Unlink idp' }).waitFor();

          await page.getByRole('button', { name: 'Sign out' }).click();
          await page.getByRole('button', { name: 'Single sign-on' }).click();
          await page.getByLabel('Identity provider').fill('idp');
          await page.getByLabel('Organization').fill(tenant.name);
          await page.getByRole('button', { name: 'Continue at the provider' }).click();
          await page.getByText(person.email).first().waitFor();
          await page.goto('about:blank');
          await page.goto(`${service.url}/#/linked?code=stolen&state=chosen&redirect_uri=made-up`);
          await page.getByRole('heading', { name: 'Your account was not linked' }).waitFor();
          await requireAccessible(page);
          forgive(console, /401/);
          await page.getByRole('link', { name: 'Go to my account' }).click();
          await page.getByRole('button', { name: 'Unlink idp' }).click();
          await requireAccessible(page);
          await page.getByRole('dialog').getByRole('button', { name: 'Unlink' }).click();
          await page.getByRole('button', { name: 'Link with idp' }).waitFor();
        }),
      );
    },
    OUTSIDE_ENV,
  );
});
