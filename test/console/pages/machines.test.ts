import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeConsole, forgive, requireAccessible } from '../../support/console.ts';
import { addConnection, callAs } from '../../support/machines.ts';
import { approve, ok, uniqueName } from '../../support/people.ts';
import { onSqliteAtLanding } from '../../support/service.ts';
import { addSecret, addVault, auditOf } from '../../support/vaults.ts';

onSqliteAtLanding('machines in the console', (database) => {
  describeConsole(database, (world, inConsole) => {
    const vaultWithSecret = async () => {
      const vault = await addVault(world().service);
      await addSecret(world().service, vault, 'db/password');
      await addSecret(world().service, vault, 'other');
      return vault;
    };

    test(
      'a connection is created, its credentials are shown once and work, and it is rotated, disabled and deleted',
      inConsole(async (console) => {
        const { page, open, signIn } = console;
        const { service } = world();
        const vault = await vaultWithSecret();
        const name = uniqueName('payments');
        await open('/connections');
        await signIn(await world().person());
        await page.getByRole('heading', { name: 'No connections yet' }).waitFor();
        await requireAccessible(page);
        await page.getByRole('button', { name: 'New connection' }).first().click();
        await page.getByLabel('Name', { exact: true }).fill(name);
        const vaults = page.getByRole('combobox', { name: 'Vaults' });
        await vaults.fill('no-such-vault');
        await page.getByText('You see no vault with the name no-such-vault.').waitFor();
        await vaults.fill(vault);
        const paths = page.getByRole('combobox', { name: 'Paths' });
        const matches = page.getByRole('status', { name: 'What the paths match' });
        await matches.getByText('Every secret: 2 now').waitFor();
        assert.deepEqual(
          await page
            .locator(`#${await paths.getAttribute('list')} option`)
            .evaluateAll((all) => all.map((each) => (each as unknown as { value: string }).value)),
          ['db/*', 'db/password', 'other'],
        );
        await paths.fill('db/*, nothing/*');
        await matches.getByText('matches 1 secret').waitFor();
        await matches.getByText('matches no secret yet').waitFor();
        await paths.fill('db/*, /wrong');
        await page.getByLabel('Require its client certificate').uncheck();
        await page.getByText('DPoP, addresses and sessions').click();
        await requireAccessible(page);
        await page.getByRole('button', { name: 'Create', exact: true }).click();
        await page.getByRole('alert').getByText(/req_/).waitFor();
        forgive(console, /422/);
        await paths.fill('db/*');
        await page.getByRole('button', { name: 'Create', exact: true }).click();

        const dialog = page.getByRole('dialog');
        await dialog.getByText('This is shown once.').waitFor();
        await requireAccessible(page);
        const client_id = String(await dialog.getByLabel('Client id', { exact: true }).textContent());
        const client_secret = String(await dialog.getByLabel('Client secret', { exact: true }).textContent());
        const read = () =>
          callAs(service, { client_id, client_secret }, 'GET', `/v1/vaults/${vault}/secrets/db/password`);
        assert.equal((await read()).status, 200);
        await dialog.getByText('The client id and the client secret are all it needs.').waitFor();
        const whole = page.waitForEvent('download');
        await dialog.getByRole('button', { name: 'Download all as one file' }).click();
        assert.equal((await whole).suggestedFilename(), `${name}-credentials.json`);
        const key = dialog.getByRole('button', { name: `Download ${name}.key` });
        assert.equal(await key.isVisible(), false, 'no certificate is required');
        await dialog.getByText('Certificate files').click();
        const downloading = page.waitForEvent('download');
        await key.click();
        assert.equal((await downloading).suggestedFilename(), `${name}.key`);
        await dialog.getByRole('button', { name: 'I have stored it' }).click();

        await page.getByRole('heading', { name, exact: true }).waitFor();
        await page.getByRole('link', { name: `${vault}/db/password` }).waitFor();
        assert.equal(await page.getByRole('link', { name: `${vault}/other` }).count(), 0);
        assert.equal(await page.getByText(client_secret).count(), 0);
        const stored = await page.evaluate('JSON.stringify([localStorage, sessionStorage, location.href])');
        assert.doesNotMatch(String(stored), /Svc_/);
        await page.getByText('valid', { exact: true }).waitFor();
        await page.getByRole('tab', { name: 'Python' }).click();
        await page.getByText(`client_id="${client_id}"`).waitFor();
        await page.getByText('pip install ./clients/python').waitFor();
        await page.getByText(`COFFER_CLIENT_ID=${client_id}`).waitFor();
        await page.getByText(/^COFFER_CLIENT_SECRET=$/m).waitFor();
        await requireAccessible(page);

        await page.getByRole('button', { name: 'Rotate', exact: true }).click();
        await dialog.getByText('Both work meanwhile').waitFor();
        await dialog.getByRole('button', { name: 'Make new credentials' }).click();
        await dialog.getByText('This is shown once.').waitFor();
        await dialog.getByRole('button', { name: 'I have stored it' }).click();
        assert.equal((await read()).status, 200);
        await page.getByText('Former secret works').waitFor();
        await page.getByRole('button', { name: 'Rotate', exact: true }).click();
        await dialog.getByLabel('The former ones work').selectOption('no longer, at once');
        await dialog.getByText('is refused from now on').waitFor();
        await dialog.getByRole('button', { name: 'Make new credentials' }).click();
        await dialog.getByRole('button', { name: 'I have stored it' }).click();
        assert.equal((await read()).status, 401);

        await page.getByRole('button', { name: 'Disable' }).click();
        await dialog.getByRole('button', { name: 'Disable' }).click();
        await page.getByRole('button', { name: 'Enable' }).waitFor();
        await page.getByRole('button', { name: 'Change' }).click();
        await dialog.getByLabel('Description').fill('reads the database');
        await dialog.getByRole('button', { name: 'Save' }).click();
        await page.getByText('reads the database').waitFor();
        const changed = await ok(service.call('GET', `/v1/app-connections/${client_id}`));
        assert.deepEqual([changed.status, changed.description], ['disabled', 'reads the database']);

        const another = await addVault(service);
        await addSecret(service, another, 'db/replica');
        await page.getByRole('button', { name: 'Change' }).click();
        await vaults.fill(another);
        await vaults.press('Enter');
        await matches.getByText('matches 2 secrets').waitFor();
        await paths.fill('other');
        await matches.getByText('matches 1 secret').waitFor();
        await requireAccessible(page);
        await dialog.getByRole('button', { name: 'Save' }).click();
        await page.getByRole('link', { name: `${another}/db/replica` }).waitFor();
        await page.getByRole('link', { name: `${vault}/other` }).waitFor();
        const code = page.getByRole('region', { name: /^Use it/ });
        await code.getByText(`"${vault}", "${another}"`).waitFor();
        await page.getByLabel('It reads').selectOption(`${another}/db/replica`);
        await code.getByText(`"${another}", "db/replica"`).waitFor();
        await page.getByRole('button', { name: 'Change' }).click();
        await dialog.getByRole('button', { name: `Remove ${vault}` }).click();
        await dialog.getByRole('button', { name: 'Save' }).click();
        await page.getByRole('link', { name: `${vault}/other` }).waitFor({ state: 'detached' });
        const { vault: first, allowed_paths } = await ok(service.call('GET', `/v1/app-connections/${client_id}`));
        assert.deepEqual([first, allowed_paths], [another, ['db/*', 'other']]);

        await page.getByRole('button', { name: 'Delete' }).click();
        await dialog.getByLabel(`Type ${name} to confirm`).fill(name);
        await dialog.getByRole('button', { name: 'Delete' }).click();
        await page.getByText(`${name} is deleted.`).waitFor();
        assert.equal((await service.call('GET', `/v1/app-connections/${client_id}`)).status, 404);
      }),
    );

    test(
      'a bundle is downloaded with its password and its certificate is revoked; an unknown connection is reported',
      inConsole(async (console) => {
        const { page, open, signIn } = console;
        const { service } = world();
        const machine = await addConnection(service, await vaultWithSecret());
        await open(`/connections/${machine.id}`);
        await signIn(await world().person());
        const dialog = page.getByRole('dialog');
        await page.getByRole('button', { name: 'Download bundle' }).click();
        await requireAccessible(page);
        const downloading = page.waitForEvent('download');
        await dialog.getByRole('button', { name: 'Make the archive' }).click();
        const download = await downloading;
        assert.equal(download.suggestedFilename(), `${machine.name}.zip`);
        const pieces: Buffer[] = [];
        for await (const piece of await download.createReadStream()) pieces.push(piece as Buffer);
        assert.equal(Buffer.concat(pieces).subarray(0, 2).toString(), 'PK');
        const password = dialog.getByLabel('Password', { exact: true });
        assert.match(String(await password.textContent()), /^(?:[a-z2-9]{5}-){4}[a-z2-9]{5}$/);
        await requireAccessible(page);
        await dialog.getByRole('button', { name: 'I have stored it' }).click();

        await page
          .getByRole('button', { name: /^Revoke / })
          .nth(1)
          .waitFor();
        await page
          .getByRole('button', { name: /^Revoke / })
          .first()
          .click();
        await dialog.getByLabel('Reason').fill('the laptop was stolen');
        await dialog.getByRole('button', { name: 'Revoke' }).click();
        await page.getByText('The certificate is revoked.').waitFor();
        await page.getByText('the laptop was stolen').waitFor();
        const { certificates } = await ok(service.call('GET', `/v1/app-connections/${machine.id}/certificates`));
        assert.equal(
          certificates.filter(({ reason }: { reason: string }) => reason === 'the laptop was stolen').length,
          1,
        );

        await open('/connections/999999');
        await page.getByRole('heading', { name: 'There is no such connection' }).waitFor();
        forgive(console, /404/);
      }),
    );

    test(
      'a connection to production waits for a second person, and its credentials are made by rotating it',
      inConsole(async ({ page, open, signIn }) => {
        const { service } = world();
        const vault = await addVault(service, { environment: 'production' });
        const name = uniqueName('live');
        const second = await world().person();
        await open('/connections?new=1');
        await signIn(await world().person());
        const dialog = page.getByRole('dialog');
        await dialog.getByLabel('Name', { exact: true }).fill(name);
        await dialog.getByRole('combobox', { name: 'Vaults' }).fill(vault);
        // Over http no certificate can be shown, so none is required unless somebody says so.
        await dialog.getByLabel('Require its client certificate').check();
        await dialog.getByRole('button', { name: 'Create', exact: true }).click();
        await page.getByText('This needs a second person.').waitFor();
        assert.equal(await page.getByRole('link', { name }).count(), 0);
        const { approvals } = await ok(service.call('GET', '/approvals?status=pending', { token: second.token }));
        await ok(approve(service, approvals[0].id, second.token));
        await page.reload();
        await page.getByRole('link', { name }).click();
        await page.getByRole('button', { name: 'Rotate', exact: true }).click();
        await requireAccessible(page);
        await page.getByRole('button', { name: 'Make new credentials' }).click();
        await dialog.getByRole('button', { name: `Download ${name}.key` }).waitFor();
        assert.match(String(await dialog.getByLabel('Client secret', { exact: true }).textContent()), /^Svc_/);
        await dialog.getByRole('button', { name: 'I have stored it' }).click();
        const code = page.getByRole('region', { name: /^Use it/ });
        await code.getByText(service.tlsUrl).waitFor();

        // Another vault is more than it has, so that waits too.
        const other = await addVault(service);
        await page.getByRole('button', { name: 'Change' }).click();
        await dialog.getByRole('combobox', { name: 'Vaults' }).fill(other);
        await dialog.getByRole('button', { name: 'Save' }).click();
        await page.getByText('This needs a second person.').waitFor();
        const [connection] = (await ok(service.call('GET', '/v1/app-connections'))).app_connections.filter(
          (each: { name: string }) => each.name === name,
        );
        assert.equal(connection.vault_ids.length, 1);
      }),
    );

    test(
      'a pipeline is added, shown as a workflow, changed and deleted; a pattern for everybody is refused',
      inConsole(async (console) => {
        const { page, open, signIn } = console;
        const { service } = world();
        const machine = await addConnection(service, await vaultWithSecret());
        await open(`/connections/${machine.client_id}`);
        await signIn(await world().person());
        const dialog = page.getByRole('dialog');
        await page.getByRole('button', { name: 'Add a pipeline' }).click();
        await dialog.getByLabel('Name', { exact: true }).fill('main');
        await dialog.getByLabel('Which pipelines').fill('**');
        await dialog.getByLabel('Claims').fill('no equals sign');
        await dialog.getByText('Each line is a name').waitFor();
        await requireAccessible(page);
        await dialog.getByLabel('Claims').fill('repository_id=123456789');
        await dialog.getByRole('button', { name: 'Save' }).click();
        await dialog.getByRole('alert').getByText(/req_/).waitFor();
        forgive(console, /422/);
        await dialog.getByLabel('Which pipelines').fill('repo:acme/shop:ref:refs/heads/main');
        await dialog.getByRole('button', { name: 'Save' }).click();
        await page.getByText('main is saved.').waitFor();
        const path = `/app-connections/${machine.id}/federations`;
        const { federations } = await ok(service.call('GET', path));
        assert.deepEqual(federations[0].claims, { repository_id: '123456789' });

        await page.getByRole('button', { name: 'Example' }).click();
        const workflow = await dialog.locator('pre').textContent();
        assert.ok(workflow?.includes(machine.client_id) && workflow.includes('id-token: write'));
        await requireAccessible(page);
        await page.keyboard.press('Escape');

        const row = page.getByRole('row', { name: /main/ });
        await row.getByRole('button', { name: 'Change' }).click();
        await dialog.getByLabel('Minutes that the token lives').fill('5');
        await dialog.getByLabel('Enabled').uncheck();
        await dialog.getByRole('button', { name: 'Save' }).click();
        await row.getByText('disabled').waitFor();
        const [changed] = (await ok(service.call('GET', path))).federations;
        assert.deepEqual([changed.token_ttl_seconds, changed.enabled], [300, false]);
        assert.deepEqual(changed.claims, { repository_id: '123456789' });
        await row.getByRole('button', { name: 'Delete' }).click();
        await dialog.getByRole('button', { name: 'Delete' }).click();
        await page.getByText('No pipeline may use it yet.').waitFor();
      }),
    );

    test(
      'a workload method is created by type, shown as code, changed and deleted; a wrong pattern is refused',
      inConsole(async (console) => {
        const { page, open, signIn } = console;
        const { service } = world();
        const machine = await addConnection(service, await vaultWithSecret());
        await open('/workloads');
        await signIn(await world().person());
        const dialog = page.getByRole('dialog');
        await page.getByRole('heading', { name: 'No methods yet' }).waitFor();
        await requireAccessible(page);
        await page.getByRole('button', { name: 'New method' }).first().click();
        await dialog.getByLabel('Name', { exact: true }).fill('issuer');
        await dialog.getByLabel('Acts as').selectOption(machine.name);
        await requireAccessible(page);
        await dialog.getByLabel('Kind of identity').selectOption('oidc_generic');
        await dialog.getByLabel('Issuer').fill('https://issuer.example.com');
        await dialog.getByLabel('Audience').fill('coffer');
        await dialog.getByLabel('Subjects (patterns)').fill('job:(main');
        await dialog.getByRole('button', { name: 'Save' }).click();
        await dialog.getByRole('alert').getByText(/req_/).waitFor();
        forgive(console, /422/);
        await dialog.getByLabel('Subjects (patterns)').fill('job:main\njob:release-[0-9]+');
        await dialog.getByRole('button', { name: 'Save' }).click();
        await page.getByText('issuer is saved.').waitFor();
        const [method] = (await ok(service.call('GET', '/workload-identity/methods'))).methods;
        assert.deepEqual(method.config.allowed_subjects, ['job:main', 'job:release-[0-9]+']);
        assert.equal(method.app_connection_id, machine.id);

        const row = page.getByRole('row', { name: /issuer/ });
        await row.getByRole('button', { name: 'Example' }).click();
        await dialog.getByText(`method_id: ${method.id}`).waitFor();
        await requireAccessible(page);
        await page.keyboard.press('Escape');
        await row.getByRole('button', { name: 'Change' }).click();
        await dialog.getByLabel('Subjects (patterns)').fill('job:main');
        await dialog.getByRole('button', { name: 'Save' }).click();
        await dialog.waitFor({ state: 'detached' });
        const changed = await ok(service.call('GET', `/workload-identity/methods/${method.id}`));
        assert.deepEqual(changed.config, { ...method.config, allowed_subjects: ['job:main'] });
        await row.getByRole('button', { name: 'Delete' }).click();
        await dialog.getByRole('button', { name: 'Delete' }).click();
        await page.getByRole('heading', { name: 'No methods yet' }).waitFor();
      }),
    );

    test(
      'a caller who may only look is offered no change, a caller without permission to look is told so, and no request is refused',
      inConsole(async ({ page, open, signIn }) => {
        const { service } = world();
        const machine = await addConnection(service, await vaultWithSecret());
        const auditor = await world().person('auditor');
        await open(`/connections/${machine.id}`);
        await signIn(auditor);
        await page.getByRole('heading', { name: machine.name }).waitFor();
        await page.getByText('no use known').waitFor();
        await page.getByText('No pipeline may use it yet.').waitFor();
        for (const name of ['Rotate', 'Download bundle', 'Disable', 'Delete', 'Change', 'Add a pipeline']) {
          assert.equal(await page.getByRole('button', { name, exact: true }).count(), 0, name);
        }
        assert.equal(await page.getByRole('button', { name: /^Revoke/ }).count(), 0);
        await open('/connections');
        await page.getByRole('link', { name: machine.name }).waitFor();
        assert.equal(await page.getByRole('button', { name: 'New connection' }).count(), 0);

        const member = await world().newPage();
        const person = await world().person('member');
        await member.open('/connections?new=1');
        await member.signIn(person);
        await member.page.getByRole('heading', { name: 'You may not see this' }).waitFor();
        assert.equal(await member.page.getByRole('link', { name: 'Connections' }).count(), 0);
        await requireAccessible(member.page);
        assert.deepEqual(member.complaints, []);
        await member.close();
        for (const { id } of [auditor, person]) {
          assert.deepEqual(await auditOf(service, `actor=${id}&decision=deny`), []);
        }
      }),
    );
  });
});
