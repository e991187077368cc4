import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { addConnection } from '../../../../test/support/machines.ts';
import {
  addColleague,
  addPerson,
  addTenant,
  done,
  invalid,
  ok,
  refused,
  uniqueName,
} from '../../../../test/support/people.ts';
import { onBothDatabases, type Service, startService } from '../../../../test/support/service.ts';
import { addSecret, addVault } from '../../../../test/support/vaults.ts';

interface Found {
  kind: string;
  id: string;
  name: string;
  conditional: boolean;
  because: { kind: string; name: string; until: string | null }[];
}

const statement = (effect: 'allow' | 'deny', resource: string, more: object = {}) => ({
  effect,
  action: ['secrets:read'],
  resource: [resource],
  ...more,
});

onBothDatabases('who can', (database, { rule }) => {
  let service: Service;
  before(async () => {
    service = await startService(database);
  });
  after(() => service.close());

  const attached = async (principal: object, ...statements: object[]) => {
    const name = uniqueName('policy');
    const body = { name, document: { version: '2026-01-01', statement: statements } };
    await ok(service.call('POST', '/v1/policies', { body }), 201);
    await done(service, service.call('POST', `/v1/policies/${name}/attach`, { body: { principal } }), 200);
    return name;
  };
  const ask = async (
    resource: string,
    token?: string,
  ): Promise<{ principals: Found[]; truncated: boolean; hidden: number }> =>
    ok(
      service.call('POST', '/v1/policies/who-can', {
        ...(token && { token }),
        body: { action: 'secrets:read', resource },
      }),
    );

  test('users by role, membership, group and policy, and connections, each with the reason', async () => {
    const vault = await addVault(service);
    await addSecret(service, vault, 'db/password');
    const member = await addPerson(service);
    const reader = await addPerson(service);
    const inGroup = await addPerson(service);
    const denied = await addPerson(service);
    const auditor = await addPerson(service, { role: 'auditor' });
    const disabled = await addPerson(service);
    const group = await ok(service.call('POST', '/v1/groups', { body: { name: uniqueName('group') } }), 201);
    for (const { id } of [inGroup, denied]) {
      const add = service.call('POST', `/v1/groups/${group.id}/members`, { body: { user_id: id } });
      await done(service, add, 201);
    }
    const join = (body: object) => done(service, service.call('POST', `/v1/vaults/${vault}/members`, { body }), 201);
    await join({ user: reader.id, role: 'reader' });
    await join({ user: disabled.id, role: 'reader' });
    await done(service, service.call('PATCH', `/v1/users/${disabled.id}`, { body: { status: 'disabled' } }), 200);
    const ofGroup = await attached({ group: group.id }, statement('allow', `vault/${vault}/db/**`));
    await attached({ user: denied.id }, statement('deny', `vault/${vault}/**`));
    const withFactor = await attached(
      { user: member.id },
      statement('allow', `vault/${vault}/**`, { condition: { mfa: [true] } }),
    );
    const machine = await addConnection(service, vault);
    const { principals, truncated, hidden } = await ask(`vault/${vault}/db/password`);
    const by = (id: string) => principals.find((each) => each.id === id);
    assert.deepEqual(by(reader.id), {
      kind: 'user',
      id: reader.id,
      name: reader.email,
      conditional: false,
      because: [{ kind: 'membership', name: 'reader', until: null }],
    });
    assert.deepEqual(by(inGroup.id)?.because, [{ kind: 'group', name: group.name, until: null }]);
    assert.deepEqual(by(member.id)?.because, [{ kind: 'policy', name: withFactor, until: null }]);
    assert.equal(by(member.id)?.conditional, true);
    assert.deepEqual(
      by(machine.client_id)?.because.map(({ kind }) => kind),
      ['connection'],
    );
    assert.equal(by(machine.client_id)?.kind, 'app_connection');
    const owner = principals.find(({ because }) =>
      because.some(({ kind, name }) => kind === 'role' && name === 'owner'),
    );
    assert.ok(owner !== undefined);
    for (const { id } of [denied, auditor, disabled]) assert.equal(by(id), undefined);
    assert.deepEqual([truncated, hidden], [false, 0]);
    assert.equal(
      (await ask(`vault/${vault}/other`)).principals.some(({ id }) => id === inGroup.id),
      false,
      ofGroup,
    );
  });

  rule(
    'another tenant is not in it, and a caller without permission to read a person only learns that there are some',
    async () => {
      const vault = await addVault(service);
      const other = await addTenant(service);
      const { principals } = await ask(`vault/${vault}/x`, other.owner.token);
      assert.deepEqual(
        principals.map(({ id }) => id),
        [other.owner.id],
      );
      const asker = await addPerson(service);
      const body = { action: 'secrets:read', resource: `vault/${vault}/x` };
      await refused(
        service.call('POST', '/v1/policies/who-can', { token: asker.token, body }),
        403,
        'INSUFFICIENT_PRIVILEGE',
      );
      await attached({ user: asker.id }, { effect: 'allow', action: ['policies:simulate'], resource: ['policy'] });
      const seen = await ask(`vault/${vault}/x`, asker.token);
      assert.deepEqual(seen.principals, []);
      assert.ok(seen.hidden > 0);
    },
  );

  rule('a caller without permission to list a vault gets the same answer whether it exists or not', async () => {
    const tenant = await addTenant(service);
    const { token } = tenant.owner;
    const vault = await addVault(service, {}, token);
    const asker = await addPerson(service, { tenant });
    const name = uniqueName('policy');
    const document = {
      version: '2026-01-01',
      statement: [{ effect: 'allow', action: ['policies:simulate'], resource: ['policy'] }],
    };
    await ok(service.call('POST', '/v1/policies', { token, body: { name, document } }), 201);
    const principal = { user: asker.id };
    await ok(service.call('POST', `/v1/policies/${name}/attach`, { token, body: { principal } }));
    const members = await addPerson(service, { tenant });
    const inGroup = await addPerson(service, { tenant });
    const group = await ok(service.call('POST', '/v1/groups', { token, body: { name: uniqueName('group') } }), 201);
    await ok(service.call('POST', `/v1/groups/${group.id}/members`, { token, body: { user_id: inGroup.id } }), 201);
    for (const member of [{ user: members.id }, { group: group.id }]) {
      const body = { ...member, role: 'reader' };
      await ok(service.call('POST', `/v1/vaults/${vault}/members`, { token, body }), 201);
    }
    await addConnection(service, vault, {}, token);
    const there = await ask(`vault/${vault}/x`, asker.token);
    assert.deepEqual(there, await ask(`vault/${uniqueName('none')}/x`, asker.token));
    assert.deepEqual(await ask(`vault/${vault}`, asker.token), await ask('vault/none', asker.token));
    const known = await ask(`vault/${vault}/x`, token);
    assert.equal(known.principals.length, there.hidden + 3, 'who may list it sees all of them');
  });

  test('at most 200 are listed', async () => {
    const tenant = await addTenant(service);
    await Promise.all(Array.from({ length: 201 }, () => addColleague(service, tenant.id, 'admin')));
    const { principals, truncated } = await ask('vault/any/x', tenant.owner.token);
    assert.equal(principals.length, 200);
    assert.equal(truncated, true);
  });

  rule('a misspelt action or a pattern is refused, because nobody could do it', async () => {
    const call = (action: string, resource: string) =>
      service.call('POST', '/v1/policies/who-can', { body: { action, resource } });
    await invalid(call('secret:read', 'vault/a/b'), '/body/action');
    await invalid(call('secrets:*', 'vault/a/b'), '/body/action');
    await invalid(call('secrets:read', 'vaults/a'), '/body/resource');
    await invalid(call('secrets:read', 'vault/a/../b'), '/body/resource');
  });
});
