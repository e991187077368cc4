import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeConsole, requireAccessible } from '../support/console.ts';
import { addConnection } from '../support/machines.ts';
import { ok } from '../support/people.ts';
import { onSqliteAtLanding } from '../support/service.ts';
import { addVault } from '../support/vaults.ts';

onSqliteAtLanding('the console of a service without a TLS port', (database) => {
  describeConsole(
    database,
    (world, inConsole) => {
      test(
        'no certificate is requested that no program could show',
        inConsole(async ({ page, open, signIn }) => {
          const { service } = world();
          const admin = await world().person();
          assert.equal((await ok(service.call('GET', '/auth/me', { token: admin.token }))).tls_url, null);
          const vault = await addVault(service);
          await open('/connections?new=1');
          await signIn(admin);
          const dialog = page.getByRole('dialog');
          await dialog.getByText('CV_TLS_PORT').waitFor();
          const certificate = dialog.getByLabel('Require its client certificate');
          assert.equal(await certificate.count(), 0);
          await requireAccessible(page);

          // One that was made while there was a TLS port can be freed from it.
          const { id, name } = await addConnection(service, vault, { mtls_required: true });
          await open(`/connections/${id}`);
          await page.getByRole('heading', { name: String(name) }).waitFor();
          await page.getByRole('button', { name: 'Change' }).click();
          await dialog.getByText('It cannot show one').waitFor();
          await certificate.uncheck();
          await dialog.getByRole('button', { name: 'Save' }).click();
          await page.getByText('The changes are saved.').waitFor();
          assert.equal((await ok(service.call('GET', `/v1/app-connections/${id}`))).mtls_required, false);
        }),
      );
    },
    { CV_TLS_PORT: 'off' },
  );
});
