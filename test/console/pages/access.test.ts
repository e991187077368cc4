import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeConsole, requireAccessible } from '../../support/console.ts';
import { addPerson, done, ok, uniqueName } from '../../support/people.ts';
import { onBothDatabases } from '../../support/service.ts';
import { addSecret, addVault, POLICY_VERSION } from '../../support/vaults.ts';

/** Who can read what as a picture and a table, by mouse and by keyboard. */

onBothDatabases('access in the console', (database) => {
  describeConsole(database, (world, inConsole) => {
    const build = async () => {
      const { service } = world();
      const vault = await addVault(service);
      for (const path of ['db/password', 'mail/key']) await addSecret(service, vault, path);
      const reader = await addPerson(service);
      const group = await ok(service.call('POST', '/v1/groups', { body: { name: uniqueName('readers') } }), 201);
      await ok(service.call('POST', `/v1/groups/${group.id}/members`, { body: { user_id: reader.id } }), 201);
      const statement = { action: ['secrets:read'], resource: [`vault/${vault}/db/*`] };
      const policy = uniqueName('policy');
      const document = { version: POLICY_VERSION, statement: [{ effect: 'allow', ...statement }] };
      await ok(service.call('POST', '/v1/policies', { body: { name: policy, document } }), 201);
      const body = { principal: { group: group.id } };
      await done(service, service.call('POST', `/v1/policies/${policy}/attach`, { body }), 200);
      return { vault, reader, group, policy };
    };

    test(
      'who can read a secret is drawn as far as the person, with what gives the right',
      inConsole(async ({ page, open, signIn }) => {
        const { vault, reader, group, policy } = await build();
        await open('/');
        await signIn(await world().person('admin'));
        await open(`/vaults/${vault}/secret/db/password`);
        await page.getByRole('main').getByRole('link', { name: 'Access graph' }).click();
        const node = (name: string) => page.locator('.graph-node').filter({ hasText: name.slice(0, 23) });
        for (const name of [reader.email, group.name, policy, vault, 'db/password']) await node(name).first().waitFor();
        const rows = page.getByRole('table', { name: 'Ways to read' }).getByRole('row');
        const row = rows.filter({ hasText: reader.email });
        assert.match(await row.innerText(), new RegExp(`${policy}[\\s\\S]*${group.name}`));
        await row.getByRole('button', { name: /^Show the way of/ }).click();
        await row.getByText('shown above').waitFor();
        assert.ok((await page.locator('.graph-node.on-path').count()) >= 5);
        await requireAccessible(page);

        // By keyboard: from the person to the right, and Enter lights all ways through it.
        await node(reader.email).first().focus();
        await page.keyboard.press('ArrowRight');
        await page.keyboard.press('Enter');
        await page.locator('.graph.has-chosen').waitFor();
        await page.keyboard.press('Escape');
        await page.locator('.graph.has-chosen').waitFor({ state: 'detached' });
      }),
    );

    test(
      'what a person can reach is chosen by form, to vaults or to each secret',
      inConsole(async ({ page, open, signIn }) => {
        const { vault, reader, group } = await build();
        await open('/');
        await signIn(await world().person('auditor'));
        await open('/access');
        await page.getByLabel('Show the ways of').selectOption({ label: 'a person' });
        await page.getByLabel('E-mail address or id').fill(reader.email);
        await page.getByRole('button', { name: 'Show', exact: true }).click();
        await page.getByText('One way.').waitFor();
        const table = page.getByRole('table', { name: 'Ways to read' });
        await table.getByRole('link', { name: vault, exact: true }).waitFor();
        await page.getByLabel('As far as each secret').check();
        await page.getByRole('button', { name: 'Show', exact: true }).first().click();
        await table.getByRole('link', { name: `${vault}/db/password` }).waitFor();
        assert.equal(await table.getByText('mail/key').count(), 0);
        assert.ok(new URL(page.url()).hash.includes('depth=secrets'));

        await page.getByLabel('Show the ways of').selectOption({ label: 'a group' });
        await page.getByLabel('Name or id of the group').fill(group.name);
        await page.getByRole('button', { name: 'Show', exact: true }).first().click();
        await table.getByRole('link', { name: `${vault}/db/password` }).waitFor();

        await page.getByLabel('Show the ways of').selectOption({ label: 'a secret' });
        await page.getByLabel('Vault and path').fill('no-path');
        await page.getByText('A secret is named by its vault, a slash and its path.').waitFor();
        await page.getByLabel('Vault and path').fill(`${uniqueName('none')}/x`);
        await page.getByRole('button', { name: 'Show', exact: true }).first().click();
        await page.getByText('No way leads there').waitFor();
      }),
    );
  });
});
