import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeConsole, forgive, requireAccessible } from '../../support/console.ts';
import {
  account,
  addCluster,
  addClusterPolicy,
  callAsCluster,
  reportHost,
  reportStatus,
  sshKey,
  sync,
} from '../../support/fleet.ts';
import { approve, done, ok, uniqueName } from '../../support/people.ts';
import { onSqliteAtLanding } from '../../support/service.ts';
import { Receiver } from '../../support/siem-receivers.ts';
import { until } from '../../support/until.ts';
import { addSecret, addVault, auditOf } from '../../support/vaults.ts';
import { DRIFT, webhookCalls } from '../../support/webhooks.ts';

onSqliteAtLanding('operations in the console', (database) => {
  describeConsole(
    database,
    (world, inConsole) => {
      test(
        'an encryption key is created, tried, rotated and, unprotected, deleted with approval',
        inConsole(async (console) => {
          const { page, open, signIn } = console;
          const { service } = world();
          const name = uniqueName('customers');
          await open('/keys?new=1');
          await signIn(await world().person());
          const dialog = page.getByRole('dialog');
          await dialog.getByLabel('Name', { exact: true }).fill('not a name');
          await requireAccessible(page);
          await dialog.getByRole('button', { name: 'Create' }).click();
          await dialog.getByRole('alert').getByText(/req_/).waitFor();
          forgive(console, /422/);
          await dialog.getByLabel('Name', { exact: true }).fill(name);
          await dialog.getByRole('button', { name: 'Create' }).click();
          await page.getByRole('heading', { name, exact: true }).waitFor();

          await page.getByLabel('Context').fill('row 7');
          await page.getByLabel('Text', { exact: true }).fill('a text of its own');
          await page.getByRole('button', { name: 'Encrypt' }).click();
          await until('nothing is encrypted', async () => (await page.getByLabel('Encrypted').inputValue()) !== '');
          assert.equal(await page.getByLabel('Text', { exact: true }).inputValue(), '');
          await page.getByLabel('Context').fill('row 8');
          await page.getByRole('button', { name: 'Decrypt' }).click();
          await page.getByRole('alert').getByText(/req_/).waitFor();
          forgive(console, /422/);
          await page.getByLabel('Context').fill('row 7');
          await page.getByRole('button', { name: 'Decrypt' }).click();
          await page.getByText('a text of its own').waitFor();
          await requireAccessible(page);
          await page.evaluate(`dispatchEvent(new Event('blur'))`);
          await page.getByText('a text of its own').waitFor({ state: 'detached' });

          await page.getByRole('button', { name: 'Rotate' }).click();
          await dialog.getByRole('button', { name: 'Rotate' }).click();
          await page.getByText('Version 2 encrypts now.').waitFor();
          await page.getByRole('row', { name: /^(?:Version\s*)?2 / }).waitFor();
          assert.equal(await page.getByRole('button', { name: 'Delete' }).count(), 0);
          await page.getByRole('button', { name: 'Allow deletion' }).click();
          await page.getByRole('button', { name: 'Delete' }).click();
          await dialog.getByLabel('Reason').fill('no longer used');
          await dialog.getByLabel(`Type ${name} to confirm`).fill(name);
          await requireAccessible(page);
          await dialog.getByRole('button', { name: 'Delete' }).click();
          await page.getByText('This needs a second person.').waitFor();
          await page.getByText('deletion waits for approval').waitFor();
          assert.equal((await ok(service.call('GET', `/eaas/keys/${name}`))).status, 'pending_approval');
          await page.getByRole('link', { name: 'Encryption keys' }).first().click();
          await page.getByRole('link', { name }).waitFor();
          await requireAccessible(page);
        }),
      );

      test(
        'an exporter is created with approval, tested, paused, sent again and deleted; its failures are shown',
        inConsole(async (console) => {
          const { page, open, signIn } = console;
          const { service } = world();
          const receiver = await Receiver.start();
          const name = uniqueName('siem');
          const second = await world().person();
          const approveNewest = async () => {
            const path = '/approvals?status=pending';
            const waiting = async () => {
              const { approvals } = await ok(service.call('GET', path, { token: second.token }));
              return approvals.filter(({ kind }: { kind: string }) => kind === 'siem_change');
            };
            await until('nothing waits for approval', async () => (await waiting()).length > 0);
            await ok(approve(service, (await waiting())[0].id, second.token));
          };
          await open('/exporters');
          await signIn(await world().person());
          const dialog = page.getByRole('dialog');
          await page.getByRole('heading', { name: 'No exporters yet' }).waitFor();
          await page.getByRole('button', { name: 'New exporter' }).first().click();
          await dialog.getByLabel('Name', { exact: true }).fill(name);
          await dialog.getByLabel('Receiver').selectOption('https_json');
          await dialog.getByLabel('Address').fill('not an address');
          await dialog.getByLabel('Token').fill('a-token-of-the-siem');
          await requireAccessible(page);
          await dialog.getByRole('button', { name: 'Create' }).click();
          await dialog.getByRole('alert').getByText(/req_/).waitFor();
          forgive(console, /422/);
          await dialog.getByLabel('Address').fill(`${receiver.url}/audit`);
          await dialog.getByLabel('What was done').selectOption('another action …');
          await dialog.getByLabel('Name of the action').fill('secrets:rot*');
          await dialog.getByLabel('Result').selectOption('was allowed');
          await dialog.getByLabel('On what').fill('vault/shop/*');
          await requireAccessible(page);
          await dialog.getByRole('button', { name: 'Create' }).click();
          await page.getByText('This needs a second person.').first().waitFor();
          await approveNewest();
          await open('/webhooks');
          await open('/exporters');
          await page.getByRole('link', { name }).click();
          await page.getByRole('heading', { name, exact: true }).waitFor();
          await page.getByText('On what: vault/shop/*').waitFor();
          const [{ filter }] = (await ok(service.call('GET', '/v1/audit/exporters'))).exporters;
          assert.deepEqual(filter, { action: 'secrets:rot*', decision: 'allow', resource: 'vault/shop/*' });
          await page.getByRole('button', { name: 'Send a test entry' }).click();
          await page.getByText('The receiver accepted it').waitFor();
          assert.ok(receiver.requests.some(({ headers }) => headers.authorization === 'Bearer a-token-of-the-siem'));
          receiver.respond = () => ({ status: 503 });
          await page.getByRole('button', { name: 'Send a test entry' }).click();
          await page.getByText('The receiver did not take it.').waitFor();
          await requireAccessible(page);

          await page.getByRole('button', { name: 'Change' }).click();
          await dialog.getByLabel('Address').fill(`${receiver.url}/elsewhere`);
          await requireAccessible(page);
          await dialog.getByRole('button', { name: 'Save' }).click();
          await dialog.getByRole('alert').getByText('must be given with a new endpoint').waitFor();
          forgive(console, /422/);
          await dialog.getByLabel('Token').fill('a-newer-token-of-the-siem');
          await dialog.getByRole('button', { name: 'Save' }).click();
          await dialog.waitFor({ state: 'detached' });
          await approveNewest();
          receiver.respond = () => ({ status: 200 });
          await page.getByRole('button', { name: 'Send a test entry' }).click();
          await page.getByText('The receiver accepted it').waitFor();
          const newest = receiver.requests.findLast(({ path }) => path === '/elsewhere');
          assert.equal(newest?.headers.authorization, 'Bearer a-newer-token-of-the-siem');

          await page.getByRole('button', { name: 'Send again' }).click();
          await dialog.getByLabel('From').fill('2026-01-01T00:00');
          await requireAccessible(page);
          await dialog.getByRole('button', { name: 'Send again' }).click();
          await page.getByText('It sends again from there.').waitFor();
          await page.getByRole('button', { name: 'Pause' }).click();
          await approveNewest();
          await open('/exporters');
          await page.getByText('paused', { exact: true }).waitFor();
          await requireAccessible(page);
          await page.getByRole('link', { name }).click();
          await page.getByRole('button', { name: 'Delete' }).click();
          await dialog.getByLabel(`Type ${name} to confirm`).fill(name);
          await dialog.getByRole('button', { name: 'Delete' }).click();
          await dialog.waitFor({ state: 'detached' });
          await approveNewest();
          assert.deepEqual((await ok(service.call('GET', '/v1/audit/exporters'))).exporters, []);
          await page.reload();
          await page.getByRole('heading', { name: 'There is no such exporter' }).waitFor();
          forgive(console, /404/);
        }),
      );

      test(
        'a webhook is created with a secret shown once, tested, rotated; a failed delivery is sent again',
        inConsole(async (console) => {
          const { page, open, signIn } = console;
          const { service } = world();
          const receiver = await Receiver.start();
          await open('/webhooks');
          await signIn(await world().person());
          const dialog = page.getByRole('dialog');
          await page.getByRole('heading', { name: 'No webhooks yet' }).waitFor();
          await page.getByRole('button', { name: 'New webhook' }).first().click();
          await dialog.getByLabel('Address').fill('ftp://example.com');
          await dialog.getByLabel('an account of a host needs a look').check();
          await requireAccessible(page);
          await dialog.getByRole('button', { name: 'Create' }).click();
          await dialog.getByRole('alert').getByText(/req_/).waitFor();
          forgive(console, /422/);
          await dialog.getByLabel('Address').fill(`${receiver.url}/hook`);
          await dialog.getByRole('button', { name: 'Create' }).click();
          await dialog.getByText('This is shown once.').waitFor();
          const secret = String(await dialog.getByLabel('Signing secret').textContent());
          await requireAccessible(page);
          await dialog.getByRole('button', { name: 'I have stored it' }).click();
          await page.getByRole('heading', { name: `${receiver.url}/hook` }).waitFor();
          assert.equal(await page.getByText(secret).count(), 0);
          await page.getByRole('button', { name: 'Send a test' }).click();
          await page.getByText('The receiver accepted it').waitFor();

          const { tenant } = await ok(service.call('GET', '/auth/me'));
          const calls = webhookCalls(service, { ...tenant, owner: { id: '', email: '', token: service.adminToken } });
          const [webhook] = (await ok(service.call('GET', '/webhooks'))).webhooks;
          receiver.respond = () => ({ status: 410 });
          await calls.happen(DRIFT);
          await calls.untilEnded(webhook);
          await page.reload();
          await page.getByText('failed', { exact: true }).waitFor();
          await page.getByRole('button', { name: 'Turn on' }).click();
          await page.getByText('The webhook is on.').waitFor();
          await requireAccessible(page);
          receiver.respond = () => ({ status: 200 });
          await page.getByRole('button', { name: 'Send again' }).click();
          await page.getByText('It is sent again.').waitFor();
          await until('it is not delivered', async () => (await calls.newestOf(webhook)).status === 'delivered');

          await page.getByRole('button', { name: 'New secret' }).click();
          await dialog.getByRole('button', { name: 'New secret' }).click();
          await dialog.getByText('This is shown once.').waitFor();
          assert.notEqual(await dialog.getByLabel('Signing secret').textContent(), secret);
          await dialog.getByRole('button', { name: 'I have stored it' }).click();
          await page.getByRole('button', { name: 'Delete' }).click();
          await dialog.getByRole('button', { name: 'Delete' }).click();
          await page.getByRole('heading', { name: 'No webhooks yet' }).waitFor();
        }),
      );

      test(
        'a cluster is created with a token shown once, gets a policy, and shows what was applied',
        inConsole(async (console) => {
          const { page, open, signIn } = console;
          const { service } = world();
          const vault = await addVault(service);
          await addSecret(service, vault, 'db/password');
          const name = uniqueName('shop');
          await open('/clusters');
          await signIn(await world().person());
          const dialog = page.getByRole('dialog');
          await page.getByRole('heading', { name: 'No clusters yet' }).waitFor();
          await page.getByRole('button', { name: 'New cluster' }).first().click();
          await dialog.getByLabel('Name', { exact: true }).fill(name);
          await requireAccessible(page);
          await dialog.getByRole('button', { name: 'Create' }).click();
          await dialog.getByText('This is shown once.').waitFor();
          const cluster_token = String(await dialog.getByLabel('Token', { exact: true }).textContent());
          await requireAccessible(page);
          await dialog.getByRole('button', { name: 'I have stored it' }).click();
          await page.getByRole('heading', { name, exact: true }).waitFor();
          const [found] = (await ok(service.call('GET', '/clusters'))).clusters;
          const cluster = { id: found.id, name, cluster_token };

          await page.getByRole('button', { name: 'Deliver a secret' }).click();
          await dialog.getByLabel('Namespace').fill('shop');
          await dialog.getByLabel('Name of the Kubernetes Secret').fill('database');
          await dialog.getByLabel('Vault').fill(vault);
          await dialog.getByLabel('Keys').fill('password');
          await dialog.getByText('Each line is a key').waitFor();
          await dialog.getByLabel('Keys').fill('password=no/such/secret');
          await requireAccessible(page);
          await dialog.getByRole('button', { name: 'Create' }).click();
          await dialog.getByRole('alert').getByText(/req_/).waitFor();
          forgive(console, /40[0-9]|422/);
          await dialog.getByLabel('Keys').fill('password=db/password');
          await dialog.getByRole('button', { name: 'Create' }).click();
          await page.getByText('shop/database', { exact: true }).waitFor();
          const { generation } = await ok(sync(service, cluster));
          const results = [{ namespace: 'shop', secret_name: 'database', state: 'failed', message: 'is not ours' }];
          await ok(reportStatus(service, cluster, { generation, results }));
          await page.reload();
          await page.getByText('is not ours').waitFor();
          await page.getByText('1 failed').waitFor();
          await requireAccessible(page);

          await page.getByRole('button', { name: 'New token' }).click();
          await dialog.getByLabel('The former one works').selectOption('0');
          await dialog.getByRole('button', { name: 'New token' }).click();
          await dialog.getByText('This is shown once.').waitFor();
          await dialog.getByRole('button', { name: 'I have stored it' }).click();
          assert.equal(
            (await callAsCluster(service, cluster, 'GET', `/clusters/${cluster.id}/desired-state`)).status,
            401,
          );
          await page.getByRole('button', { name: 'Stop' }).click();
          await dialog.getByRole('button', { name: 'Stop' }).click();
          await page.getByText('Nothing yet. A policy names').waitFor();
          await page.getByRole('button', { name: 'Delete' }).click();
          await dialog.getByLabel(`Type ${name} to confirm`).fill(name);
          await dialog.getByRole('button', { name: 'Delete' }).click();
          await page.getByRole('heading', { name: 'No clusters yet' }).waitFor();
        }),
      );

      test(
        'hosts: accounts are filtered, their keys shown and linked to a person, and what does not fit is listed',
        inConsole(async ({ page, open, signIn }) => {
          const { service } = world();
          const person = await world().person();
          await open('/hosts');
          await signIn(person);
          await page.getByRole('heading', { name: 'No host has reported yet' }).waitFor();
          await requireAccessible(page);
          const cluster = await addCluster(service, { kind: 'hosts' });
          const ada = account('ada', { ssh_keys: [sshKey('ada-laptop')] });
          await ok(reportHost(service, cluster, 'web-1', [ada, account('bob')]), 200);
          await page.reload();
          await page.getByRole('row', { name: /ada/ }).waitFor();
          await requireAccessible(page);
          await page.getByLabel('User name').fill('nobody-like-this');
          await page.getByRole('button', { name: 'Filter' }).click();
          await page.getByRole('heading', { name: 'No account is like this.' }).waitFor();
          await page.getByLabel('User name').fill('ada');
          await page.getByRole('button', { name: 'Filter' }).click();
          const row = page.getByRole('row', { name: /ada/ });
          const dialog = page.getByRole('dialog');
          await row.getByRole('button', { name: 'Keys' }).click();
          await dialog.getByText('ada-laptop').waitFor();
          await requireAccessible(page);
          await page.keyboard.press('Escape');
          await page.getByRole('tab', { name: 'To review' }).click();
          await page.getByRole('row', { name: /belongs to no member of a vault.*ada/ }).waitFor();
          await requireAccessible(page);
          await page.getByRole('tab', { name: 'Accounts' }).click();
          await row.getByRole('button', { name: 'Link to a person' }).click();
          await dialog.getByLabel('Person').selectOption(person.id);
          await requireAccessible(page);
          await dialog.getByRole('button', { name: 'Save' }).click();
          await row.getByText(person.email).waitFor();
          const { accounts } = await ok(service.call('GET', '/endpoint-discovery/accounts?username=ada'));
          assert.equal(accounts[0].user_id, person.id);
          await page.setViewportSize({ width: 390, height: 844 });
          await row.waitFor();
          assert.equal(await page.evaluate('document.documentElement.scrollWidth'), 390);
        }),
      );

      test(
        'a caller who may only look is offered no change, and a caller without permission to look is told so without a refused request',
        inConsole(async ({ page, open, signIn }) => {
          const { service } = world();
          const key = uniqueName('key');
          await ok(service.call('POST', '/eaas/keys', { body: { name: key } }), 201);
          const vault = await addVault(service);
          await addSecret(service, vault, 'db/password');
          const cluster = await addCluster(service);
          await done(service, addClusterPolicy(service, cluster, { vault, prefix: 'db/' }), 201);
          const auditor = await world().person('auditor');
          await open(`/clusters/${cluster.id}`);
          await signIn(auditor);
          await page.getByText('everything below db').waitFor();
          for (const name of ['Delete', 'New token', 'Stop', 'Deliver a secret']) {
            assert.equal(await page.getByRole('button', { name, exact: true }).count(), 0, name);
          }
          await open('/keys');
          await page.getByRole('row', { name: key }).waitFor();
          assert.equal(await page.getByRole('link', { name: key }).count(), 0);
          const titles = {
            exporters: 'Exporters',
            webhooks: 'Webhooks',
            clusters: 'Clusters',
            keys: 'Encryption keys',
          };
          for (const [path, title] of Object.entries(titles)) {
            await open(`/${path}?new=1`);
            await page.getByRole('heading', { name: title, level: 1 }).waitFor();
            await page.getByText('Loading').waitFor({ state: 'detached' });
            assert.equal(await page.getByRole('dialog').count(), 0, path);
            assert.equal(await page.getByRole('button', { name: /^New/ }).count(), 0, path);
          }
          assert.deepEqual(await auditOf(service, `actor=${auditor.id}&decision=deny`), []);

          const member = await world().newPage();
          const person = await world().person('member');
          await member.open('/keys');
          await member.signIn(person);
          for (const path of ['keys', 'exporters', 'webhooks', 'hosts', 'clusters', 'workloads', `keys/${key}`]) {
            await member.open(`/${path}`);
            await member.page.getByRole('heading', { name: 'You may not see this' }).waitFor();
          }
          await requireAccessible(member.page);
          assert.deepEqual(member.complaints, []);
          await member.close();
          assert.deepEqual(await auditOf(service, `actor=${person.id}&decision=deny`), []);
        }),
      );
    },
    { CV_OUTBOUND_ALLOW: '127.0.0.1/32' },
  );
});
