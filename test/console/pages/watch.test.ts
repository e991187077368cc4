import assert from 'node:assert/strict';
import { test } from 'node:test';
import { finding, raiseIn } from '../../support/anomalies.ts';
import { addAuthenticator, describeConsole, forgive, requireAccessible } from '../../support/console.ts';
import { addTenant, approve, ok, openSession, refused, uniqueName } from '../../support/people.ts';
import { recompute } from '../../support/risk.ts';
import { onSqliteAtLanding } from '../../support/service.ts';

onSqliteAtLanding('watching in the console', (database) => {
  describeConsole(database, (world, inConsole) => {
    const newSecret = async () => {
      const { service } = world();
      const vault = uniqueName('vault');
      const { id: vaultId } = await ok(service.call('POST', '/v1/vaults', { body: { name: vault } }), 201);
      const body = { path: 'db/password', value: 'swordfish-17' };
      const { id: secretId } = await ok(service.call('POST', `/v1/vaults/${vault}/secrets`, { body }), 201);
      return { vault, vaultId, secretId, resource: `vault/${vault}/db/password` };
    };

    test(
      'a change that waits is shown as it will be, and approved; the requester cannot approve it',
      inConsole(async ({ page, open, signIn }) => {
        const { service } = world();
        const [asking, deciding] = [await world().person(), await world().person()];
        const waitingDeletion = async (token: string) => {
          const key = uniqueName('key');
          await ok(service.call('POST', '/eaas/keys', { body: { name: key, delete_protection: false } }), 201);
          const { approval_id } = await ok(
            service.call('DELETE', `/eaas/keys/${key}`, { token, body: { reason: 'nobody uses it any more' } }),
            202,
          );
          return { key, id: approval_id as string };
        };
        const { key } = await waitingDeletion(asking.token);
        await open('/approvals');
        await signIn(deciding);
        await page.getByRole('link', { name: /^Approvals \d+ requests? waits? for you/ }).waitFor();
        await page.getByRole('link', { name: new RegExp(key) }).click();
        await page.getByRole('heading', { name: 'What will happen' }).waitFor();
        await page.getByRole('heading', { name: `Delete an encryption key: ${key}` }).waitFor();
        await page.getByText('The request as it was sent').click();
        await page.getByText(`DELETE /eaas/keys/${key}`).waitFor();
        await requireAccessible(page);
        await page.getByRole('button', { name: 'Approve' }).click();
        await page.getByText('Approved.').waitFor();
        await page.getByRole('heading', { name: 'What happened' }).waitFor();
        await open(`/approvals/${(await waitingDeletion(deciding.token)).id}`);
        await page.getByText('You requested this yourself.').waitFor();
        assert.equal(await page.getByRole('button', { name: 'Approve' }).count(), 0);
        await page.getByRole('button', { name: 'Withdraw' }).click();
        await page.getByText('Withdrawn.').first().waitFor();
        await open('/approvals');
        await page.getByLabel('Status').selectOption('expired');
        await page.getByRole('heading', { name: 'Nothing waits here' }).waitFor();
      }),
    );

    test(
      'a request is decided in the list, once it was unfolded there',
      inConsole(async ({ page, open, signIn }) => {
        const { service } = world();
        const [requester, deciding] = [await world().person(), await world().person()];
        const key = uniqueName('key');
        await ok(service.call('POST', '/eaas/keys', { body: { name: key, delete_protection: false } }), 201);
        const body = { reason: 'nobody uses it any more' };
        await ok(service.call('DELETE', `/eaas/keys/${key}`, { token: requester.token, body }), 202);
        await open('/approvals');
        await signIn(deciding);
        const card = page.getByRole('region', { name: `Delete an encryption key: ${key}` });
        await card.getByText('your turn').waitFor();
        assert.equal(await card.getByRole('button', { name: 'Approve' }).count(), 0, 'nothing is approved unseen');
        await card.getByRole('button', { name: /^See what changes/ }).click();
        await card.getByText('The request as it was sent').waitFor();
        await requireAccessible(page);
        await card.getByRole('button', { name: 'Approve' }).click();
        await page.getByText('Approved.').waitFor();
        await card.waitFor({ state: 'detached' });
        await refused(service.call('GET', `/eaas/keys/${key}`), 404, 'NOT_FOUND');
      }),
    );

    test(
      'the requester is told what became of it, on a phone too, until they opened it or put it away',
      inConsole(async ({ page, open, signIn }) => {
        const { service } = world();
        const [asking, deciding] = [await world().person(), await world().person()];
        const member = await world().person('member');
        const ask = async (body: object) => {
          const path = `/v1/users/${member.id}`;
          return (await ok(service.call('PATCH', path, { token: asking.token, body }), 202)).approval_id as string;
        };
        const [granted, rejected] = [await ask({ role: 'auditor' }), await ask({ role: 'admin' })];
        await open('/');
        await signIn(asking);
        await page.setViewportSize({ width: 390, height: 844 });
        await page.getByRole('heading', { name: 'Start' }).waitFor();
        await open('/approvals');
        await page
          .getByRole('link', { name: `Change a person: ${member.email}` })
          .first()
          .waitFor();
        assert.equal(await page.getByRole('heading', { name: /requests? w\w+ decided/ }).count(), 0);

        await open(`/approvals/${granted}`);
        await page.getByText('The request as it was sent').click();
        await page.getByRole('heading', { name: 'Names in it' }).waitFor();
        const [width, room] = (await page.evaluate('[document.documentElement.scrollWidth, innerWidth]')) as number[];
        assert.ok(Number(width) <= Number(room), `${width} wide in ${room}`);
        await ok(approve(service, granted, deciding.token));
        const reason = { reason: 'ask their lead first' };
        await ok(service.call('POST', `/approvals/${rejected}/reject`, { token: deciding.token, body: reason }));

        await open('/');
        await page.getByRole('heading', { name: '2 of your requests were decided' }).waitFor();
        await requireAccessible(page);
        await page.getByRole('listitem').filter({ hasText: 'Done' }).getByRole('link').click();
        await page.getByText('Your request was granted and carried out.').waitFor();
        await requireAccessible(page);
        await page.getByRole('link', { name: 'Go on there' }).click();
        await page.getByRole('heading', { name: member.email }).waitFor();
        await open('/');
        await page.getByRole('heading', { name: 'Your request was decided' }).waitFor();
        await page.getByRole('button', { name: 'Put away' }).click();
        await page.getByRole('heading', { name: 'Your request was decided' }).waitFor({ state: 'detached' });
        await open(`/approvals/${rejected}`);
        await page.getByText('Your request was rejected or withdrawn.').waitFor();
        await page.getByText('ask their lead first').waitFor();
      }),
    );

    test(
      'the only administrator there is approves their own request, as a step of its own',
      inConsole(async ({ page, open, signIn }) => {
        const { service } = world();
        const tenant = await addTenant(service);
        const { owner } = tenant;
        const password = 'the password of the only owner';
        const session = await openSession(service, owner.id);
        await ok(service.call('POST', '/auth/password', { token: session, body: { new_password: password } }), 204);
        const [name, { token }] = [uniqueName('key'), owner];
        await ok(service.call('POST', '/eaas/keys', { token, body: { name, delete_protection: false } }), 201);
        const body = { reason: 'nobody uses it any more' };
        const { approval_id } = await ok(service.call('DELETE', `/eaas/keys/${name}`, { token, body }), 202);
        await open(`/approvals/${approval_id}`);
        await signIn({ email: owner.email, password, tenant: tenant.name });
        await page.getByText('You requested this yourself, and nobody else can approve it.').waitFor();
        await requireAccessible(page);
        await page.getByRole('button', { name: 'Approve' }).click();
        await page.getByText('Approved.').waitFor();
        const { status, self_approved } = await ok(service.call('GET', `/approvals/${approval_id}`, { token }));
        assert.deepEqual([status, self_approved], ['completed', true]);

        // Nobody could trust their first passkey, so they are not told to ask.
        await addAuthenticator(page);
        await open('/me');
        await page.getByRole('button', { name: 'Add a passkey' }).click();
        await page.getByLabel('Name', { exact: true }).last().fill('laptop');
        await page.getByRole('dialog').getByRole('button', { name: 'Add a passkey' }).click();
        await page.getByRole('button', { name: 'Later' }).click();
        await page.getByText('because you are the only owner or admin').waitFor();
        assert.equal(await page.getByRole('button', { name: 'Ask the administrators to trust it' }).count(), 0);
      }),
    );

    test(
      'entries are found by choosing, by the beginning of a name, and from the page of a secret',
      inConsole(async (console) => {
        const { page, open, signIn } = console;
        const { service } = world();
        const { vault, resource } = await newSecret();
        await ok(service.call('GET', `/v1/vaults/${vault}/secrets/db/password`));
        await open(`/vaults/${vault}/secret/db/password`);
        const admin = await world().person();
        await signIn(admin);
        await page.getByRole('link', { name: 'All reads' }).click();
        const rows = page.getByRole('row').filter({ hasText: resource });
        const filters = page.getByRole('list', { name: 'Filters' });
        await rows.first().waitFor();
        assert.equal(await rows.count(), 1);
        await filters.getByText(`To what: ${resource}`, { exact: true }).waitFor();
        await filters.getByText('What was done: Read a secret with its value').waitFor();

        await page.getByLabel('What was done', { exact: true }).fill('create a secret');
        await page.getByRole('button', { name: 'Show', exact: true }).click();
        await filters.getByText('What was done: Create a secret').waitFor();
        await rows.first().waitFor();
        await page.getByLabel('Who', { exact: true }).fill('nobody-at-all');
        await page.getByRole('button', { name: 'Show', exact: true }).click();
        await page.getByRole('heading', { name: 'No entry matches' }).waitFor();
        await requireAccessible(page);
        await page.getByRole('button', { name: 'Remove the filter “Who: nobody-at-all …”' }).click();
        await rows.first().waitFor();

        await page.getByRole('button', { name: 'Clear the filters' }).click();
        await page.getByLabel('Who', { exact: true }).fill(admin.email.slice(0, -4));
        await page.getByLabel('What was done', { exact: true }).fill('Everything about secrets');
        await page.getByRole('button', { name: 'Show', exact: true }).click();
        await page.getByRole('row').filter({ hasText: admin.email }).first().waitFor();
        await page.getByLabel('What was done', { exact: true }).fill('something odd');
        await page.getByRole('button', { name: 'Show', exact: true }).click();
        await page.getByText(/^Choose one of the list/).waitFor();
        await page.getByRole('heading', { name: 'Nothing was searched' }).waitFor();
        assert.equal(await page.getByRole('table').count(), 0, 'the list before is not the answer');
        await page.getByRole('button', { name: 'Clear the filters' }).click();
        await page.getByText(/^Choose one of the list/).waitFor({ state: 'detached' });
        assert.equal(await page.getByLabel('What was done', { exact: true }).inputValue(), '');
        await page.getByRole('table').waitFor();
        await page.getByLabel('What was done', { exact: true }).fill('members:*');
        await page.getByRole('button', { name: 'Show', exact: true }).click();
        await filters.getByText('What was done: members: …').waitFor();
        assert.match(await page.evaluate('location.hash'), /action=members%3A\*/);
        await page.getByLabel('Request id', { exact: true }).fill('not one');
        await page.getByRole('button', { name: 'Show', exact: true }).click();
        await page.getByRole('alert').waitFor();
        forgive(console, /422/);
      }),
    );

    test(
      'the audit log is filtered, followed and verified',
      inConsole(async ({ page, open, signIn }) => {
        const { service } = world();
        const { vault, resource } = await newSecret();
        await ok(service.call('GET', `/v1/vaults/${vault}/secrets/db/password`));
        await open(`/audit?vault=${vault}&action=secrets:read`);
        await signIn(await world().person());
        const rows = page.getByRole('row').filter({ hasText: resource });
        await rows.first().waitFor();
        assert.equal(await rows.count(), 1);
        await requireAccessible(page);
        await page.getByLabel('Follow new entries').check();
        await ok(service.call('GET', `/v1/vaults/${vault}/secrets/db/password`));
        await rows.nth(1).waitFor();
        await rows.first().getByRole('button', { name: 'Details' }).click();
        const dialog = page.getByRole('dialog', { name: 'Read a secret with its value' });
        await dialog.getByText('HTTP status 200').waitFor();
        await dialog.getByText('secrets:read', { exact: true }).waitFor();
        assert.equal(
          await dialog.getByText('"request_id"').isVisible(),
          false,
          'the entry as data is one click further',
        );
        await requireAccessible(page);
        await dialog.getByText('Everything, as JSON').click();
        await dialog.getByText('"request_id"').waitFor();
        assert.equal(await page.getByText('swordfish').count(), 0);
        await dialog.getByRole('button', { name: 'Close' }).click();
        await ok(service.call('GET', `/v1/vaults/${vault}/aggregate`));
        await rows.nth(2).waitFor();
        await rows.first().getByRole('button', { name: 'Details' }).click();
        await dialog.getByText('together with other values, in one request').waitFor();
        await dialog.getByRole('link', { name: 'More of this request' }).click();
        await page
          .getByRole('list', { name: 'Filters' })
          .getByText(/Request id: req_/)
          .waitFor();
        await page.getByRole('row').filter({ hasText: resource }).first().waitFor();
        const saving = page.waitForEvent('download');
        await page.getByRole('button', { name: 'Download the log' }).click();
        assert.match((await saving).suggestedFilename(), /^audit-.*\.jsonl$/);
        await page.getByRole('button', { name: 'Verify the log' }).click();
        await page.getByRole('dialog').getByRole('button', { name: 'Verify the log' }).click();
        await page.getByText(/The log is valid/).waitFor();
        await requireAccessible(page);
        await page.keyboard.press('Escape');
        await open(`/audit?vault=${vault}`);
        await page.getByRole('row').filter({ hasText: 'Create a vault' }).waitFor();
        const lists = page.getByRole('row').filter({ hasText: 'List the secrets' });
        await ok(service.call('GET', `/v1/vaults/${vault}/secrets`));
        assert.equal(await lists.count(), 0);
        await page.getByLabel('Hide look-ups').uncheck();
        await lists.first().waitFor();
        await requireAccessible(page);
        await page.getByLabel('From', { exact: true }).fill('2026-02-02T10:00');
        await page.getByLabel('Until', { exact: true }).fill('2026-02-01T10:00');
        await page.getByText('This is not after “From”, so no entry can match.').waitFor();
        await page.setViewportSize({ width: 390, height: 844 });
        await open('/audit');
        await page.getByLabel('Hide look-ups').waitFor();
        assert.equal(
          await page.getByLabel('From', { exact: true }).isVisible(),
          false,
          'filters are folded on a phone',
        );
        await page.getByText('Filter the entries').click();
        await page.getByLabel('From', { exact: true }).waitFor();
        await page.setViewportSize({ width: 1280, height: 800 });
        await open('/audit?action=nothing:here');
        await page.getByRole('heading', { name: 'No entry matches' }).waitFor();
        await open('/audit?from=some-day&to=2020-01-01T12:00:00.000Z');
        await page.getByText(/^Until: 1\/1\/2020/).waitFor();
        await page.getByRole('heading', { name: 'No entry matches' }).waitFor();
      }),
    );

    test(
      'an anomaly says what to do and is acknowledged; an empty list teaches',
      inConsole(async ({ page, open, signIn }) => {
        const { service } = world();
        const { tenant } = await ok(service.call('GET', '/auth/me'));
        const secret = await newSecret();
        await raiseIn(service, tenant.id, 'stale_rotation', finding(secret));
        await open('/anomalies');
        await signIn(await world().person());
        const row = page.getByRole('row').filter({ hasText: secret.resource });
        await row.waitFor();
        await requireAccessible(page);
        await row.getByRole('link').click();
        await page.getByRole('heading', { name: 'What to do' }).waitFor();
        await page.getByRole('heading', { name: 'What is usual here' }).waitFor();
        await requireAccessible(page);
        await page.getByRole('button', { name: 'Acknowledge' }).click();
        await page.getByLabel('Note').fill('on it');
        await page.getByRole('dialog').getByRole('button', { name: 'Acknowledge' }).click();
        await page.getByText('on it').waitFor();
        await open('/anomalies?status=resolved');
        await page.getByRole('heading', { name: 'Nothing unusual' }).waitFor();
      }),
    );

    test(
      'attack paths are drawn from the person to the secret',
      inConsole(async ({ page, open, signIn }) => {
        const { service } = world();
        const person = await world().person();
        const { vault } = await newSecret();
        await recompute(service);
        await open('/attack-paths');
        await signIn(person);
        const row = page.getByRole('table', { name: 'Attack paths' }).getByRole('row').filter({ hasText: vault });
        await row.first().waitFor();
        await page.getByLabel('Find in the picture').fill(vault);
        const found = page.getByRole('button', { name: `${vault} vault`, exact: true });
        await found.focus();
        await page.keyboard.press('Enter');
        await page.getByText(new RegExp(`^${vault} is on ways with [1-9]`)).waitFor();
        await page.keyboard.press('ArrowRight');
        const focused = () => page.evaluate('document.activeElement?.textContent');
        assert.match(String(await focused()), /^db\/password/);
        await page.keyboard.press('ArrowLeft');
        assert.equal(await focused(), `${vault}vault`);
        await page.keyboard.press('Escape');
        await page.getByText(/Choose one to see all ways through it/).waitFor();
        await requireAccessible(page);
        await open(`/vaults/${vault}/secret/db/password`);
        await page.getByRole('link', { name: 'Attack paths to it' }).click();
        await page.getByRole('button', { name: `${vault} vault`, exact: true }).waitFor();
        assert.equal(await page.getByLabel('Find in the picture').inputValue(), `${vault}/db/password`);
        assert.equal(await page.getByRole('button', { name: / vault$/ }).count(), 1);
      }),
    );

    test(
      'a caller without permission to see these pages is not led to them',
      inConsole(async ({ page, open, signIn }) => {
        await open('/');
        await signIn(await world().person('member'));
        await page.getByRole('link', { name: 'Vaults' }).waitFor();
        await page.getByRole('link', { name: 'Approvals' }).waitFor();
        for (const name of ['Audit log', 'Attack paths']) {
          assert.equal(await page.getByRole('link', { name }).count(), 0, name);
        }
      }),
    );
  });
});
