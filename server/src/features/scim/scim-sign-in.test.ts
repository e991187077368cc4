import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { OUTSIDE_ENV } from '../../../../test/support/external-logins.ts';
import { OidcIssuer } from '../../../../test/support/oidc-issuer.ts';
import { addTenant, ok, openSession, refused, type Tenant, uniqueName } from '../../../../test/support/people.ts';
import { recorded } from '../../../../test/support/rows.ts';
import { addScim, type ScimClient } from '../../../../test/support/scim.ts';
import { type Answer, onSqliteAtLanding, type Service, startService } from '../../../../test/support/service.ts';
import { begin, finish, poll, startDevice } from '../../../../test/support/sign-on.ts';
import { GROUP_MEMBERS } from '../groups/storage/index.ts';

/** People who are provisioned by SCIM and sign in with the same provider. */

const provider = await OidcIssuer.start();
after(() => provider.close());

onSqliteAtLanding('SCIM and sign-in', (database) => {
  let service: Service;
  let tenant: Tenant;
  before(async () => {
    service = await startService(database, { env: OUTSIDE_ENV });
    await provider.register(service.url);
  });
  after(() => service.close());
  beforeEach(async () => {
    tenant = await addTenant(service);
    const sub = uniqueName('subject');
    provider.account = { sub, email: `${sub}@acme.example`, email_verified: true, name: 'Ada' };
  });

  const addIdp = (more: object = {}) =>
    addScim(service, tenant.owner.token, {
      issuer: provider.url,
      client_secret: 'coffer-client-secret',
      role_mapping: { Admins: 'admin' },
      ...more,
    });
  const signIn = async (idp: ScimClient): Promise<{ answer: Answer; me: Answer['body']; token: string }> => {
    const device = await startDevice(service, { provider: idp.provider, tenant: tenant.name });
    const { cookie, authorizationUrl } = await begin(service, idp.provider, device, tenant.name);
    const answer = await finish(service, await provider.signIn(authorizationUrl), cookie);
    if (answer.status !== 200) return { answer, me: undefined, token: '' };
    const { token } = await ok(poll(service, device));
    return { answer, me: await ok(service.call('GET', '/auth/me', { token })), token };
  };
  const userName = () => String(provider.account['email']);

  test('the account is that of externalId, and the groups of SCIM give its role', async () => {
    const idp = await addIdp();
    const { id } = await idp.addUser({ userName: userName(), externalId: provider.account.sub });
    assert.equal((await signIn(idp)).answer.status, 401, 'no group gives a role yet');
    const group = await idp.addGroup('Admins', [id]);
    const { me } = await signIn(idp);
    assert.deepEqual([me.user.id, me.user.role], [id, 'admin']);
    await idp.patch(`/Users/${id}`, { op: 'Replace', path: 'active', value: 'False' });
    assert.equal((await signIn(idp)).answer.status, 401, 'deactivated');
    await idp.patch(`/Users/${id}`, { op: 'Replace', path: 'active', value: 'True' });
    assert.equal((await signIn(idp)).me.user.id, id);
    await idp.patch(`/Groups/${group.id}`, { op: 'remove', path: 'members', value: [{ value: id }] });
    assert.equal((await signIn(idp)).answer.status, 401, 'the group is gone');
  });

  test('a user who signed in before is found by their subject alone', async () => {
    const idp = await addIdp({ default_role: 'member' });
    const { me } = await signIn(idp);
    const other = await idp.call('POST', '/Users', { userName: userName(), externalId: 'another-subject' });
    assert.deepEqual([other.status, other.body.scimType], [409, 'uniqueness']);
    const adopted = await idp.addUser({
      userName: userName(),
      externalId: provider.account.sub,
      displayName: 'Ada L.',
    });
    assert.equal(adopted.id, me.user.id);
    const again = await signIn(idp);
    assert.deepEqual([again.me.user.id, again.me.user.name], [me.user.id, 'Ada L.']);
    assert.equal((await idp.call('DELETE', `/Users/${me.user.id}`)).status, 204);
    const fresh = await signIn(idp);
    assert.notEqual(fresh.me.user.id, me.user.id, 'a deleted account does not come back');
  });

  test('a subject that an account no longer has loses what it opened, and nobody else does', async () => {
    const idp = await addIdp({ default_role: 'member' });
    const { id } = await idp.addUser({ userName: userName(), externalId: provider.account.sub });
    const { token, me } = await signIn(idp);
    assert.equal(me.user.id, id);
    const ofPassword = await openSession(service, id);
    const read = (session: string) => service.call('GET', '/auth/me', { token: session });
    const corrected = uniqueName('subject');
    const answer = await idp.patch(`/Users/${id}`, { op: 'replace', path: 'externalId', value: corrected });
    assert.equal(answer.status, 200, answer.text);
    await refused(read(token), 401, 'INVALID_TOKEN');
    await ok(read(ofPassword));
    assert.equal((await signIn(idp)).answer.status, 401, 'the address belongs to the account');
    provider.account = { ...provider.account, sub: corrected };
    const again = await signIn(idp);
    assert.equal(again.me.user.id, id);
    await idp.patch(`/Users/${id}`, { op: 'remove', path: 'externalId' });
    await refused(read(again.token), 401, 'INVALID_TOKEN');
  });

  test('a user who is not provisioned has no role from a group of SCIM', async () => {
    const idp = await addIdp({ default_role: 'member' });
    const { me } = await signIn(idp);
    const group = await idp.addGroup('Admins');
    const { kernel } = service.app;
    const row = { tenant_id: tenant.id, group_id: group.id, user_id: me.user.id, added_at: kernel.clock.now() };
    await recorded(kernel, tenant.id, (tx) => GROUP_MEMBERS.insert(tx, row));
    assert.equal((await signIn(idp)).me.user.role, 'member');
    await idp.addUser({ userName: userName(), externalId: provider.account.sub });
    assert.equal((await signIn(idp)).me.user.role, 'admin', 'the provider knows them, and shows them as a member');
  });

  test('an owner who signed in before is not taken over', async () => {
    const idp = await addIdp({ default_role: 'member' });
    const { me } = await signIn(idp);
    const path = `/v1/users/${me.user.id}`;
    await ok(service.call('PATCH', path, { token: tenant.owner.token, body: { role: 'owner' } }));
    const { status, body } = await idp.call('POST', '/Users', {
      userName: userName(),
      externalId: provider.account.sub,
    });
    assert.equal(status, 403);
    assert.match(body.detail, /owner/);
  });

  test('an owner does not join the mapped groups, so that no policy on one locks them out', async () => {
    const { token } = tenant.owner;
    const group = await ok(service.call('POST', '/v1/groups', { token, body: { name: 'denied' } }), 201);
    const idp = await addIdp({ default_role: 'member', group_mapping: { Mapped: 'denied' } });
    const { id } = await idp.addUser({ userName: userName(), externalId: provider.account.sub });
    await idp.addGroup('Mapped', [id]);
    const members = async () => (await ok(service.call('GET', `/v1/groups/${group.id}`, { token }))).members_count;
    await signIn(idp);
    assert.equal(await members(), 1);
    await ok(service.call('PATCH', `/v1/users/${id}`, { token, body: { role: 'owner' } }));
    await ok(service.call('DELETE', `/v1/groups/${group.id}/members/${id}`, { token }));
    assert.equal((await signIn(idp)).me.user.role, 'owner');
    assert.equal(await members(), 0);
  });

  test('an equal address links nothing, and a link that is removed ends', async () => {
    const idp = await addIdp({ default_role: 'member' });
    const { id } = await idp.addUser({ userName: userName() });
    assert.equal((await signIn(idp)).answer.status, 401);
    await idp.patch(`/Users/${id}`, { op: 'add', path: 'externalId', value: provider.account.sub });
    assert.equal((await signIn(idp)).me.user.id, id);
    await idp.patch(`/Users/${id}`, { op: 'remove', path: 'externalId' });
    assert.equal((await signIn(idp)).answer.status, 401);
  });

  test('with subject_claim oid, that claim is compared, and not the subject', async () => {
    const idp = await addIdp({ default_role: 'member', subject_claim: 'oid' });
    provider.account['oid'] = uniqueName('object');
    const mistaken = await idp.addUser({
      userName: `${uniqueName('x')}@acme.example`,
      externalId: provider.account.sub,
    });
    const { id } = await idp.addUser({ userName: userName(), externalId: provider.account['oid'] });
    const { me } = await signIn(idp);
    assert.equal(me.user.id, id);
    assert.notEqual(me.user.id, mistaken.id);
    delete provider.account['oid'];
    assert.equal((await signIn(idp)).answer.status, 401, 'without the claim nobody is known');
  });
});
