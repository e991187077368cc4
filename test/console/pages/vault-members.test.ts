import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeConsole, forgive, requireAccessible } from '../../support/console.ts';
import { addPerson, addTenant, ok } from '../../support/people.ts';
import { onSqliteAtLanding } from '../../support/service.ts';

onSqliteAtLanding('members and settings of a vault in the console', (database) => {
  describeConsole(database, (world, inConsole) => {
    test(
      'members are added, change role, are reviewed and removed; settings are changed; the vault is deleted',
      inConsole(async (console) => {
        const { page, open, signIn } = console;
        const { service } = world();
        const tenant = await addTenant(service);
        const { token } = tenant.owner;
        const password = 'the password of this owner';
        await ok(service.call('POST', '/auth/password', { token, body: { new_password: password } }), 204);
        await ok(service.call('POST', '/v1/vaults', { token, body: { name: 'billing' } }), 201);
        await ok(service.call('POST', '/v1/vaults/billing/secrets', { token, body: { path: 'db', value: 'x' } }), 201);
        const person = await addPerson(service, { tenant });
        const { id: vaultId } = await ok(service.call('GET', '/v1/vaults/billing', { token }));
        const program = {
          name: 'billing-web',
          vault_ids: [vaultId],
          allowed_paths: ['db/*'],
          scopes: ['secrets:read'],
        };
        await ok(service.call('POST', '/v1/app-connections', { token, body: program }), 201);

        await open('/vaults/billing');
        await signIn({ email: tenant.owner.email, password, tenant: tenant.name });
        await page.getByRole('tab', { name: 'Members' }).click();
        // The creator of a vault manages it.
        await page.getByRole('link', { name: tenant.owner.email }).waitFor();
        const dialog = page.getByRole('dialog');
        await page.getByRole('button', { name: 'Add a member' }).click();
        await dialog.getByLabel('Name').fill('nobody@example.com');
        await dialog.getByRole('button', { name: 'Add' }).click();
        await dialog.getByRole('alert').waitFor();
        forgive(console, /404/);
        await requireAccessible(page);
        await dialog.getByLabel('Name').fill(person.email);
        await dialog.getByRole('button', { name: 'Add' }).click();
        await page.getByRole('link', { name: person.email }).waitFor();
        await page.getByRole('button', { name: `Change role of ${person.email}` }).click();
        await dialog.getByLabel('Role', { exact: true }).selectOption('manager');
        await dialog.getByRole('button', { name: 'Change role' }).click();
        await page.getByText(`${person.email} is now manager.`).waitFor();
        await page.getByRole('button', { name: 'Mark as reviewed' }).click();
        await dialog.getByRole('button', { name: 'Mark as reviewed' }).click();
        await page.getByText('2 members are reviewed.').waitFor();
        await page.getByText('You: manager').waitFor();
        await page.getByRole('button', { name: 'Show who else' }).click();
        const others = page.getByRole('table', { name: 'Also reachable by' });
        await others.getByRole('row', { name: tenant.owner.email }).getByText('as owner of the organization').waitFor();
        await others.getByRole('row', { name: 'billing-web' }).getByText('db/*').waitFor();
        assert.equal(await others.getByText(person.email).count(), 0, 'is a member and no more');
        await requireAccessible(page);

        await open('/vaults/billing/secret/db');
        const readers = page.getByRole('heading', { name: 'Who can read it and why' });
        await readers.waitFor();
        await page.getByText('manager of this vault').first().waitFor();
        await page.getByRole('link', { name: person.email }).waitFor();
        await requireAccessible(page);

        await open('/vaults/billing?part=members');
        await page.getByRole('button', { name: `Remove ${person.email}` }).click();
        await dialog.getByRole('button', { name: 'Remove' }).click();
        await page.getByRole('link', { name: person.email }).waitFor({ state: 'detached' });

        await page.getByRole('tab', { name: 'Settings' }).click();
        await page.getByLabel('Description').fill('Everything about billing');
        await page.getByLabel('Tags').fill('team-a, pci');
        await page.getByLabel('New encryption key every').fill('99999');
        await page.getByRole('button', { name: 'Save' }).click();
        await page.getByRole('alert').waitFor();
        forgive(console, /422/);
        await page.getByLabel('New encryption key every').fill('30');
        await page.getByLabel('List every read in the audit log').click();
        await page.getByRole('button', { name: 'Save' }).click();
        await page.getByText('The settings are saved.').waitFor();
        await requireAccessible(page);
        const vault = await ok(service.call('GET', '/v1/vaults/billing', { token }));
        assert.deepEqual([vault.description, vault.tags], ['Everything about billing', ['team-a', 'pci']]);
        assert.deepEqual([vault.encryption.rotation_days, vault.audit.log_reads], [30, false]);
        await page.getByRole('button', { name: 'Delete the vault' }).click();
        await dialog.getByLabel('Type billing to confirm').fill('billin');
        assert.equal(
          await dialog.getByRole('button', { name: 'Delete the vault' }).getAttribute('aria-disabled'),
          'true',
        );
        await dialog.getByLabel('Type billing to confirm').fill('billing');
        await dialog.getByRole('button', { name: 'Delete the vault' }).click();
        await page.getByText('billing is deleted.').waitFor();

        await open('/vaults?deleted=1');
        await page
          .getByRole('row', { name: /billing/ })
          .getByRole('button', { name: 'Restore' })
          .click();
        await page.getByText('billing is back.').waitFor();
        await page.getByText('No deleted vault can be restored.').waitFor();
        await requireAccessible(page);
        await page.getByLabel('Deleted vaults').click();
        await page.getByRole('link', { name: 'billing' }).waitFor();

        const production = { name: 'billing-prod', environment: 'production' };
        await ok(service.call('POST', '/v1/vaults', { token, body: production }), 201);
        await ok(service.call('DELETE', '/v1/vaults/billing-prod', { token }), 202);
        await open('/vaults');
        await page
          .getByRole('row', { name: /billing-prod/ })
          .getByText('deletion waits for approval')
          .waitFor();
        await page.getByRole('link', { name: 'billing-prod' }).click();
        await page.getByText('Somebody asked to delete this vault.').waitFor();
        await requireAccessible(page);
        await page.getByRole('link', { name: 'See the request' }).click();
        await page.getByRole('heading', { name: /billing-prod/ }).waitFor();
      }),
    );

    test(
      'a reader sees the members of the vault, without what they may not do',
      inConsole(async ({ page, open, signIn }) => {
        const { service } = world();
        const tenant = await addTenant(service);
        const { token } = tenant.owner;
        await ok(service.call('POST', '/v1/vaults', { token, body: { name: 'shared' } }), 201);
        await ok(service.call('POST', '/v1/vaults/shared/secrets', { token, body: { path: 'key', value: 'x' } }), 201);
        const reader = await addPerson(service, { tenant });
        const body = { user: reader.id, role: 'reader' };
        await ok(service.call('POST', '/v1/vaults/shared/members', { token, body }), 201);
        await open('/vaults/shared');
        await signIn(reader);
        await page.getByRole('link', { name: 'key' }).waitFor();
        await page.getByText('You: reader').waitFor();
        assert.equal(await page.getByRole('tab').count(), 0);
        await open('/vaults');
        await page.getByRole('row', { name: 'shared' }).getByText('reader').waitFor();
        await open('/vaults/shared/secret/key');
        await page.getByRole('button', { name: 'Hold to reveal' }).waitFor();
        assert.equal(await page.getByRole('heading', { name: 'Who can read it and why' }).count(), 0);
      }),
    );
  });
});
