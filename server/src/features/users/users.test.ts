import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import {
  addPerson,
  addTenant,
  allPages,
  approve,
  done,
  invalid,
  ok,
  type Person,
  refused,
  type Tenant,
  uniqueName,
} from '../../../../test/support/people.ts';
import { type Answer, onBothDatabases, type Service, startService } from '../../../../test/support/service.ts';

onBothDatabases('users', (database, { rule }) => {
  let service: Service;
  let admin: Person;
  let foreign: Tenant;

  before(async () => {
    service = await startService(database);
    admin = await addPerson(service, { role: 'admin' });
    foreign = await addTenant(service);
  });
  after(() => service.close());

  const create = (body: object, token = service.adminToken) => service.call('POST', '/v1/users', { token, body });
  const patch = (id: string, body: object, token = service.adminToken) =>
    service.call('PATCH', `/v1/users/${id}`, { token, body });
  const remove = (id: string, token = service.adminToken) => service.call('DELETE', `/v1/users/${id}`, { token });
  const read = (id: string) => ok(service.call('GET', `/v1/users/${id}`));
  /** With a role, another admin has to approve. */
  const someone = async (more: object = {}) => {
    const email = `${uniqueName('someone')}@example.com`;
    const made = await done(service, create({ email, ...more }), 201);
    if (made.email !== undefined) return made;
    return (await allPages(service, '/v1/users', 'users')).find((user) => user.email === email);
  };

  test('a user is a member without rights unless told, and reads back as made', async () => {
    const made = await ok(create({ email: 'Plain@Example.com', name: 'Plain Person' }), 201);
    const { id: _, created_at: __, ...rest } = made;
    const expected = { email: 'plain@example.com', name: 'Plain Person', role: 'member', status: 'active' };
    assert.deepEqual(rest, {
      ...expected,
      has_password: false,
      break_glass: false,
      last_seen_at: null,
      second_factors: [],
    });
    assert.deepEqual(await read(made.id), made);
  });

  rule('a password is never in a response, only that there is one', async () => {
    const answer = await create({ email: 'with-password@example.com', password: 'a password to hide' });
    assert.equal(answer.body.has_password, true);
    assert.ok(!answer.text.includes('a password to hide') && !answer.text.includes('argon2'));
    const list = await service.call('GET', '/v1/users');
    assert.ok(!list.text.includes('argon2'));
  });

  test('an address is used once in a tenant, in whatever case, and is free in another', async () => {
    await someone({ email: 'taken@example.com' });
    await refused(create({ email: 'TAKEN@example.com' }), 409, 'ALREADY_EXISTS');
    await ok(create({ email: 'taken@example.com' }, foreign.owner.token), 201);
  });

  test('an address with letters beyond ASCII signs in, in whatever case, and one that looks like another is refused', async () => {
    const local = uniqueName('jörg');
    const password = 'a password of some length';
    const { email, id } = await ok(create({ email: `${local}@example.com`, password }), 201);
    assert.equal(email, `${local}@example.com`);
    const login = { email: `${local.toUpperCase()}@EXAMPLE.com`, password };
    const { token } = await ok(service.call('POST', '/auth/login', { token: null, body: login }));
    assert.equal((await ok(service.call('GET', '/auth/me', { token }))).user.id, id);
    await refused(create({ email: `${local.toUpperCase()}@example.com` }), 409, 'ALREADY_EXISTS');
    await invalid(create({ email: `${local.replace('j', '\u0458')}@example.com` }), '/body/email');
    await invalid(create({ email: `${local.normalize('NFD')}@example.com` }), '/body/email');
  });

  test('twenty at once with one address make one user', async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => create({ email: 'race@example.com' })));
    const statuses = answers.map(({ status }) => status).sort();
    assert.deepEqual(statuses, [201, ...Array(19).fill(409)]);
  });

  rule('fields that are unknown, missing or out of bounds are pointed at', async () => {
    const tries: [object, string][] = [
      [{}, '/body/email'],
      [{ email: 'no-address' }, '/body/email'],
      [{ email: 'a@example.com', status: 'active' }, '/body/status'],
      [{ email: 'a@example.com', tenant_id: foreign.id }, '/body/tenant_id'],
      [{ email: 'a@example.com', name: 'x'.repeat(129) }, '/body/name'],
      [{ email: 'a@example.com', role: 'superuser' }, '/body/role'],
      [{ email: 'a@example.com', password: 'short' }, '/body/password'],
    ];
    for (const [body, pointer] of tries) await invalid(create(body), pointer);
    const { id } = await someone();
    await invalid(patch(id, { email: 'other@example.com' }), '/body/email');
    await invalid(patch(id, { id: 'user_other' }), '/body/id');
    await invalid(patch(id, { status: 'deleted' }), '/body/status');
  });

  rule('a change keeps what it does not name', async () => {
    const made = await someone({ name: 'Before', role: 'auditor' });
    assert.deepEqual(await ok(patch(made.id, { name: 'After' })), { ...made, name: 'After' });
    assert.deepEqual(await ok(patch(made.id, {})), { ...made, name: 'After' });
    assert.deepEqual(await read(made.id), { ...made, name: 'After' });
  });

  rule('who is deleted is gone, and the address is free again', async () => {
    const { id, email } = await someone();
    await ok(remove(id), 200);
    await refused(service.call('GET', `/v1/users/${id}`), 404, 'NOT_FOUND');
    await refused(remove(id), 404, 'NOT_FOUND');
    await refused(patch(id, { name: 'x' }), 404, 'NOT_FOUND');
    assert.notEqual((await ok(create({ email }), 201)).id, id);
  });

  rule('users of another tenant do not exist', async () => {
    const { id, name } = await someone({ name: 'Untouched' });
    const { token } = foreign.owner;
    await refused(service.call('GET', `/v1/users/${id}`, { token }), 404, 'NOT_FOUND');
    await refused(patch(id, { name: 'Taken over' }, token), 404, 'NOT_FOUND');
    await refused(remove(id, token), 404, 'NOT_FOUND');
    const theirs = await allPages(service, '/v1/users', 'users', { token });
    assert.ok(theirs.every((user) => user.id !== id));
    assert.equal((await read(id)).name, name);
  });

  test('the list is complete, page by page, in the order of making', async () => {
    const { token } = (await addTenant(service)).owner;
    for (let i = 0; i < 6; i++) await ok(create({ email: `page-${i}@example.com` }, token), 201);
    for (const limit of [1, 3, 7, 1000]) {
      const users = await allPages(service, `/v1/users?limit=${limit}`, 'users', { token });
      assert.deepEqual(
        users.slice(1).map((user) => user.email),
        Array.from({ length: 6 }, (_, i) => `page-${i}@example.com`),
      );
    }
  });

  describe('owners', () => {
    rule('an admin can neither make, change nor remove one, and nothing changes', async () => {
      const owner = await someone({ role: 'owner' });
      const plain = await someone();
      await refused(create({ email: 'crown@example.com', role: 'owner' }, admin.token), 403, 'INSUFFICIENT_PRIVILEGE');
      await refused(patch(plain.id, { role: 'owner' }, admin.token), 403, 'INSUFFICIENT_PRIVILEGE');
      await refused(patch(admin.id, { role: 'owner' }, admin.token), 403, 'INSUFFICIENT_PRIVILEGE');
      for (const change of [
        { role: 'member' },
        { status: 'disabled' },
        { password: 'taken over by admin' },
        { name: 'x' },
      ]) {
        await refused(patch(owner.id, change, admin.token), 403, 'INSUFFICIENT_PRIVILEGE');
      }
      await refused(remove(owner.id, admin.token), 403, 'INSUFFICIENT_PRIVILEGE');
      assert.deepEqual(await read(owner.id), owner);
      assert.equal((await read(plain.id)).role, 'member');
      const emails = (await allPages(service, '/v1/users', 'users')).map((user) => user.email);
      assert.ok(!emails.includes('crown@example.com'));
    });

    rule('an owner’s token that is not for it cannot make one either', async () => {
      const scope = { actions: ['users:create', 'users:update'] };
      const { token } = await ok(service.call('POST', '/auth/tokens', { body: { name: 'narrow', scope } }), 201);
      await ok(create({ email: 'narrow@example.com' }, token), 201);
      await refused(create({ email: 'crown@example.com', role: 'owner' }, token), 403, 'INSUFFICIENT_PRIVILEGE');
    });

    test('the last active one stays', async () => {
      const tenant = await addTenant(service);
      const { id, token } = tenant.owner;
      const second = await ok(create({ email: 'second@example.com', role: 'owner' }, token), 201);
      await ok(patch(second.id, { status: 'disabled' }, token));
      await refused(patch(id, { role: 'admin' }, token), 409, 'IN_USE');
      await refused(patch(id, { status: 'disabled' }, token), 409, 'IN_USE');
      await refused(remove(id, token), 409, 'IN_USE');
      await ok(patch(second.id, { status: 'active' }, token));
      await ok(remove(id, token), 200);
    });

    test('two who remove each other at once cannot both succeed', async () => {
      for (let round = 0; round < 3; round++) {
        const tenant = await addTenant(service);
        const other = await addPerson(service, { tenant, role: 'owner' });
        const removal = await ok(remove(tenant.owner.id, other.token), 202);
        const demotion = await ok(patch(other.id, { role: 'member' }, tenant.owner.token), 202);
        const answers = await Promise.all([
          approve(service, removal.approval_id, tenant.owner.token),
          approve(service, demotion.approval_id, other.token),
        ]);
        const carriedOut = answers.filter(({ body }) => body.status === 'completed').length;
        assert.equal(carriedOut, 1, answers.map((answer: Answer) => answer.text).join());
      }
    });
  });
});
