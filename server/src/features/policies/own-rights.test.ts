import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { addPerson, addTenant, done, invalid, ok, uniqueName } from '../../../../test/support/people.ts';
import { onSqliteAtLanding, type Service, startService } from '../../../../test/support/service.ts';
import { addSecret, addVault } from '../../../../test/support/vaults.ts';

onSqliteAtLanding('why somebody may do something, or not', (database) => {
  let service: Service;
  before(async () => {
    service = await startService(database);
  });
  after(() => service.close());

  const explain = (token: string, action: string, resource: string) =>
    ok(service.call('POST', '/v1/policies/explain', { token, body: { action, resource } }));
  const attached = async (user: string, ...statement: object[]) => {
    const name = uniqueName('policy');
    await ok(
      service.call('POST', '/v1/policies', { body: { name, document: { version: '2026-01-01', statement } } }),
      201,
    );
    const body = { principal: { user } };
    await done(service, service.call('POST', `/v1/policies/${name}/attach`, { body }), 200);
    return name;
  };
  const reading = (effect: 'allow' | 'deny', resource: string, more: object = {}) => ({
    sid: `${effect}-it`,
    effect,
    action: ['secrets:read'],
    resource: [resource],
    ...more,
  });

  test('names the statement that decides, and who can change a refusal', async () => {
    const vault = await addVault(service);
    await addSecret(service, vault, 'db/password');
    const person = await addPerson(service);
    const manager = await addPerson(service);
    const it = `vault/${vault}/db/password`;
    const missing = await explain(person.token, 'secrets:read', it);
    assert.deepEqual(
      [missing.allowed, missing.reason, missing.matched, missing.conditional],
      [false, 'no_match', [], false],
    );
    assert.deepEqual(missing.remedy, { action: 'members:add', resource: `vault/${vault}` });
    assert.deepEqual(missing.helpers, [], 'a member may not list people');
    assert.ok(missing.hidden_roles.includes('owner'));
    assert.ok(missing.hidden_helpers > 0);

    const add = (user: string, role: string) =>
      done(service, service.call('POST', `/v1/vaults/${vault}/members`, { body: { user, role } }), 201);
    await add(manager.id, 'manager');
    await add(person.id, 'reader');
    const reader = await explain(person.token, 'secrets:read', it);
    assert.equal(reader.allowed, true);
    assert.deepEqual(reader.matched, [{ policy: 'role/vault-member', sid: 'reader', effect: 'allow' }]);
    assert.equal(reader.remedy, null);
    const people = await attached(person.id, {
      effect: 'allow',
      action: ['users:read'],
      resource: [`user/${manager.id}`],
    });
    assert.ok(people);
    const writing = await explain(person.token, 'secrets:update', it);
    assert.equal(writing.reason, 'no_match');
    assert.deepEqual(
      writing.helpers.map((helper: { id: string; because: object[] }) => [helper.id, helper.because]),
      [[manager.id, [{ kind: 'membership', name: 'manager', until: null }]]],
    );

    const name = await attached(person.id, reading('deny', it));
    const denied = await explain(person.token, 'secrets:read', it);
    assert.equal(denied.reason, 'explicit_deny');
    assert.deepEqual(denied.matched[0], { policy: name, sid: 'deny-it', effect: 'deny' });
    assert.deepEqual(denied.remedy, { action: 'policies:update', resource: `policy/${name}` });
  });

  test('tells a condition and the limits of the credential from a missing right', async () => {
    const vault = await addVault(service);
    const it = `vault/${vault}/a`;
    const person = await addPerson(service);
    await attached(person.id, reading('allow', `vault/${vault}/**`, { condition: { mfa: [true] } }));
    const conditional = await explain(person.token, 'secrets:read', it);
    assert.deepEqual([conditional.reason, conditional.conditional], ['no_match', true]);
    const body = { name: 'small', ttl_days: 1, scope: { vaults: ['another'] } };
    const { token } = await ok(service.call('POST', '/auth/tokens', { body }), 201);
    const limited = await explain(token, 'secrets:read', it);
    assert.deepEqual([limited.reason, limited.remedy, limited.helpers], ['out_of_scope', null, []]);
  });

  test('answers the same about a vault that is there and one that is not', async () => {
    const vault = await addVault(service);
    await addSecret(service, vault, 'db/password');
    const manager = await addPerson(service);
    const body = { user: manager.id, role: 'manager' };
    await done(service, service.call('POST', `/v1/vaults/${vault}/members`, { body }), 201);
    const stranger = await addPerson(service);
    const foreign = await addTenant(service);
    for (const { token } of [stranger, foreign.owner]) {
      const there = await explain(token, 'secrets:read', `vault/${vault}/db/password`);
      const absent = await explain(token, 'secrets:read', 'vault/absent/db/password');
      const plain = (text: object) => JSON.stringify(text).replaceAll(vault, 'absent');
      assert.equal(plain(there), plain(absent));
    }
  });

  test('refuses what no endpoint declares', async () => {
    const { token } = await addPerson(service);
    const call = (body: object) => service.call('POST', '/v1/policies/explain', { token, body });
    await invalid(call({ action: 'secrets:raed', resource: 'vault/a/b' }), '/body/action');
    await invalid(call({ action: 'secrets:read', resource: 'nothing/at/all' }), '/body/resource');
    await invalid(call({ action: 'secrets:read' }), '/body/resource');
  });
});
