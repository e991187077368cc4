import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  addPerson,
  addTenant,
  allPages,
  invalid,
  ok,
  type Person,
  refused,
  uniqueName,
} from '../../../../test/support/people.ts';
import { onBothDatabases, type Service, startService } from '../../../../test/support/service.ts';
import { addPolicy, auditOf } from '../../../../test/support/vaults.ts';

onBothDatabases('groups', (database, { rule }) => {
  let service: Service;
  let member: Person;

  before(async () => {
    service = await startService(database);
    member = await addPerson(service);
  });
  after(() => service.close());

  const send = (method: string, path: string, body?: object, token = service.adminToken) =>
    service.call(method, path, { token, ...(body !== undefined && { body }) });
  const newGroup = (more: object = {}) => ok(send('POST', '/v1/groups', { name: uniqueName('group'), ...more }), 201);
  const add = (groupId: string, user_id: string, token?: string) =>
    send('POST', `/v1/groups/${groupId}/members`, { user_id }, token);
  const membersOf = (groupId: string) => allPages(service, `/v1/groups/${groupId}/members?limit=2`, 'members');

  test('a group reads back as made and counts its members', async () => {
    const made = await newGroup({ description: 'People on call' });
    assert.equal(made.members_count, 0);
    const added = await ok(add(made.id, member.id), 201);
    assert.deepEqual([added.group_id, added.user_id], [made.id, member.id]);
    assert.deepEqual(await ok(send('GET', `/v1/groups/${made.id}`)), { ...made, members_count: 1 });
    assert.deepEqual(await membersOf(made.id), [added]);
  });

  rule('a group is found by its name and a member by their address, and a deny under either name counts', async () => {
    const made = await newGroup({ name: uniqueName('on.call') });
    const added = await ok(add(made.name, member.email.toUpperCase()), 201);
    assert.deepEqual([added.group_id, added.user_id], [made.id, member.id]);
    await refused(add(made.name, member.id), 409, 'ALREADY_EXISTS');
    assert.deepEqual(await membersOf(made.name), [added]);
    assert.equal((await ok(send('GET', `/v1/groups/${made.name}`))).id, made.id);
    await ok(send('PATCH', `/v1/groups/${made.name}`, { description: 'new' }));
    const entries = await auditOf(service, `action=groups:add_member&resource=group/${made.id}`);
    assert.deepEqual([entries[0].resource, entries[0].details.user], [`group/${made.id}`, member.id]);
    await refused(add(made.name, 'nobody@example.com'), 404, 'NOT_FOUND');
    await refused(send('GET', `/v1/groups/${uniqueName('none')}`), 404, 'NOT_FOUND');
    const elsewhere = (await addTenant(service)).owner.token;
    await refused(send('GET', `/v1/groups/${made.name}`, undefined, elsewhere), 404, 'NOT_FOUND');

    const reader = await addPerson(service);
    const everyGroup = { action: ['groups:*'], resource: ['group', 'group/*'] };
    for (const denied of [made.id, made.name]) {
      const policy = await addPolicy(service, { user: reader.id }, [
        everyGroup,
        { effect: 'deny', action: ['groups:read'], resource: [`group/${denied}`] },
      ]);
      for (const called of [made.id, made.name]) {
        await refused(send('GET', `/v1/groups/${called}`, undefined, reader.token), 403, 'INSUFFICIENT_PRIVILEGE');
      }
      const listed = await allPages(service, '/v1/groups?limit=1000', 'groups', { token: reader.token });
      assert.ok(!listed.some(({ id }: { id: string }) => id === made.id));
      await ok(send('POST', `/v1/policies/${policy}/detach`, { principal: { user: reader.id } }));
    }
    await ok(send('DELETE', `/v1/groups/${made.name}/members/${encodeURIComponent(member.email)}`));
    assert.deepEqual(await membersOf(made.id), []);
    await ok(send('DELETE', `/v1/groups/${made.name}`));
    await refused(send('GET', `/v1/groups/${made.id}`), 404, 'NOT_FOUND');
  });

  test('a name exists once in a tenant; another case is another name; another tenant has its own', async () => {
    const { name } = await newGroup();
    await refused(send('POST', '/v1/groups', { name }), 409, 'ALREADY_EXISTS');
    await ok(send('POST', '/v1/groups', { name: name.toUpperCase() }), 201);
    await ok(send('POST', '/v1/groups', { name }, (await addTenant(service)).owner.token), 201);
  });

  test('twenty at once with one name make one group', async () => {
    const name = uniqueName('race');
    const answers = await Promise.all(Array.from({ length: 20 }, () => send('POST', '/v1/groups', { name })));
    assert.deepEqual(answers.map(({ status }) => status).sort(), [201, ...Array(19).fill(409)]);
  });

  rule('names that are none, unknown fields and a new name are refused', async () => {
    for (const name of ['', '-a', '.', 'a/b', 'a b', 'a*', 'é', 'x'.repeat(64), 1]) {
      await invalid(send('POST', '/v1/groups', { name }), '/body/name');
    }
    await invalid(send('POST', '/v1/groups', { name: 'ok', owner: 'me' }), '/body/owner');
    await invalid(send('POST', '/v1/groups', { name: 'ok', description: 'x'.repeat(513) }), '/body/description');
    const { id } = await newGroup();
    await invalid(send('PATCH', `/v1/groups/${id}`, { name: 'renamed' }), '/body/name');
    await invalid(send('PATCH', `/v1/groups/${id}`, {}), '/body/description');
    await invalid(send('POST', `/v1/groups/${id}/members`, { user_id: 'a/b' }), '/body/user_id');
  });

  rule('the description can be changed', async () => {
    const made = await newGroup({ description: 'old' });
    assert.deepEqual(await ok(send('PATCH', `/v1/groups/${made.id}`, { description: 'new' })), {
      ...made,
      description: 'new',
    });
  });

  test('a person joins once, also when requested twenty times at once', async () => {
    const { id } = await newGroup();
    const answers = await Promise.all(Array.from({ length: 20 }, () => add(id, member.id)));
    assert.deepEqual(answers.map(({ status }) => status).sort(), [201, ...Array(19).fill(409)]);
    assert.equal((await membersOf(id)).length, 1);
  });

  test('people leave by being removed, by being deleted, and when the group goes', async () => {
    const { id } = await newGroup();
    const people: string[] = [];
    for (let i = 0; i < 3; i++) {
      const body = { email: `${uniqueName('leaver')}@example.com` };
      people.push((await ok(send('POST', '/v1/users', body), 201)).id);
    }
    for (const user of people) await ok(add(id, user), 201);
    assert.equal((await membersOf(id)).length, 3);
    await ok(send('DELETE', `/v1/groups/${id}/members/${people[0]}`), 200);
    await refused(send('DELETE', `/v1/groups/${id}/members/${people[0]}`), 404, 'NOT_FOUND');
    await ok(send('DELETE', `/v1/users/${people[1]}`), 200);
    assert.deepEqual(
      (await membersOf(id)).map((row) => row.user_id),
      [people[2]],
    );
    await ok(send('DELETE', `/v1/groups/${id}`), 200);
    for (const path of [`/v1/groups/${id}`, `/v1/groups/${id}/members`]) {
      await refused(send('GET', path), 404, 'NOT_FOUND');
    }
    await ok(send('GET', `/v1/users/${people[2]}`));
  });

  rule('neither groups nor people of another tenant exist', async () => {
    const { id } = await newGroup({ description: 'untouched' });
    const { owner } = await addTenant(service);
    const theirs = await ok(send('POST', '/v1/groups', { name: 'theirs' }, owner.token), 201);
    const tries: [string, string, object?][] = [
      ['GET', `/v1/groups/${id}`],
      ['PATCH', `/v1/groups/${id}`, { description: 'taken over' }],
      ['DELETE', `/v1/groups/${id}`],
      ['GET', `/v1/groups/${id}/members`],
      ['POST', `/v1/groups/${id}/members`, { user_id: owner.id }],
      ['POST', `/v1/groups/${theirs.id}/members`, { user_id: member.id }],
      ['DELETE', `/v1/groups/${id}/members/${member.id}`],
    ];
    for (const [method, path, body] of tries) await refused(send(method, path, body, owner.token), 404, 'NOT_FOUND');
    const seen = await allPages(service, '/v1/groups', 'groups', { token: owner.token });
    assert.deepEqual(
      seen.map((group) => group.id),
      [theirs.id],
    );
    assert.equal((await ok(send('GET', `/v1/groups/${id}`))).description, 'untouched');
  });

  rule('a member may not even ask whether a group exists', async () => {
    const { id } = await newGroup();
    const there = await refused(
      send('GET', `/v1/groups/${id}`, undefined, member.token),
      403,
      'INSUFFICIENT_PRIVILEGE',
    );
    const gone = await refused(
      send('GET', '/v1/groups/group_no', undefined, member.token),
      403,
      'INSUFFICIENT_PRIVILEGE',
    );
    assert.equal(there.message, gone.message);
    await refused(add(id, member.id, member.token), 403, 'INSUFFICIENT_PRIVILEGE');
    assert.deepEqual(await membersOf(id), []);
  });
});
