import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { addConnection } from '../../../../test/support/machines.ts';
import { addPerson, done, ok, type Person, refused, uniqueName } from '../../../../test/support/people.ts';
import { type Answer, onSqliteAtLanding, type Service, startService } from '../../../../test/support/service.ts';
import { addVault } from '../../../../test/support/vaults.ts';

/** What somebody learns by simulating who may know little else. */

onSqliteAtLanding('simulation by somebody who may read little', (database) => {
  let service: Service;
  let asker: Person;
  let bob: Person;
  let vault: string;
  before(async () => {
    service = await startService(database);
    asker = await personWith({ effect: 'allow', action: ['policies:simulate'], resource: ['policy'] });
    bob = await addPerson(service);
    vault = await addVault(service);
    const body = { user: bob.id, role: 'reader' };
    await ok(service.call('POST', `/v1/vaults/${vault}/members`, { body }), 201);
  });
  after(() => service.close());

  const policy = async (...statement: object[]) => {
    const name = uniqueName('policy');
    await ok(
      service.call('POST', '/v1/policies', { body: { name, document: { version: '2026-01-01', statement } } }),
      201,
    );
    return name;
  };
  const personWith = async (...statement: object[]) => {
    const person = await addPerson(service);
    const body = { principal: { user: person.id } };
    await done(service, service.call('POST', `/v1/policies/${await policy(...statement)}/attach`, { body }), 200);
    return person;
  };
  const simulate = (by: Person, body: object, on = vault): Promise<Answer> =>
    service.call('POST', '/v1/policies/simulate', {
      token: by.token,
      body: { action: 'secrets:read', resource: `vault/${on}/db`, ...body },
    });
  const said = async (answer: Promise<Answer>) => {
    const { status, body } = await answer;
    return { status, ...(status === 200 ? body : { code: body.error.code, message: body.error.message }) };
  };

  test('a caller without permission to read them is told nothing about people, groups, connections or policies', async () => {
    const { id, client_id } = await addConnection(service, vault);
    const group = await ok(service.call('POST', '/v1/groups', { body: { name: uniqueName('group') } }), 201);
    const hidden = await policy({ effect: 'allow', action: ['secrets:read'], resource: [`vault/${vault}/*`] });
    const pairs: [there: object, absent: object][] = [
      [{ principal: { user: bob.email } }, { principal: { user: 'nobody@nowhere.example' } }],
      [{ principal: { user: bob.id } }, { principal: { user: 'user_00000000000000000000000000' } }],
      [{ principal: { group: group.name } }, { principal: { group: 'no-such-group' } }],
      [{ principal: { app_connection: id } }, { principal: { app_connection: 999_999_999 } }],
      [
        { principal: { app_connection: client_id } },
        { principal: { app_connection: '00000000-0000-4000-8000-000000000000' } },
      ],
      [{ policy: hidden }, { policy: 'no-such-policy' }],
    ];
    for (const [there, absent] of pairs) {
      const what = JSON.stringify(there);
      await refused(simulate(asker, there), 403, 'INSUFFICIENT_PRIVILEGE');
      assert.deepEqual(await said(simulate(asker, there)), await said(simulate(asker, absent)), what);
    }
  });

  test('they may still ask about themselves, and about a document', async () => {
    for (const user of [asker.id, asker.email, asker.email.toUpperCase()]) {
      assert.equal((await ok(simulate(asker, { principal: { user } }))).decision, 'deny', user);
    }
    const document = {
      version: '2026-01-01',
      statement: [{ effect: 'allow', action: ['secrets:read'], resource: [`vault/${vault}/*`] }],
    };
    assert.equal((await ok(simulate(asker, { document }))).decision, 'allow');
  });

  test('one who is hidden from somebody that may read all others is as one who does not exist', async () => {
    const reader = await personWith(
      { effect: 'allow', action: ['policies:simulate'], resource: ['policy'] },
      { effect: 'allow', action: ['users:read'], resource: ['user/*'] },
      { effect: 'deny', action: ['users:read'], resource: [`user/${bob.id}`] },
    );
    const other = await addPerson(service);
    await ok(simulate(reader, { principal: { user: other.email } }));
    const absent = await said(simulate(reader, { principal: { user: 'nobody@nowhere.example' } }));
    assert.equal(absent.status, 404);
    assert.deepEqual(await said(simulate(reader, { principal: { user: bob.email } })), absent);
  });

  test('rights in a vault that one cannot see are left out, and those by a policy or a role are not', async () => {
    const connection = await addConnection(service, vault);
    const statements = [
      { effect: 'allow', action: ['policies:simulate'], resource: ['policy'] },
      { effect: 'allow', action: ['users:read'], resource: ['user/*'] },
      { effect: 'allow', action: ['app_connections:read'], resource: ['app-connection/*'] },
    ];
    const outside = await personWith(...statements);
    const inside = await personWith(...statements, {
      effect: 'allow',
      action: ['vaults:list'],
      resource: [`vault/${vault}`],
    });
    for (const principal of [{ user: bob.email }, { app_connection: connection.client_id }]) {
      const there = await ok(simulate(outside, { principal }));
      assert.deepEqual(there, await ok(simulate(outside, { principal }, 'no-such-vault')), JSON.stringify(principal));
      assert.equal(there.decision, 'deny');
      assert.equal((await ok(simulate(inside, { principal }))).decision, 'allow');
    }
    const admin = await addPerson(service, { role: 'admin' });
    assert.equal((await ok(simulate(outside, { principal: { user: admin.email } }))).decision, 'allow');
    const byPolicy = await personWith({ effect: 'allow', action: ['secrets:read'], resource: [`vault/${vault}/*`] });
    assert.equal((await ok(simulate(outside, { principal: { user: byPolicy.email } }))).decision, 'allow');
  });
});
