import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as OTPAuth from 'otpauth';
import { MINUTE_MS } from '../../../server/src/kernel/base/clock.ts';
import { describeConsole, forgive, requireAccessible } from '../../support/console.ts';
import { addPerson, addTenant, approve, ok, refused } from '../../support/people.ts';
import { onSqliteAtLanding } from '../../support/service.ts';

onSqliteAtLanding('my account in the console', (database) => {
  describeConsole(database, (world, inConsole) => {
    test(
      'the password is changed, a command line approved, a token made, used and revoked',
      inConsole(async (console) => {
        const { page, open, signIn } = console;
        const { service } = world();
        const person = await addPerson(service, { tenant: await addTenant(service) });
        await open('/me');
        await signIn(person);
        await page.getByRole('heading', { name: 'My account' }).waitFor();
        const dialog = page.getByRole('dialog');
        await page.getByRole('button', { name: 'Change my name' }).click();
        await dialog.getByLabel('Name').fill('x'.repeat(129));
        await dialog.getByRole('button', { name: 'Save' }).click();
        await dialog.getByText('This is too long').waitFor();
        forgive(console, /422/);
        await requireAccessible(page);
        await dialog.getByLabel('Name').fill('Ana Example');
        await dialog.getByRole('button', { name: 'Save' }).click();
        await page.getByText('Your name is changed.').waitFor();
        await page.getByText('Ana Example', { exact: true }).waitFor();
        await page.getByLabel('Current password').fill('not the password at all');
        await page.getByLabel('New password').fill('another password of mine');
        await page.getByLabel('The same password again').fill('something else');
        await page.getByText('The two passwords differ.').waitFor();
        await page.getByLabel('The same password again').fill('another password of mine');
        await page.getByRole('button', { name: 'Change password' }).click();
        await page.getByRole('alert').getByText(/req_/).waitFor();
        forgive(console, /401/);
        await requireAccessible(page);
        await page.getByLabel('Current password').fill(person.password);
        await page.getByRole('button', { name: 'Change password' }).click();
        await page.getByText('The password is changed.').waitFor();
        assert.equal(await page.getByLabel('New password').inputValue(), '');

        await page.getByLabel('Code on the command line').fill('BBBB-BBBB');
        await page.getByRole('button', { name: 'Approve' }).click();
        await page.getByRole('alert').waitFor();
        forgive(console, /404/);
        const device = await ok(service.call('POST', '/auth/device', { body: { client: 'cli' } }));
        const approveCode = async () => {
          await page.getByLabel('Code on the command line').fill(device.user_code);
          await page.getByRole('button', { name: 'Approve' }).click();
        };
        await approveCode();
        // The sign-in is older than the code, so it is no proof for this one.
        await dialog.getByRole('button', { name: 'Sign in again' }).click();
        forgive(console, /403/);
        await signIn({ ...person, password: 'another password of mine' });
        await page.getByRole('heading', { name: 'My account' }).waitFor();
        await approveCode();
        await page.getByText('The command line is signed in as you.').waitFor();

        await page.getByRole('button', { name: 'New token' }).click();
        await dialog.getByLabel('Name').fill('backup script');
        await dialog.getByLabel('Valid for').fill('9999');
        await dialog.getByRole('combobox', { name: 'Only these actions' }).fill('secrets:read');
        await dialog.getByRole('button', { name: 'Create' }).click();
        await dialog.getByRole('alert').waitFor();
        forgive(console, /422/);
        await requireAccessible(page);
        await dialog.getByLabel('Valid for').fill('7');
        await dialog.getByRole('button', { name: 'Create' }).click();
        const token = (await page.getByLabel('Personal access token', { exact: true }).textContent()) ?? '';
        assert.match(token, /^cv_pat_/);
        await requireAccessible(page);
        await page.getByRole('button', { name: 'I have stored it' }).click();
        await page.getByText('secrets:read', { exact: true }).waitFor();
        assert.equal(await page.getByText(token).count(), 0);
        const stored = await page.evaluate('JSON.stringify([localStorage, sessionStorage, location.href])');
        assert.ok(!String(stored).includes(token));
        await ok(service.call('GET', '/auth/me', { token }));
        await page.getByRole('button', { name: 'Revoke backup script' }).click();
        await dialog.getByRole('button', { name: 'Revoke' }).click();
        await page.getByText('backup script is revoked.').waitFor();
        await refused(service.call('GET', '/auth/me', { token }), 401, 'INVALID_TOKEN');
      }),
    );

    test(
      'an owner with a password is reminded of the first token until it is revoked',
      inConsole(async ({ page, open, signIn }) => {
        const { service } = world();
        const { owner, name } = await addTenant(service);
        const { token, email } = owner;
        const password = 'the password of this owner';
        await ok(service.call('POST', '/auth/password', { token, body: { new_password: password } }), 204);
        await open('/');
        await signIn({ email, password, tenant: name });
        await page.getByText('The first admin token still works.').waitFor();
        await requireAccessible(page);
        await page.getByRole('link', { name: 'Revoke it in My account' }).click();
        await page.getByRole('button', { name: 'Revoke first token of the owner' }).click();
        await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
        await page.getByText('first token of the owner is revoked.').waitFor();
        await page.getByRole('link', { name: 'Start', exact: true }).click();
        await page.getByRole('heading', { name: 'Welcome to Coffer' }).waitFor();
        assert.equal(await page.getByText('The first admin token still works.').count(), 0);
        await refused(service.call('GET', '/auth/me', { token }), 401, 'INVALID_TOKEN');
      }),
    );

    test(
      'a second factor is set up with its picture, recovery codes are shown once, and it is removed',
      inConsole(async (console) => {
        const { page, open, signIn } = console;
        const { service } = world();
        const tenant = await addTenant(service);
        const person = await addPerson(service, { tenant });
        await open('/me');
        await signIn(person);
        const dialog = page.getByRole('dialog');
        const setUp = page.getByRole('button', { name: 'Set up an authenticator app' });
        await setUp.waitFor();
        // Somebody who signed in a while ago is led to the sign-in and back.
        service.clock.advance(16 * MINUTE_MS);
        await setUp.click();
        await dialog.getByText('this needs a sign-in of the last 15 minutes').waitFor();
        forgive(console, /403/);
        await requireAccessible(page);
        await dialog.getByRole('button', { name: 'Sign in again' }).click();
        await page.getByText('Sign in again to show that it is you.').waitFor();
        await signIn(person);
        await setUp.click();
        await page.getByRole('img', { name: 'QR code with the key' }).waitFor();
        await requireAccessible(page);
        const secret = (await dialog.getByLabel('Key', { exact: true }).textContent()) ?? '';
        const link = await dialog.getByRole('link', { name: 'Open in an app' }).getAttribute('href');
        assert.ok(link?.startsWith('otpauth://totp/') && link.includes(secret));
        const code = new OTPAuth.TOTP({ secret }).generate({ timestamp: service.clock.now() });
        await dialog.getByLabel('Code from the app').fill(code === '000000' ? '111111' : '000000');
        await dialog.getByRole('button', { name: 'Confirm' }).click();
        await dialog.getByRole('alert').waitFor();
        forgive(console, /401/);
        const now = new OTPAuth.TOTP({ secret }).generate({ timestamp: service.clock.now() });
        await dialog.getByLabel('Code from the app').fill(now);
        await dialog.getByRole('button', { name: 'Confirm' }).click();
        await page.getByRole('heading', { name: 'Recovery codes' }).waitFor();
        const codes = await page.getByRole('list', { name: 'Codes' }).getByRole('listitem').allTextContents();
        assert.equal(codes.length, 10);
        await requireAccessible(page);
        const [download] = await Promise.all([
          page.waitForEvent('download'),
          page.getByRole('button', { name: 'Save as a file' }).click(),
        ]);
        assert.equal(download.suggestedFilename(), 'coffer-recovery-codes.txt');
        await page.getByRole('button', { name: 'I have stored it' }).click();
        await page.getByText('10 recovery codes are left.').waitFor();
        await page.getByText(/^Opens fortress secrets (?:tomorrow|in 23 hours)/).waitFor();
        await page.getByRole('button', { name: 'Ask the administrators to trust it' }).waitFor();
        await requireAccessible(page);
        assert.equal(await page.getByText(codes[0] ?? '-').count(), 0);
        // It was shown by setting it up, but a while ago.
        service.clock.advance(16 * MINUTE_MS);
        await page.getByRole('button', { name: 'Remove the second factor' }).click();
        await dialog.getByRole('button', { name: 'Remove the second factor' }).click();
        const proof = page.getByRole('dialog', { name: 'Show that it is you' });
        await proof.getByLabel('Code from your authenticator app, or a recovery code').fill(codes[0] ?? '');
        await requireAccessible(page);
        await proof.getByRole('button', { name: 'Continue' }).click();
        await page.getByText(/This needs a second person/).waitFor();
        forgive(console, /403/);
        const { token } = tenant.owner;
        const { approvals } = await ok(service.call('GET', '/approvals?status=pending', { token }));
        await ok(approve(service, approvals[0].id, token));
        await page.reload();
        await page.getByRole('button', { name: 'Set up an authenticator app' }).waitFor();
        const { totp } = await ok(service.call('GET', '/auth/mfa', { token: person.token }));
        assert.equal(totp.enrolled, false);
      }),
    );
  });
});
