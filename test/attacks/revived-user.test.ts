import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { addTenant, ok, type Tenant } from '../support/people.ts';
import { addScim, USER_SCHEMA } from '../support/scim.ts';
import { onBothDatabases, type Service, startService } from '../support/service.ts';

onBothDatabases('an identity provider whose user an admin disabled', (database) => {
  let service: Service;
  let tenant: Tenant;
  before(async () => {
    service = await startService(database);
    tenant = await addTenant(service);
  });
  after(() => service.close());

  const send = (method: string, path: string, body?: object) =>
    service.call(method, path, { token: tenant.owner.token, ...(body !== undefined && { body }) });

  for (const externalId of ['sub-of-eve', undefined]) {
    test(`does not bring them back by deleting and adding them, ${externalId ? 'with' : 'without'} a subject`, async () => {
      const mapping = { role_mapping: { Admins: 'admin' }, default_role: 'member' };
      const idp = await addScim(service, tenant.owner.token, mapping);
      const userName = `eve-${externalId}@acme.example`;
      const person = { schemas: [USER_SCHEMA], userName, ...(externalId && { externalId }), active: true };
      const { id } = (await idp.call('POST', '/Users', person)).body;
      await ok(send('PATCH', `/v1/users/${id}`, { status: 'disabled' }));
      assert.equal((await idp.call('DELETE', `/Users/${id}`)).status, 204);
      assert.equal((await idp.call('GET', `/Users/${id}`)).status, 404);
      const again = await idp.call('POST', '/Users', person);
      assert.equal(again.status, externalId === undefined ? 409 : 201, again.text);
      if (externalId !== undefined) {
        assert.deepEqual([again.body.id, again.body.active], [id, false]);
        await idp.patch(`/Users/${id}`, { op: 'replace', path: 'active', value: true });
      }
      assert.equal((await ok(send('GET', `/v1/users/${id}`))).status, 'disabled');
      // The admin deletes the account for good, and what the provider adds then is a new one.
      await ok(send('DELETE', `/v1/users/${id}`));
      assert.notEqual((await idp.call('POST', '/Users', person)).body.id, id);
    });
  }

  test('gives them no role, and takes none, by its groups', async () => {
    const idp = await addScim(service, tenant.owner.token, {
      role_mapping: { Auditors: 'auditor', Admins: 'admin' },
      default_role: 'member',
    });
    const { id } = await idp.addUser();
    const userOf = async () => {
      const { role, status } = await ok(send('GET', `/v1/users/${id}`));
      return [role, status];
    };
    const auditors = await idp.addGroup('Auditors', [id]);
    assert.deepEqual(await userOf(), ['auditor', 'active']);
    await ok(send('PATCH', `/v1/users/${id}`, { status: 'disabled' }));
    const admins = await idp.addGroup('Admins', [id]);
    assert.deepEqual(await userOf(), ['auditor', 'disabled']);
    assert.equal((await idp.call('DELETE', `/Groups/${auditors.id}`)).status, 204);
    await idp.patch(`/Groups/${admins.id}`, { op: 'replace', path: 'displayName', value: 'Others' });
    await idp.patch(`/Groups/${admins.id}`, { op: 'replace', path: 'displayName', value: 'Admins' });
    assert.deepEqual(await userOf(), ['auditor', 'disabled']);
    const { entries } = await ok(send('GET', `/v1/audit?action=scim:change_role&resource=user/${id}`));
    assert.equal(entries.length, 1);
    // An admin enables the role that they see. Afterwards the groups decide again.
    await ok(send('PATCH', `/v1/users/${id}`, { status: 'active' }));
    assert.deepEqual(await userOf(), ['auditor', 'active']);
    await idp.addGroup('Auditors', [id]);
    assert.deepEqual(await userOf(), ['admin', 'active']);
  });

  test('gives one that it disabled itself the role of their groups', async () => {
    const idp = await addScim(service, tenant.owner.token, { role_mapping: { Watchers: 'auditor' } });
    const { id } = await idp.addUser();
    await idp.patch(`/Users/${id}`, { op: 'replace', path: 'active', value: false });
    await idp.addGroup('Watchers', [id]);
    assert.equal((await ok(send('GET', `/v1/users/${id}`))).role, 'auditor');
  });

  test('deletes one that it disabled itself', async () => {
    const idp = await addScim(service, tenant.owner.token, { default_role: 'member' });
    const { id } = (await idp.call('POST', '/Users', { schemas: [USER_SCHEMA], userName: 'ana@acme.example' })).body;
    await idp.patch(`/Users/${id}`, { op: 'replace', path: 'active', value: false });
    assert.equal((await idp.call('DELETE', `/Users/${id}`)).status, 204);
    assert.equal((await send('GET', `/v1/users/${id}`)).status, 404);
  });
});
