import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeConsole, forgive, requireAccessible, untilInPage } from '../../support/console.ts';
import { firstPasskey } from '../../support/passkeys.ts';
import { addPerson, addTenant, ok, uniqueName } from '../../support/people.ts';
import { onSqliteAtLanding } from '../../support/service.ts';
import { addVault } from '../../support/vaults.ts';

onSqliteAtLanding('people and groups in the console', (database) => {
  describeConsole(database, (world, inConsole) => {
    /** A tenant of its own with one owner who has a password, so that nothing needs a second person. */
    const newOwner = async () => {
      const tenant = await addTenant(world().service);
      const body = { password: 'the password of this owner' };
      await ok(
        world().service.call('POST', '/auth/password', {
          token: tenant.owner.token,
          body: { new_password: body.password },
        }),
        204,
      );
      return { tenant, owner: { email: tenant.owner.email, password: body.password, tenant: tenant.name } };
    };

    test(
      'somebody is invited, accepts, gets another role, is disabled and deleted',
      inConsole(async (console) => {
        const { page, open, signIn } = console;
        const { service, newPage } = world();
        const { tenant, owner } = await newOwner();
        const email = `${uniqueName('ivy')}@example.com`;
        const newVault = () => addVault(service, {}, tenant.owner.token);
        const vaults = [await newVault(), await newVault(), await newVault()] as const;
        await open('/');
        await signIn(owner);
        await page.getByRole('heading', { name: 'Next: give a colleague or a service access' }).waitFor();
        await requireAccessible(page);
        await page.getByRole('link', { name: 'Invite somebody' }).click();
        const dialog = page.getByRole('dialog');
        await dialog.getByLabel('E-mail address').fill(tenant.owner.email);
        await requireAccessible(page);
        await dialog.getByRole('button', { name: 'Make the invitation' }).click();
        await dialog.getByRole('alert').getByText(/req_/).waitFor();
        forgive(console, /409/);
        await dialog.getByLabel('E-mail address').fill(email);
        await dialog.getByLabel('Vault', { exact: true }).fill('no-such-vault');
        await dialog.getByText('You see no vault with the name no-such-vault.').waitFor();
        assert.equal(await dialog.getByLabel('Vault', { exact: true }).getAttribute('aria-invalid'), 'true');
        await dialog.getByRole('button', { name: 'Make the invitation', disabled: true }).waitFor();
        await dialog.getByLabel('Vault', { exact: true }).fill(vaults[0]);
        await dialog.getByLabel('Role in this vault').selectOption('writer');
        await dialog.getByRole('button', { name: 'Add another vault' }).click();
        await dialog.getByText(`${vaults[0]}: writer`).waitFor();
        await dialog.getByLabel('Vault', { exact: true }).fill(vaults[1]);
        await dialog.getByLabel('Role in this vault').selectOption('reader');
        await dialog.getByRole('button', { name: 'Make the invitation' }).click();
        await page.getByRole('heading', { name: `Invitation for ${email}` }).waitFor();
        await requireAccessible(page);
        const code = await page.getByLabel('Invitation code').textContent();
        assert.match(code ?? '', /^cv_inv_/);
        assert.ok(!page.url().includes(code ?? ''));
        await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
        await page.getByRole('button', { name: 'Copy as a message' }).click();
        await page.getByText(/^Copied\. The clipboard is cleared/).waitFor();
        const message = String(await page.evaluate('navigator.clipboard.readText()'));
        assert.ok(message.includes(`${tenant.name} in Coffer`));
        await page.getByRole('button', { name: 'Copy the link' }).click();
        await untilInPage(page, 'navigator.clipboard.readText().then((text) => text.startsWith("http"))');
        assert.equal(await page.getByLabel('Invitation link').textContent(), /https?:\S+$/.exec(message)?.[0]);
        await page.getByRole('button', { name: 'Close' }).click();
        assert.equal(await page.getByText(code ?? '').count(), 0);

        const invited = await newPage();
        const urls: string[] = [];
        invited.page.on('request', (request) => urls.push(request.url()));
        await invited.page.goto(/https?:\S+$/.exec(message)?.[0] ?? '');
        await invited.page.getByLabel('The code of your invitation').waitFor();
        assert.equal(await invited.page.getByLabel('The code of your invitation').inputValue(), code);
        assert.equal(await invited.page.evaluate('location.hash'), '#/', 'the address does not keep the code');
        assert.equal(urls.filter((url) => url.replace(/#.*/, '').includes(code ?? '')).length, 0);
        await untilInPage(invited.page, 'document.activeElement?.autocomplete === "new-password"');
        await invited.page.getByText(`invites you to ${tenant.name}`).waitFor();
        await invited.page.getByText(email, { exact: true }).waitFor();
        await invited.page.getByText('member', { exact: true }).waitFor();
        await requireAccessible(invited.page);
        await invited.page.getByLabel('New password').fill('a password of my own');
        await invited.page.getByLabel('The same password again').fill('a password of my own');
        await invited.page.getByRole('button', { name: 'Accept and sign in' }).click();
        await invited.page.getByRole('navigation').waitFor();
        assert.equal(await invited.page.getByRole('link', { name: 'People', exact: true }).count(), 0);
        const late = await newPage();
        await late.page.goto(/https?:\S+$/.exec(message)?.[0] ?? '');
        await late.page
          .getByRole('alert')
          .getByText(/The invitation is invalid/)
          .waitFor();
        await late.page.getByRole('alert').getByText(/req_/).waitFor();
        await late.close();
        await invited.open('/vaults');
        await invited.page.getByRole('link', { name: vaults[1] }).waitFor();
        await invited.open('/people');
        await invited.page.getByRole('heading', { name: 'You may not see this' }).waitFor();
        assert.deepEqual(invited.complaints, []);
        await invited.close();

        await page.getByLabel('Filter by name or address').fill('nobody has this');
        await page.getByRole('heading', { name: 'Nobody has this name.' }).waitFor();
        await page.getByLabel('Filter by name or address').fill('ivy');
        await requireAccessible(page);
        await page.getByRole('link', { name: email }).click();
        await page.getByRole('heading', { name: email }).waitFor();
        const memberships = page.getByRole('table', { name: 'Vaults' });
        await memberships.getByRole('row', { name: vaults[0] }).getByText('writer').waitFor();
        await page.getByRole('button', { name: 'Add to a vault' }).click();
        await dialog.getByLabel('Vault', { exact: true }).fill(vaults[2]);
        await requireAccessible(page);
        await dialog.getByRole('button', { name: 'Add', exact: true }).click();
        await memberships.getByRole('link', { name: vaults[2] }).waitFor();
        await page.getByRole('button', { name: `Remove ${vaults[2]}` }).click();
        await dialog.getByRole('button', { name: 'Remove' }).click();
        await memberships.getByRole('link', { name: vaults[2] }).waitFor({ state: 'detached' });
        await page.getByRole('button', { name: 'Change role' }).click();
        await page.getByLabel('Role', { exact: true }).selectOption('auditor');
        await requireAccessible(page);
        await dialog.getByRole('button', { name: 'Change role' }).click();
        await page.getByText(`${email} is now auditor.`).waitFor();
        await page.getByRole('button', { name: 'Disable' }).click();
        await dialog.getByRole('button', { name: 'Disable' }).click();
        await page.getByText(`${email} is disabled.`).waitFor();
        await page.getByRole('button', { name: 'Enable' }).click();
        await dialog.getByRole('button', { name: 'Enable' }).click();
        await page.getByText('active', { exact: true }).waitFor();
        await requireAccessible(page);
        await page.getByRole('button', { name: 'Delete' }).click();
        assert.equal(await dialog.getByRole('button', { name: 'Delete' }).getAttribute('aria-disabled'), 'true');
        await dialog.getByLabel(`Type ${email} to confirm`).fill(email);
        await dialog.getByRole('button', { name: 'Delete' }).click();
        await page.getByText(`${email} is deleted.`).waitFor();
        const { users } = await ok(service.call('GET', '/v1/users', { token: tenant.owner.token }));
        assert.deepEqual(
          users.map((user: { email: string }) => user.email),
          [tenant.owner.email],
        );
        await open('/people/usr_nobody');
        await page.getByRole('heading', { name: 'There is no such person' }).waitFor();
        forgive(console, /404/);
      }),
    );

    test(
      'an admin sees who has a second factor, of which kind and since when, and who has none',
      inConsole(async ({ page, open, signIn }) => {
        const { service } = world();
        const { tenant, owner } = await newOwner();
        const [careful, careless] = [await addPerson(service, { tenant }), await addPerson(service, { tenant })];
        await firstPasskey(service, careful);
        await open('/people');
        await signIn(owner);
        const rowOf = ({ email }: { email: string }) => page.getByRole('row').filter({ hasText: email });
        await rowOf(careful).getByText('passkey').waitFor();
        await rowOf(careful).getByText('new', { exact: true }).waitFor();
        await rowOf(careless).getByText('none', { exact: true }).waitFor();
        await requireAccessible(page);
        await page.getByLabel('Only people without a second factor').check();
        await rowOf(careful).waitFor({ state: 'detached' });
        await page.getByRole('link', { name: careless.email }).click();
        await page.getByRole('heading', { name: careless.email }).waitFor();
        await page.getByRole('button', { name: 'Disable' }).waitFor();
        assert.equal(await page.getByRole('button', { name: 'Remove second factor' }).count(), 0);
        await open(`/people/${careful.id}`);
        await page.getByText(/^passkey, added .* It opens fortress secrets (?:tomorrow|in 23 hours)/).waitFor();
        await requireAccessible(page);
        await page.getByRole('button', { name: 'Remove second factor' }).click();
        await page.getByRole('dialog').getByRole('button', { name: 'Remove second factor' }).click();
        await page.getByText('none', { exact: true }).waitFor();
      }),
    );

    test(
      'a role that needs a second person waits for one, and a repeated invitation replaces the first',
      inConsole(async (console) => {
        const { page, open, signIn } = console;
        const { service } = world();
        const { tenant, owner } = await newOwner();
        const other = await addPerson(service, { role: 'admin', tenant });
        const email = `${uniqueName('jay')}@example.com`;
        const body = { email, invite: true };
        const jay = await ok(service.call('POST', '/v1/users', { token: tenant.owner.token, body }), 201);
        await open(`/people/${jay.id}`);
        await signIn(owner);
        const dialog = page.getByRole('dialog');
        await page.getByRole('button', { name: 'Invite again' }).click();
        await dialog.getByRole('button', { name: 'Make the invitation' }).click();
        const code = await page.getByLabel('Invitation code').textContent();
        assert.match(code ?? '', /^cv_inv_/);
        assert.notEqual(code, jay.invitation.token);
        await page.getByRole('button', { name: 'Close' }).click();
        await page.getByRole('button', { name: 'Change role' }).click();
        await page.getByLabel('Role', { exact: true }).selectOption('admin');
        await dialog.getByRole('button', { name: 'Change role' }).click();
        await page.getByText(/This needs a second person/).waitFor();
        await page.getByRole('status').getByRole('link', { name: 'See the request' }).waitFor();
        const { approvals } = await ok(service.call('GET', '/approvals?status=pending', { token: other.token }));
        assert.equal(approvals.length, 1);
      }),
    );

    test(
      'a group is created, filled, described, emptied and deleted',
      inConsole(async (console) => {
        const { page, open, signIn } = console;
        const { service } = world();
        const { tenant, owner } = await newOwner();
        const person = await addPerson(service, { tenant });
        await open('/groups');
        await signIn(owner);
        await page.getByRole('heading', { name: 'No groups yet' }).waitFor();
        await requireAccessible(page);
        const dialog = page.getByRole('dialog');
        await page.getByRole('button', { name: 'New group' }).first().click();
        await dialog.getByLabel('Name').fill('not a name/');
        await dialog.getByRole('button', { name: 'Create' }).click();
        await dialog.getByRole('alert').waitFor();
        forgive(console, /422|400/);
        await dialog.getByLabel('Name').fill('payments-team');
        await requireAccessible(page);
        await dialog.getByRole('button', { name: 'Create' }).click();
        await page.getByRole('heading', { name: 'payments-team' }).waitFor();
        await page.getByRole('heading', { name: 'Nobody is in it yet' }).waitFor();
        await page.getByRole('button', { name: 'Add somebody' }).first().click();
        await dialog.getByLabel('E-mail address').fill('nobody@example.com');
        await dialog.getByText('Nobody here has this address.').waitFor();
        await requireAccessible(page);
        await dialog.getByLabel('E-mail address').fill(person.email);
        await dialog.getByRole('button', { name: 'Add' }).click();
        await page.getByRole('link', { name: person.email }).waitFor();
        await page.getByRole('button', { name: 'Edit the description' }).click();
        await dialog.getByLabel('Description').fill('Who works on payments');
        await dialog.getByRole('button', { name: 'Save' }).click();
        await page.getByText('Who works on payments').waitFor();
        await requireAccessible(page);
        await page.getByRole('button', { name: `Remove ${person.email}` }).click();
        await dialog.getByRole('button', { name: 'Remove' }).click();
        await page.getByRole('heading', { name: 'Nobody is in it yet' }).waitFor();
        await page.getByRole('button', { name: 'Delete' }).click();
        await dialog.getByLabel('Type payments-team to confirm').fill('payments-team');
        await dialog.getByRole('button', { name: 'Delete' }).click();
        await page.getByRole('heading', { name: 'No groups yet' }).waitFor();
        const { groups } = await ok(service.call('GET', '/v1/groups', { token: tenant.owner.token }));
        assert.deepEqual(groups, []);
      }),
    );
  });
});
