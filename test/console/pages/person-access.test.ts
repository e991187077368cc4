import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeConsole, requireAccessible } from '../../support/console.ts';
import { addPerson, addTenant, ok, refused, uniqueName } from '../../support/people.ts';
import { onSqliteAtLanding } from '../../support/service.ts';
import { addSecret, addVault, secretUrl } from '../../support/vaults.ts';

/** What somebody can reach and read, and the end of it. */

onSqliteAtLanding('the access of a person in the console', (database) => {
  describeConsole(database, (world, inConsole) => {
    /** A tenant whose owner has a password, so that nothing needs a second person. */
    const build = async () => {
      const { service } = world();
      const tenant = await addTenant(service);
      const { token } = tenant.owner;
      const password = 'the password of this owner';
      await ok(service.call('POST', '/auth/password', { token, body: { new_password: password } }), 204);
      const [own, shared] = [await addVault(service, {}, token), await addVault(service, {}, token)];
      await addSecret(service, own, 'db/password', {}, token);
      const leaver = await addPerson(service, { tenant });
      const group = await ok(service.call('POST', '/v1/groups', { token, body: { name: uniqueName('team') } }), 201);
      const join = (path: string, body: object) => ok(service.call('POST', path, { token, body }), 201);
      await join(`/v1/groups/${group.id}/members`, { user_id: leaver.id });
      await join(`/v1/vaults/${own}/members`, { user: leaver.id, role: 'reader' });
      await join(`/v1/vaults/${shared}/members`, { group: group.id, role: 'writer' });
      await ok(service.call('GET', secretUrl(own, 'db/password'), { token: leaver.token }));
      return { token, own, shared, leaver, group, owner: { email: tenant.owner.email, password, tenant: tenant.name } };
    };

    test(
      'the page says what they reach and read, and a checklist ends it',
      inConsole(async ({ page, open, signIn }) => {
        const { service } = world();
        const { token, own, shared, leaver, group, owner } = await build();
        await open('/');
        await signIn(owner);
        await open(`/people/${leaver.id}`);
        const reach = page.getByRole('table', { name: 'What they can reach' });
        await reach.getByRole('row').filter({ hasText: own }).getByText('reader of the vault').waitFor();
        await reach.getByRole('row').filter({ hasText: shared }).getByText(`by group ${group.name}`).waitFor();
        await page.getByText(`${own}/db/password`).waitFor();
        await requireAccessible(page);

        await page.getByRole('button', { name: 'End all access' }).click();
        const dialog = page.getByRole('dialog');
        await dialog.getByLabel('Remove them from one vault').waitFor();
        await requireAccessible(page);
        // A step that is left out stays as it is.
        await dialog.getByLabel('Remove them from one group').uncheck();
        await dialog.getByRole('button', { name: 'End access' }).click();
        await page.getByText('Nobody can sign in with this account now').waitFor();
        await refused(service.call('GET', '/auth/me', { token: leaver.token }), 401, 'INVALID_TOKEN');
        const { members } = await ok(service.call('GET', `/v1/vaults/${own}/members`, { token }));
        assert.ok(members.every(({ id }: { id: string }) => id !== leaver.id));
        const inGroup = await ok(service.call('GET', `/v1/groups/${group.id}/members`, { token }));
        assert.equal(inGroup.members.length, 1);

        await page.getByRole('button', { name: 'End all access' }).click();
        await dialog.getByText('Sign them out everywhere').waitFor();
        assert.ok((await dialog.getByText('(done already)').count()) >= 2);
      }),
    );

    test(
      'who may not change people is offered no end, and sees what they may',
      inConsole(async ({ page, open, signIn }) => {
        const { service } = world();
        const vault = await addVault(service);
        const person = await addPerson(service);
        await open('/');
        await signIn(await world().person('auditor'));
        await open(`/people/${person.id}`);
        await page.getByText('They can read no value').waitFor();
        assert.equal(await page.getByRole('button', { name: 'End all access' }).count(), 0);
        assert.equal(await page.getByText(vault).count(), 0);
      }),
    );
  });
});
