import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  addPerson,
  addTenant,
  addToken,
  allPages,
  invalid,
  ok,
  type Person,
  refused,
  uniqueName,
} from '../../../../test/support/people.ts';
import { onBothDatabases, type Service, startService } from '../../../../test/support/service.ts';
import { addPolicy, addSecret, addVault, auditOf, secretUrl, whileHeld } from '../../../../test/support/vaults.ts';
import type { VaultRole } from '../../kernel/authz/vault-roles.ts';

/** What each role may do: the status for reader, writer and manager. Every action of a vault has a row. */
const TABLE: [string, (vault: string) => [method: string, path: string, body?: object], number[]][] = [
  ['read the vault', (v) => ['GET', `/v1/vaults/${v}`], [200, 200, 200]],
  ['list secrets', (v) => ['GET', `/v1/vaults/${v}/secrets`], [200, 200, 200]],
  ['read a secret', (v) => ['GET', secretUrl(v, 'a')], [200, 200, 200]],
  ['list versions', (v) => ['GET', secretUrl(v, 'a', 'versions')], [200, 200, 200]],
  ['aggregate', (v) => ['GET', `/v1/vaults/${v}/aggregate`], [200, 200, 200]],
  ['search', (v) => ['POST', `/v1/vaults/${v}/search`, { query: 'value' }], [200, 200, 200]],
  ['export', (v) => ['GET', `/v1/vaults/${v}/export`], [200, 200, 200]],
  ['make a secret', (v) => ['POST', `/v1/vaults/${v}/secrets`, { path: 'new', value: 'x' }], [403, 201, 201]],
  ['change a secret', (v) => ['PUT', secretUrl(v, 'a'), { value: 'x' }], [403, 200, 200]],
  ['rotate', (v) => ['POST', secretUrl(v, 'a', 'rotate'), { value: 'y' }], [403, 200, 200]],
  ['roll back', (v) => ['POST', secretUrl(v, 'a', 'rollback'), { to_version: 1 }], [403, 200, 200]],
  ['copy', (v) => ['POST', secretUrl(v, 'a', 'copy'), { to_path: 'copied' }], [403, 201, 201]],
  ['move', (v) => ['POST', secretUrl(v, 'b', 'move'), { to_path: 'moved' }], [403, 200, 200]],
  ['delete a secret', (v) => ['DELETE', secretUrl(v, 'c')], [403, 200, 200]],
  ['restore a secret', (v) => ['POST', secretUrl(v, 'gone', 'restore')], [403, 200, 200]],
  ['import', (v) => ['POST', `/v1/vaults/${v}/import`, { secrets: { i: 'x' } }], [403, 200, 200]],
  ['tokenize', (v) => ['POST', `/v1/vaults/${v}/tokenize`, { value: 'x' }], [403, 201, 201]],
  ['list members', (v) => ['GET', `/v1/vaults/${v}/members`], [403, 403, 200]],
  [
    'add a member',
    (v) => ['POST', `/v1/vaults/${v}/members`, { user: 'admin@localhost', role: 'reader' }],
    [403, 403, 409],
  ],
  ['review members', (v) => ['POST', `/v1/vaults/${v}/members/review`], [403, 403, 200]],
  ['change the vault', (v) => ['PATCH', `/v1/vaults/${v}`, { description: 'x' }], [403, 403, 200]],
  ['delete the vault', (v) => ['DELETE', `/v1/vaults/${v}`], [403, 403, 200]],
  ['restore the vault', (v) => ['POST', `/v1/vaults/${v}/restore`], [403, 403, 200]],
];
const ROLES: VaultRole[] = ['reader', 'writer', 'manager'];

