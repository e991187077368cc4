import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { addTenant, ok, patOf, refused, type Tenant, uniqueName } from '../../../../test/support/people.ts';
import { recorded } from '../../../../test/support/rows.ts';
import { addScim, PATCH_SCHEMA, type ScimClient } from '../../../../test/support/scim.ts';
import { type Answer, onBothDatabases, type Service, startService } from '../../../../test/support/service.ts';
import { GROUP_MEMBERS } from '../groups/storage/index.ts';

/** Groups that an identity provider provisions, and the roles that they give. */

onBothDatabases('SCIM groups', (database, { rule }) => {
  let service: Service;
  let tenant: Tenant;
  let idp: ScimClient;
  before(async () => {
    service = await startService(database);
    tenant = await addTenant(service);
    idp = await addScim(service, tenant.owner.token);
  });
  after(() => service.close());

  const asOwner = (method: string, path: string, body?: object) =>
    service.call(method, path, { token: tenant.owner.token, ...(body && { body }) });
  const membersOf = async (id: string, client = idp) =>
    (await good(client.call('GET', `/Groups/${id}`))).members.map(({ value }: { value: string }) => value);
  const people = async (count: number, client = idp) => {
    const ids: string[] = [];
    for (let i = 0; i < count; i++) ids.push((await client.addUser()).id);
    return ids;
  };

  test('as Okta pushes them', async () => {
    const [one = '', two = '', three = ''] = await people(3);
    const displayName = uniqueName('Platform Admins');
    const created = await idp.call('POST', '/Groups', {
      schemas: ['urn:ietf:params:scim:schemas:core:2.0:Group'],
      displayName,
      members: [{ value: one, display: 'one@acme.example' }],
    });
    assert.equal(created.status, 201, created.text);
    const { id } = created.body;
    const { userName } = await good(idp.call('GET', `/Users/${one}`));
    const $ref = `${service.url}/scim/v2/Users/${one}`;
    assert.deepEqual(created.body.members, [{ value: one, $ref, type: 'User', display: userName }]);
    const group = await ok(asOwner('GET', `/v1/groups/${id}`));
    assert.deepEqual([group.name, group.members_count], [displayName.replace(' ', '-'), 1]);
    assert.match(group.description, new RegExp(`^Provisioned by ${idp.provider}: ${displayName}$`));
    const body = {
      schemas: [PATCH_SCHEMA],
      Operations: [
        { op: 'remove', path: `members[value eq "${one}"]` },
        { op: 'add', path: 'members', value: [{ value: two }, { value: three }] },
      ],
    };
    await good(idp.call('PATCH', `/Groups/${id}`, body));
    assert.deepEqual(await membersOf(id), [two, three]);
    const renamed = { op: 'replace', value: { id, displayName: `${displayName} 2` } };
    assert.equal((await good(idp.patch(`/Groups/${id}`, renamed))).displayName, `${displayName} 2`);
    assert.equal((await ok(asOwner('GET', `/v1/groups/${id}`))).name, group.name, 'the name here never changes');
    await good(idp.call('PUT', `/Groups/${id}`, { displayName }));
    assert.deepEqual(await membersOf(id), [two, three], 'members that are omitted stay');
    await good(idp.call('PUT', `/Groups/${id}`, { displayName, members: [{ value: one }] }));
    assert.deepEqual(await membersOf(id), [one]);
    assert.equal((await idp.call('DELETE', `/Groups/${id}`)).status, 204);
    await refused(asOwner('GET', `/v1/groups/${id}`), 404, 'NOT_FOUND');
    assert.equal((await idp.call('GET', `/Users/${one}`)).status, 200);
  });

  test('as Entra sends them', async () => {
    const [one = '', two = '', three = ''] = await people(3);
    const displayName = uniqueName('Éntra team');
    const externalId = uniqueName('8f3a');
    const { id } = await created(idp.call('POST', '/Groups', { displayName, externalId }));
    const find = (filter: string, more = '') =>
      good(idp.call('GET', `/Groups?filter=${encodeURIComponent(filter)}${more}`));
    const slim = await find(`displayName eq "${displayName}"`, '&excludedAttributes=members');
    assert.deepEqual([slim.totalResults, slim.Resources[0].members, slim.Resources[0].id], [1, undefined, id]);
    assert.equal((await find(`externalId eq "${externalId}"`)).Resources[0].id, id);
    await good(idp.patch(`/Groups/${id}`, { op: 'Add', path: 'members', value: [{ value: one }, { value: two }] }));
    assert.equal((await find(`id eq "${id}" and members eq "${one}"`, '&attributes=id')).totalResults, 1);
    assert.equal((await find(`members[value eq "${three}"] and id eq "${id}"`)).totalResults, 0);
    const valued = { op: 'Remove', path: 'members', value: [{ value: one }] };
    await good(idp.patch(`/Groups/${id}`, valued));
    assert.deepEqual(await membersOf(id), [two]);
    await good(idp.patch(`/Groups/${id}`, valued, { op: 'Remove', path: 'members', value: [] }));
    assert.deepEqual(await membersOf(id), [two], 'a removal that names nobody removes nobody');
    await scimError(idp.patch(`/Groups/${id}`, { op: 'Remove', path: 'members', value: null }), 400, 'invalidValue');
    await good(idp.patch(`/Groups/${id}`, { op: 'Replace', path: 'members', value: [{ value: three }] }));
    assert.deepEqual(await membersOf(id), [three]);
    await good(idp.patch(`/Groups/${id}`, { op: 'Remove', path: 'members' }));
    assert.deepEqual(await membersOf(id), []);
    const unknown = `/Groups?filter=${encodeURIComponent('members[display eq "x"]')}`;
    await scimError(idp.call('GET', unknown), 400, 'invalidFilter');
  });

  rule('what cannot be done is refused whole', async () => {
    const [one = ''] = await people(1);
    const { id } = await idp.addGroup(uniqueName('group'), [one]);
    const cases: [object, string][] = [
      [{ op: 'add', path: 'members', value: [{ value: 'user_00000000000000000000000000' }] }, 'invalidValue'],
      [{ op: 'add', path: 'members', value: [{ value: tenant.owner.id }] }, 'invalidValue'],
      [{ op: 'add', path: 'members', value: [{ value: one, type: 'Group' }] }, 'invalidValue'],
      [{ op: 'add', path: 'members', value: [{ value: 7 }] }, 'invalidValue'],
      [{ op: 'remove', path: 'members[type eq "User"]' }, 'invalidFilter'],
      [{ op: 'remove', path: 'displayName' }, 'mutability'],
      [{ op: 'replace', path: 'displayName', value: '' }, 'mutability'],
    ];
    for (const [operation, scimType] of cases) {
      await scimError(idp.patch(`/Groups/${id}`, { op: 'remove', path: 'members' }, operation), 400, scimType);
    }
    assert.deepEqual(await membersOf(id), [one]);
    for (const body of [{}, { displayName: ' ' }, { displayName: 'x'.repeat(300) }]) {
      await scimError(idp.call('POST', '/Groups', body), 400);
    }
    const { meta } = await good(idp.call('GET', `/Groups/${id}`));
    await good(idp.patch(`/Groups/${id}`, { op: 'remove', path: 'members' }));
    const stale = { 'if-match': meta.version };
    await scimError(idp.call('DELETE', `/Groups/${id}`, undefined, stale), 412);
    const wrong = `/Groups?filter=${encodeURIComponent('displayName gt "x"')}`;
    assert.match((await scimError(idp.call('GET', wrong), 400, 'invalidFilter')).detail, /What works/);
  });

  rule('never takes over, changes or shows a group that it does not own', async () => {
    const name = uniqueName('by-hand');
    const byHand = await ok(asOwner('POST', '/v1/groups', { name }), 201);
    const other = await addScim(service, tenant.owner.token);
    const theirs = await other.addGroup(uniqueName('Theirs'));
    for (const displayName of [name, String(theirs['displayName'])]) {
      const { detail } = await scimError(idp.call('POST', '/Groups', { displayName }), 409, 'uniqueness');
      assert.match(detail, /does not belong to this provider/);
    }
    for (const { id } of [byHand, theirs]) {
      await scimError(idp.call('GET', `/Groups/${id}`), 404);
      await scimError(idp.call('DELETE', `/Groups/${id}`), 404);
      await scimError(idp.patch(`/Groups/${id}`, { op: 'remove', path: 'members' }), 404);
    }
    const listed = await good(idp.call('GET', '/Groups?count=200'));
    const ids = listed.Resources.map(({ id }: { id: string }) => id);
    assert.ok(!ids.includes(byHand.id) && !ids.includes(theirs.id));
    const own = await idp.addGroup(uniqueName('Own'));
    const taken = String(own['displayName']).toUpperCase();
    await scimError(idp.call('POST', '/Groups', { displayName: taken }), 409, 'uniqueness');
    const second = await idp.addGroup(uniqueName('Second'));
    await scimError(
      idp.patch(`/Groups/${second.id}`, { op: 'replace', path: 'displayName', value: taken }),
      409,
      'uniqueness',
    );
  });

  /** As people could once do, and sign-on still does where a group is mapped. */
  const insertByHand = ({ app: { kernel } }: Service, group_id: string, user_id: string) =>
    recorded(kernel, tenant.id, (tx) =>
      GROUP_MEMBERS.insert(tx, { tenant_id: tenant.id, group_id, user_id, added_at: kernel.clock.now() }),
    );
  const localMembers = async (id: string) =>
    (await ok(asOwner('GET', `/v1/groups/${id}/members`))).members.map(({ user_id }: { user_id: string }) => user_id);

  rule('are changed at the provider only, and not by hand', async () => {
    const client = await addScim(service, tenant.owner.token, { role_mapping: { Chiefs: 'admin' } });
    const [one = '', two = ''] = await people(2, client);
    const { id, displayName } = await client.addGroup('Chiefs', [one]);
    const changes: [string, string, object?][] = [
      ['POST', `/v1/groups/${id}/members`, { user_id: two }],
      ['POST', `/v1/groups/${displayName}/members`, { user_id: two }],
      ['DELETE', `/v1/groups/${id}/members/${one}`],
      ['PATCH', `/v1/groups/${id}`, { description: 'Mine' }],
      ['DELETE', `/v1/groups/${id}`],
    ];
    const before = await ok(asOwner('GET', `/v1/groups/${id}`));
    for (const change of changes) {
      const { message } = await refused(asOwner(...change), 409, 'IN_USE');
      assert.equal(message, `This group belongs to the identity provider ${client.provider}: change it there.`);
    }
    assert.deepEqual(await ok(asOwner('GET', `/v1/groups/${id}`)), before);
    assert.deepEqual(await localMembers(id), [one]);
    assert.equal((await ok(asOwner('GET', `/v1/users/${two}`))).role, 'member');
    await ok(asOwner('DELETE', `/auth/sso/providers/${client.provider}`));
    const { message } = await refused(asOwner('POST', `/v1/groups/${id}/members`, { user_id: two }), 409, 'IN_USE');
    assert.match(message, /was deleted/);
    await ok(asOwner('PATCH', `/v1/groups/${id}`, { description: 'Left over' }));
    await ok(asOwner('DELETE', `/v1/groups/${id}/members/${one}`));
    await ok(asOwner('DELETE', `/v1/groups/${id}`));
  });

  rule('members who are not of the provider are not shown, and stay', async () => {
    const [one = ''] = await people(1);
    const { id } = await idp.addGroup(uniqueName('mixed'), [one]);
    await insertByHand(service, id, tenant.owner.id);
    assert.deepEqual(await membersOf(id), [one]);
    const found = async (userId: string) =>
      (await good(idp.call('GET', `/Groups?filter=${encodeURIComponent(`members.value eq "${userId}"`)}`)))
        .totalResults;
    assert.deepEqual([await found(one), await found(tenant.owner.id)], [1, 0]);
    await good(idp.patch(`/Groups/${id}`, { op: 'remove', path: 'members' }));
    assert.deepEqual(await localMembers(id), [tenant.owner.id]);
    assert.equal((await idp.call('DELETE', `/Groups/${id}`)).status, 204);
  });

  rule('no owner is added, but one who became an owner can leave', async () => {
    const [one = '', two = '', three = ''] = await people(3);
    const denied = await idp.addGroup(uniqueName('denied'), [one, two]);
    const setRole = (id: string, role: string) => ok(asOwner('PATCH', `/v1/users/${id}`, { role }));
    for (const id of [two, three]) await setRole(id, 'owner');
    const path = `/Groups/${denied.id}`;
    const displayName = uniqueName('new');
    const all = [one, two, three].map((value) => ({ value }));
    const attempts = [
      () => idp.patch(path, { op: 'add', path: 'members', value: [{ value: three }] }),
      () => idp.patch(path, { op: 'remove', path: 'members' }, { op: 'add', path: 'members', value: all }),
      () => idp.call('PUT', path, { displayName: denied['displayName'], members: all }),
      () => idp.call('POST', '/Groups', { displayName, members: all.slice(1) }),
    ];
    for (const attempt of attempts) assert.match((await scimError(attempt(), 403)).detail, /is an owner/);
    assert.deepEqual(await membersOf(denied.id), [one, two]);
    const found = await good(
      idp.call('GET', `/Groups?filter=${encodeURIComponent(`displayName eq "${displayName}"`)}`),
    );
    assert.equal(found.totalResults, 0);
    await good(idp.patch(path, { op: 'remove', path: `members[value eq "${two}"]` }));
    assert.deepEqual(await membersOf(denied.id), [one]);
    await scimError(idp.patch(path, { op: 'add', path: 'members', value: [{ value: two }] }), 403);
    await setRole(two, 'member');
    await good(idp.patch(path, { op: 'add', path: 'members', value: [{ value: two }] }));
    await setRole(three, 'member');
  });

  describe('role mapping', () => {
    const roleOf = async (id: string) => (await ok(asOwner('GET', `/v1/users/${id}`))).role;
    let mapped: ScimClient;
    before(async () => {
      const role_mapping = { Admins: 'admin', Auditors: 'auditor' };
      mapped = await addScim(service, tenant.owner.token, { role_mapping });
    });

    test('gives and takes roles as people join and leave, and never makes or changes an owner', async () => {
      const [one = '', two = ''] = await people(2, mapped);
      const admins = await mapped.addGroup('Admins', [one, two]);
      await ok(asOwner('PATCH', `/v1/users/${two}`, { role: 'owner' }));
      await good(mapped.patch(`/Groups/${admins.id}`, { op: 'add', path: 'members', value: [{ value: two }] }));
      assert.deepEqual([await roleOf(one), await roleOf(two)], ['admin', 'owner']);
      const token = await patOf(service, tenant.id, one);
      const list = () => service.call('GET', '/v1/users', { token });
      await ok(list());
      const auditors = await mapped.addGroup('Auditors', [one]);
      assert.equal(await roleOf(one), 'admin', 'of several roles the highest counts');
      await good(mapped.patch(`/Groups/${admins.id}`, { op: 'remove', path: `members[value eq "${one}"]` }));
      assert.equal(await roleOf(one), 'auditor');
      await good(mapped.patch(`/Groups/${auditors.id}`, { op: 'replace', path: 'displayName', value: 'Readers' }));
      assert.equal(await roleOf(one), 'member');
      await refused(list(), 403, 'INSUFFICIENT_PRIVILEGE');
      await good(mapped.patch(`/Groups/${auditors.id}`, { op: 'replace', path: 'displayName', value: 'Auditors' }));
      assert.equal(await roleOf(one), 'auditor');
      assert.equal((await mapped.call('DELETE', `/Groups/${auditors.id}`)).status, 204);
      assert.equal(await roleOf(one), 'member');
      assert.equal((await mapped.call('DELETE', `/Groups/${admins.id}`)).status, 204);
      assert.equal(await roleOf(two), 'owner');
      const { entries } = await ok(asOwner('GET', `/v1/audit?action=scim:change_role&resource=user/${one}`));
      assert.equal(entries.length, 5);
    });

    rule('a group that gives no role leaves roles alone', async () => {
      const [one = ''] = await people(1, mapped);
      await ok(asOwner('PATCH', `/v1/users/${one}`, { role: 'auditor' }));
      const { id } = await mapped.addGroup(uniqueName('plain'), [one]);
      assert.equal((await mapped.call('DELETE', `/Groups/${id}`)).status, 204);
      assert.equal(await roleOf(one), 'auditor');
    });
  });

  rule('the quotas of the plan hold', async () => {
    const small = await addTenant(service, { plan: 'starter' });
    const client = await addScim(service, small.owner.token);
    const { quotas } = await ok(service.call('GET', '/saas/tier', { token: small.owner.token }));
    const { limit, used } = quotas.users;
    for (let i = used; i < limit; i++) await client.addUser();
    const { status, body } = await client.call('POST', '/Users', { userName: `${uniqueName('x')}@acme.example` });
    assert.deepEqual([status, body.status], [403, '403']);
  });
});

async function good(answer: Promise<Answer>): Promise<Answer['body']> {
  const { status, text, body } = await answer;
  assert.equal(status, 200, text);
  return body;
}

async function created(answer: Promise<Answer>): Promise<Answer['body']> {
  const { status, text, body } = await answer;
  assert.equal(status, 201, text);
  return body;
}

async function scimError(answer: Promise<Answer>, status: number, scimType?: string): Promise<{ detail: string }> {
  const { status: actual, body, text } = await answer;
  assert.equal(actual, status, text);
  if (scimType !== undefined) assert.equal(body.scimType, scimType, text);
  return body;
}