onBothDatabases('members of a vault', (database, { rule }) => {
  let service: Service;
  let person: Person;
  before(async () => {
    service = await startService(database);
    person = await addPerson(service);
  });
  after(() => service.close());

  const send = (method: string, path: string, body?: object, token = service.adminToken) =>
    service.call(method, path, { token, ...(body !== undefined && { body }) });
  const add = (vault: string, body: object, token?: string) => send('POST', `/v1/vaults/${vault}/members`, body, token);
  const membersOf = (vault: string) => allPages(service, `/v1/vaults/${vault}/members?limit=2`, 'members');
  const canRead = async (vault: string, token: string) => {
    const { status, body } = await send('GET', `/v1/vaults/${vault}`, undefined, token);
    assert.ok(status === 200 || body.error.code === 'INSUFFICIENT_PRIVILEGE', JSON.stringify(body));
    return status === 200;
  };
  const vaultWithSecrets = async () => {
    const vault = await addVault(service);
    for (const path of ['a', 'b', 'c', 'gone']) await addSecret(service, vault, path);
    await ok(send('DELETE', secretUrl(vault, 'gone')));
    return vault;
  };

  for (const [index, role] of ROLES.entries()) {
    rule(`a ${role} may do what the table says, in that vault only`, async () => {
      const vault = await vaultWithSecrets();
      const elsewhere = await vaultWithSecrets();
      await ok(add(vault, { user: person.id, role }), 201);
      for (const [name, request, statuses] of TABLE) {
        const [method, path, body] = request(vault);
        const { status, text } = await send(method, path, body, person.token);
        assert.equal(status, statuses[index], `${name}: ${text}`);
        const [otherMethod, otherPath, otherBody] = request(elsewhere);
        const other = send(otherMethod, otherPath, otherBody, person.token);
        await refused(other, 403, 'INSUFFICIENT_PRIVILEGE');
      }
      const body = { name: uniqueName('own'), environment: 'dev' };
      await refused(send('POST', '/v1/vaults', body, person.token), 403, 'INSUFFICIENT_PRIVILEGE');
    });
  }

  rule('what a writer tokenized a reader does not get back, a writer does', async () => {
    const vault = await addVault(service);
    const { token: stored } = await ok(send('POST', `/v1/vaults/${vault}/tokenize`, { value: 'x' }), 201);
    const back = () => send('POST', `/v1/vaults/${vault}/detokenize`, { token: stored }, person.token);
    await ok(add(vault, { user: person.id, role: 'reader' }), 201);
    await refused(back(), 403, 'INSUFFICIENT_PRIVILEGE');
    await ok(send('PATCH', `/v1/vaults/${vault}/members/${person.id}`, { role: 'writer' }));
    await ok(back());
  });

  rule('the creator of a vault is its manager until they are removed from it', async () => {
    const maker = await addPerson(service);
    await addPolicy(service, { user: maker.id }, [{ action: ['vaults:create'], resource: ['vault/*'] }]);
    const vault = await addVault(service, {}, maker.token);
    const [member] = await membersOf(vault);
    assert.deepEqual([member.id, member.kind, member.role], [maker.id, 'user', 'manager']);
    await addSecret(service, vault, 'a', {}, maker.token);
    await ok(send('DELETE', `/v1/vaults/${vault}/members/${maker.id}`, undefined, maker.token), 200);
    assert.equal(await canRead(vault, maker.token), false);
  });

  test('a member sees their role in the vault and in the list, the highest of their own and their groups’', async () => {
    const vault = await addVault(service);
    const roles = async (token: string) => {
      const { vaults } = await ok(send('GET', '/v1/vaults?limit=1000', undefined, token));
      const listed = vaults.find(({ name }: { name: string }) => name === vault).your_role;
      assert.equal((await ok(send('GET', `/v1/vaults/${vault}`, undefined, token))).your_role, listed);
      return listed;
    };
    await ok(add(vault, { user: person.id, role: 'reader' }), 201);
    assert.equal(await roles(person.token), 'reader');
    const name = uniqueName('team');
    const group = await ok(send('POST', '/v1/groups', { name }), 201);
    await ok(add(vault, { group: name, role: 'writer' }), 201);
    assert.equal(await roles(person.token), 'reader', 'the group is of others');
    await ok(send('POST', `/v1/groups/${group.id}/members`, { user_id: person.id }), 201);
    assert.equal(await roles(person.token), 'writer');
    const auditor = await addPerson(service, { role: 'auditor' });
    assert.equal(await roles(auditor.token), null, 'who sees it by their role in the tenant is no member');
  });

  rule('added by id or address, changed and removed: each counts on the very next request', async () => {
    const vault = await addVault(service);
    const made = await ok(add(vault, { user: person.email.toUpperCase(), role: 'reader' }), 201);
    assert.deepEqual(
      { ...made, added_at: '' },
      { id: person.id, kind: 'user', role: 'reader', added_at: '', reviewed_at: null, reviewed_by: null },
    );
    const write = () =>
      send('POST', `/v1/vaults/${vault}/secrets`, { path: uniqueName('s'), value: 'x' }, person.token);
    await refused(write(), 403, 'INSUFFICIENT_PRIVILEGE');
    const changed = await ok(send('PATCH', `/v1/vaults/${vault}/members/${person.id}`, { role: 'writer' }));
    assert.deepEqual(changed, { ...made, role: 'writer' });
    await ok(write(), 201);
    await ok(send('PATCH', `/v1/vaults/${vault}/members/${person.id}`, { role: 'reader' }));
    await refused(write(), 403, 'INSUFFICIENT_PRIVILEGE');
    await ok(send('DELETE', `/v1/vaults/${vault}/members/${person.id}`), 200);
    assert.equal(await canRead(vault, person.token), false);
    const gone = `/v1/vaults/${vault}/members/${person.id}`;
    await refused(send('DELETE', gone), 404, 'NOT_FOUND');
    await refused(send('PATCH', gone, { role: 'reader' }), 404, 'NOT_FOUND');
    await ok(add(vault, { user: person.id, role: 'reader' }), 201);
    assert.equal(await canRead(vault, person.token), true);
  });

  test('a group’s members come in with it, while they are in it; the stronger of two roles counts', async () => {
    const vault = await vaultWithSecrets();
    const group = await ok(send('POST', '/v1/groups', { name: uniqueName('group') }), 201);
    const made = await ok(add(vault, { group: group.name, role: 'writer' }), 201);
    assert.deepEqual([made.id, made.kind], [group.id, 'group']);
    assert.equal(await canRead(vault, person.token), false);
    await ok(send('POST', `/v1/groups/${group.id}/members`, { user_id: person.id }), 201);
    await ok(add(vault, { user: person.id, role: 'reader' }), 201);
    await ok(send('PUT', secretUrl(vault, 'a'), { value: 'x' }, person.token));
    await ok(send('DELETE', `/v1/groups/${group.id}/members/${person.id}`), 200);
    await refused(send('PUT', secretUrl(vault, 'a'), { value: 'x' }, person.token), 403, 'INSUFFICIENT_PRIVILEGE');
    await ok(send('GET', secretUrl(vault, 'a'), undefined, person.token));
  });

  rule('a deny of a policy wins over membership', async () => {
    const one = await addPerson(service);
    const vault = await vaultWithSecrets();
    await ok(add(vault, { user: one.id, role: 'manager' }), 201);
    await addPolicy(service, { user: one.id }, [
      { effect: 'deny', action: ['secrets:*'], resource: [`vault/${vault}/a`] },
    ]);
    await refused(send('GET', secretUrl(vault, 'a'), undefined, one.token), 403, 'INSUFFICIENT_PRIVILEGE');
    await ok(send('GET', secretUrl(vault, 'b'), undefined, one.token));
  });

  rule('a deleted person or group is no member any more', async () => {
    const vault = await addVault(service);
    const leaver = await ok(send('POST', '/v1/users', { email: `${uniqueName('leaver')}@example.com` }), 201);
    const group = await ok(send('POST', '/v1/groups', { name: uniqueName('group') }), 201);
    await ok(add(vault, { user: leaver.id, role: 'reader' }), 201);
    await ok(add(vault, { group: group.id, role: 'reader' }), 201);
    assert.equal((await membersOf(vault)).length, 3);
    await ok(send('DELETE', `/v1/users/${leaver.id}`), 200);
    await ok(send('DELETE', `/v1/groups/${group.id}`), 200);
    const left = await membersOf(vault);
    assert.deepEqual(
      left.map((member) => member.role),
      ['manager'],
    );
  });

  test('reviewing marks everyone who is in, by whom and when, and nobody who comes later', async () => {
    const vault = await addVault(service);
    await ok(add(vault, { user: person.id, role: 'reader' }), 201);
    const { user } = await ok(send('GET', '/auth/me'));
    const review = await ok(send('POST', `/v1/vaults/${vault}/members/review`));
    assert.deepEqual([review.vault, review.reviewed], [vault, 2]);
    const group = await ok(send('POST', '/v1/groups', { name: uniqueName('group') }), 201);
    await ok(add(vault, { group: group.id, role: 'reader' }), 201);
    for (const member of await membersOf(vault)) {
      const expected = member.kind === 'group' ? [null, null] : [review.reviewed_at, user.id];
      assert.deepEqual([member.reviewed_at, member.reviewed_by], expected);
    }
  });

  test('somebody is in once, also when added twenty times at once', async () => {
    const vault = await addVault(service);
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => add(vault, { user: person.id, role: 'reader' })),
    );
    assert.deepEqual(answers.map(({ status }) => status).sort(), [201, ...Array(19).fill(409)]);
    await refused(add(vault, { user: person.id, role: 'manager' }), 409, 'ALREADY_EXISTS');
    assert.equal((await membersOf(vault)).length, 2);
  });

  test('the list is paged, each member once', async () => {
    const vault = await addVault(service);
    const ids: string[] = [];
    for (let i = 0; i < 4; i++) {
      const { id } = await ok(send('POST', '/v1/groups', { name: uniqueName('group') }), 201);
      await ok(add(vault, { group: id, role: 'reader' }), 201);
      ids.push(id);
    }
    const members = await membersOf(vault);
    assert.deepEqual(
      members.filter((member) => member.kind === 'group').map((member) => member.id),
      ids,
    );
    assert.equal(members.length, 5);
    const cursor = Buffer.from('["user","x"]').toString('base64url');
    await invalid(send('GET', `/v1/vaults/${vault}/members?cursor=${cursor}`), '/query/cursor');
  });

  rule('a token with a limit grants no membership and changes none', async () => {
    const vault = await addVault(service);
    await ok(add(vault, { user: person.id, role: 'reader' }), 201);
    const at = `/v1/vaults/${vault}/members/${person.id}`;
    for (const more of [
      { scope: { vaults: [vault] } },
      { scope: { actions: ['members:*'] } },
      { ip_allowlist: ['127.0.0.1'] },
    ]) {
      const { token } = await addToken(service, service.adminToken, more);
      await ok(send('GET', `/v1/vaults/${vault}/members`, undefined, token));
      const other = { user: (await addTenant(service)).owner.id, role: 'reader' };
      await refused(add(vault, other, token), 403, 'INSUFFICIENT_PRIVILEGE');
      await refused(send('PATCH', at, { role: 'manager' }, token), 403, 'INSUFFICIENT_PRIVILEGE');
      await refused(send('DELETE', at, undefined, token), 403, 'INSUFFICIENT_PRIVILEGE');
    }
  });

  rule('people and groups of another tenant do not exist, nor does the vault to them', async () => {
    const vault = await addVault(service);
    const { owner } = await addTenant(service);
    const theirs = await ok(send('POST', '/v1/groups', { name: uniqueName('theirs') }, owner.token), 201);
    await refused(add(vault, { user: owner.id, role: 'reader' }), 404, 'NOT_FOUND');
    await refused(add(vault, { user: owner.email, role: 'reader' }), 404, 'NOT_FOUND');
    await refused(add(vault, { group: theirs.id, role: 'reader' }), 404, 'NOT_FOUND');
    await refused(add(vault, { group: theirs.name, role: 'reader' }), 404, 'NOT_FOUND');
    const own = { user: owner.id, role: 'manager' };
    await refused(add(vault, own, owner.token), 404, 'VAULT_NOT_FOUND');
    // The same name there is another vault.
    await addVault(service, { name: vault }, owner.token);
    await ok(add(vault, { group: theirs.id, role: 'manager' }, owner.token), 201);
    assert.equal((await membersOf(vault)).length, 1);
    await refused(send('DELETE', `/v1/vaults/${vault}/members/${owner.id}`), 404, 'NOT_FOUND');
  });

  rule('nobody, two at once, or an unknown role is pointed at', async () => {
    const vault = await addVault(service);
    await invalid(add(vault, { role: 'reader' }), '/body');
    await invalid(add(vault, { user: person.id, group: 'x', role: 'reader' }), '/body');
    await invalid(add(vault, { user: person.id, role: 'owner' }), '/body/role');
    await invalid(add(vault, { user: person.id }), '/body/role');
    await invalid(add(vault, { user: person.id, role: 'reader', until: 'x' }), '/body/until');
    await refused(add(vault, { user: 'nobody@example.com', role: 'reader' }), 404, 'NOT_FOUND');
  });

  rule('every change of members is recorded with whom and as what', async () => {
    const vault = await addVault(service);
    await ok(add(vault, { user: person.id, role: 'reader' }), 201);
    await ok(send('PATCH', `/v1/vaults/${vault}/members/${person.id}`, { role: 'manager' }));
    await ok(send('DELETE', `/v1/vaults/${vault}/members/${person.id}`), 200);
    const entries = await auditOf(service, `vault=${vault}`);
    assert.deepEqual(
      entries.filter((entry) => entry.action.startsWith('vault_member')).map((entry) => [entry.action, entry.details]),
      [
        ['vault_member_removed', { member: person.id }],
        ['vault_member_changed', { member: person.id, role: 'manager' }],
        ['vault_member_added', { member: person.id, role: 'reader' }],
      ],
    );
  });

  test('a group or person who is removed in that moment becomes no member', async () => {
    const where = await addVault(service);
    const group = await ok(service.call('POST', '/v1/groups', { body: { name: uniqueName('group') } }), 201);
    const person = await addPerson(service);
    const add = (body: object) => () =>
      service.call('POST', `/v1/vaults/${where}/members`, { body: { role: 'reader', ...body } });
    const answers = [
      await whileHeld(
        service,
        (tx) => tx.deleteFrom('groups').where('group_id', '=', group.id).execute(),
        add({ group: group.id }),
      ),
      await whileHeld(
        service,
        (tx) => tx.deleteFrom('users').where('user_id', '=', person.id).execute(),
        add({ user: person.id }),
      ),
    ];
    assert.deepEqual(
      answers.map(({ status }) => status),
      [404, 404],
    );
  });
});
