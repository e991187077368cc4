import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { addConnection, callAs } from '../../../../test/support/machines.ts';
import {
  addPerson,
  addTenant,
  addToken,
  allPages,
  done,
  invalid,
  ok,
  refused,
  uniqueName,
} from '../../../../test/support/people.ts';
import { asTheService } from '../../../../test/support/rows.ts';
import { onBothDatabases, type Service, startService } from '../../../../test/support/service.ts';
import { addSecret, addVault, secretUrl } from '../../../../test/support/vaults.ts';
import { raiseEpoch } from '../../kernel/storage/epochs.ts';
import { POLICIES } from './index.ts';

const allow = (action: string, resource: string, more: object = {}) => ({
  version: '2026-01-01',
  statement: [{ effect: 'allow', action: [action], resource: [resource], ...more }],
});
const deny = (action: string, resource: string) => ({
  version: '2026-01-01',
  statement: [{ sid: 'no', effect: 'deny', action: [action], resource: [resource] }],
});

onBothDatabases('policies', (database, { rule }) => {
  let service: Service;
  before(async () => {
    service = await startService(database);
  });
  after(() => service.close());

  const write = async (document: object) => {
    const name = uniqueName('policy');
    await ok(service.call('POST', '/v1/policies', { body: { name, document } }), 201);
    return name;
  };
  const attach = (name: string, principal: object) =>
    done(service, service.call('POST', `/v1/policies/${name}/attach`, { body: { principal } }), 200);
  const detach = (name: string, principal: object) =>
    done(service, service.call('POST', `/v1/policies/${name}/detach`, { body: { principal } }), 200);
  const readAudit = (token: string) => service.call('GET', '/v1/audit?limit=1', { token });

  test('attached to a user, a policy counts from the very next request, and detached no longer', async () => {
    const person = await addPerson(service);
    const name = await write(allow('audit:read', 'audit'));
    await refused(readAudit(person.token), 403, 'INSUFFICIENT_PRIVILEGE');
    await attach(name, { user: person.email.toUpperCase() });
    await ok(readAudit(person.token));
    await detach(name, { user: person.id });
    await refused(readAudit(person.token), 403, 'INSUFFICIENT_PRIVILEGE');
  });

  rule('attached to a connection, by number, number as text, or client id', async () => {
    const machine = await addConnection(service, await addVault(service));
    const read = () => callAs(service, machine, 'GET', '/eaas/keys');
    for (const app_connection of [machine.id, String(machine.id), machine.client_id]) {
      const name = await write({ ...allow('eaas:list', 'eaas'), version: '2012-10-17' });
      assert.equal((await read()).status, 403);
      await attach(name, { app_connection });
      assert.equal((await read()).status, 200);
      await detach(name, { app_connection });
    }
    for (const app_connection of [0, -1, 1.5, 1e15, true, null]) {
      await invalid(
        service.call('POST', '/v1/policies/any/attach', { body: { principal: { app_connection } } }),
        '/body/principal/app_connection',
      );
    }
    for (const kind of ['group', 'user', 'app_connection']) {
      const body = { principal: { [kind]: 'a\0b' } };
      await invalid(service.call('POST', '/v1/policies/any/attach', { body }), `/body/principal/${kind}`);
    }
    const absent = { principal: { app_connection: 999_999_999_999_999 } };
    const name = await write(allow('eaas:list', 'eaas'));
    await refused(service.call('POST', `/v1/policies/${name}/attach`, { body: absent }), 404, 'NOT_FOUND');
  });

  rule('attached to a group, it counts for who is in the group, while they are', async () => {
    const person = await addPerson(service);
    const group = await ok(service.call('POST', '/v1/groups', { body: { name: uniqueName('group') } }), 201);
    await attach(await write(allow('audit:read', 'audit')), { group: group.name });
    await refused(readAudit(person.token), 403, 'INSUFFICIENT_PRIVILEGE');
    const members = `/v1/groups/${group.id}/members`;
    await ok(service.call('POST', members, { body: { user_id: person.id } }), 201);
    await ok(readAudit(person.token));
    await ok(service.call('DELETE', `${members}/${person.id}`), 200);
    await refused(readAudit(person.token), 403, 'INSUFFICIENT_PRIVILEGE');
    await ok(service.call('POST', members, { body: { user_id: person.id } }), 201);
    await ok(service.call('DELETE', `/v1/groups/${group.id}`), 200);
    await refused(readAudit(person.token), 403, 'INSUFFICIENT_PRIVILEGE');
  });

  test('a changed document counts at once; a stale change is refused', async () => {
    const person = await addPerson(service);
    const name = await write(allow('audit:read', 'audit'));
    await attach(name, { user: person.id });
    await ok(readAudit(person.token));
    const change = (expected_version: number) =>
      service.call('PUT', `/v1/policies/${name}`, {
        body: { document: allow('audit:verify', 'audit'), expected_version },
      });
    assert.equal((await ok(change(1))).version, 2);
    await refused(readAudit(person.token), 403, 'INSUFFICIENT_PRIVILEGE');
    await refused(change(1), 409, 'VERSION_CONFLICT');
  });

  rule('deny wins, also over a role', async () => {
    const admin = await addPerson(service, { role: 'admin' });
    const name = await write(deny('audit:read', 'audit'));
    await ok(readAudit(admin.token));
    await attach(name, { user: admin.id });
    await refused(readAudit(admin.token), 403, 'INSUFFICIENT_PRIVILEGE');
  });

  rule('no policy makes a member an owner', async () => {
    const person = await addPerson(service);
    await attach(await write(allow('*', '*')), { user: person.id });
    const body = { email: `${uniqueName('x')}@example.com`, role: 'owner' };
    await refused(service.call('POST', '/v1/users', { token: person.token, body }), 403, 'INSUFFICIENT_PRIVILEGE');
  });

  rule('a condition on the address holds for the address alone', async () => {
    const person = await addPerson(service);
    const elsewhere = allow('audit:read', 'audit', { condition: { ip_cidr: ['203.0.113.0/24'] } });
    await attach(await write(elsewhere), { user: person.id });
    await refused(readAudit(person.token), 403, 'INSUFFICIENT_PRIVILEGE');
    const here = allow('audit:read', 'audit', { condition: { ip_cidr: ['127.0.0.0/8'] } });
    await attach(await write(here), { user: person.id });
    await ok(readAudit(person.token));
  });

  rule('simulating asks the evaluator that guards requests, and changes nothing', async () => {
    const person = await addPerson(service);
    const name = await write(allow('secrets:read', 'vault/app/*'));
    const ask = (body: object) => ok(service.call('POST', '/v1/policies/simulate', { body }));
    const question = { action: 'secrets:read', resource: 'vault/app/db' };
    assert.deepEqual(await ask({ policy: name, ...question }), {
      decision: 'allow',
      reason: 'allowed',
      matched: [{ policy: name, sid: null, effect: 'allow' }],
    });
    assert.equal((await ask({ principal: { user: person.id }, ...question })).decision, 'deny');
    await attach(name, { user: person.id });
    assert.equal((await ask({ principal: { user: person.id }, ...question })).decision, 'allow');
    const denied = await ask({ document: deny('secrets:*', 'vault/**'), ...question });
    assert.deepEqual([denied.decision, denied.reason, denied.matched[0].sid], ['deny', 'explicit_deny', 'no']);
    await invalid(service.call('POST', '/v1/policies/simulate', { body: question }), '/body');
    const both = await ask({ policy: name, principal: { user: person.id }, ...question });
    assert.deepEqual(both.matched, [{ policy: name, sid: null, effect: 'allow' }], 'given and attached, but one');
    const mistyped = { ...question, action: 'secrets:reed', policy: name };
    const refusal = await refused(
      service.call('POST', '/v1/policies/simulate', { body: mistyped }),
      422,
      'VALIDATION_FAILED',
    );
    assert.deepEqual(refusal.details.fields, [
      { pointer: '/body/action', reason: 'is no action of this API: did you mean secrets:read?' },
    ]);
  });

  rule('simulating takes what the context leaves out from what is there, as a request would', async () => {
    const vault = await addVault(service);
    await addSecret(service, vault, 'a', { metadata: { tags: ['mine'] } });
    const person = await addPerson(service);
    const condition = {
      environment: ['Prod', 'stg'],
      tag_equals: ['mine'],
      ip_cidr: ['127.0.0.0/8', '::1'],
      mfa: [false],
    };
    const document = allow('secrets:read', `vault/${vault}/*`, { condition });
    const name = await write({
      ...document,
      statement: [...document.statement, ...allow('policies:simulate', 'policy').statement],
    });
    await attach(name, { user: person.id });
    const stored = await ok(service.call('GET', `/v1/policies/${name}`));
    assert.deepEqual(stored.document.statement[0].condition.environment, ['production', 'staging']);
    await ok(service.call('GET', secretUrl(vault, 'a'), { token: person.token }));
    const question = { action: 'secrets:read', resource: `vault/${vault}/a` };
    const decided = async (more: object, token = service.adminToken) =>
      (await ok(service.call('POST', '/v1/policies/simulate', { token, body: { ...question, ...more } }))).decision;
    const own = { principal: { user: person.id } };
    assert.equal(await decided(own, person.token), 'allow', 'as the request itself');
    assert.equal(await decided({ ...own, context: { tags: [] } }, person.token), 'deny', 'what the context gives wins');
    assert.equal(await decided({ ...own, context: { environment: 'dev' } }, person.token), 'deny');
    assert.equal(await decided(own), 'deny', 'from where others ask is not known');
    assert.equal(await decided({ ...own, context: { ip: '127.0.0.1', mfa: false } }), 'allow');
    assert.equal(
      await decided({ ...own, resource: `vault/${vault}/none`, context: { ip: '127.0.0.1', mfa: false } }),
      'deny',
    );
    // Who may not see a secret is not told its tags by asking what they would decide.
    const other = await addPerson(service);
    await attach(await write(allow('policies:simulate', 'policy')), { user: other.id });
    const tagged = allow('secrets:read', '*', { condition: { tag_equals: ['mine'] } });
    assert.equal(await decided({ document: tagged }), 'allow');
    assert.equal(await decided({ document: tagged }, other.token), 'deny');
    assert.equal(await decided({ document: tagged, resource: `vault/${vault}/a\0` }), 'deny');
  });

  rule('actions and resources that no endpoint has are refused, with the nearest that one has', async () => {
    const refusal = async (document: object, pointer: string) => {
      const body = { name: uniqueName('bad'), document };
      const answer = await service.call('POST', '/v1/policies', { body });
      await invalid(Promise.resolve(answer), `/body/document/statement/0/${pointer}`);
      return answer.body.error.message as string;
    };
    for (const [action, near] of [
      ['secret:*', 'secrets:*'],
      ['vault:read', 'vaults:read'],
      ['secrets:raed', 'secrets:read'],
      ['*:lits', '*:list'],
    ] as const) {
      const message = await refusal(deny(action, '*'), 'action/0');
      assert.ok(message.includes(near) && !message.includes(action), message);
    }
    for (const [resource, near] of [
      ['vaults/x', 'vault/<vault>/<path>'],
      ['polices/*', 'policy/<name>'],
      ['audit/x', 'audit'],
      ['eaas/key/deeper', 'eaas/<name>'],
    ] as const) {
      const message = await refusal(deny('*', resource), 'resource/0');
      assert.ok(message.includes(near) && !message.includes(resource), message);
    }
    const name = await write(deny('*:list', 'v*/**'));
    const body = { document: deny('secret:*', '*') };
    await invalid(service.call('PUT', `/v1/policies/${name}`, { body }), '/body/document/statement/0/action/0');
  });

  rule('a policy that was stored before counts as it did', async () => {
    const person = await addPerson(service);
    const name = await write(allow('audit:read', 'audit'));
    await attach(name, { user: person.id });
    const { kernel } = service.app;
    const odd = [{ effect: 'deny', action: ['secret:*'], resource: ['vaults/x'] }];
    await asTheService(kernel.database, async (tx) => {
      const [row] = await POLICIES.lockedWhere(tx, (eb) => eb.and({ tenant_id: kernel.operatorTenantId, name }));
      assert.ok(row !== undefined);
      const before = JSON.parse(row.document);
      const document = JSON.stringify({ ...before, statement: [...before.statement, ...odd] });
      await POLICIES.update(tx, row, { document });
      await raiseEpoch(tx, kernel.operatorTenantId);
    });
    await ok(readAudit(person.token));
    assert.deepEqual((await ok(service.call('GET', `/v1/policies/${name}`))).document.statement[1], odd[0]);
  });

  rule('bad documents are refused with the place, and nothing is written', async () => {
    const name = uniqueName('bad');
    const rows: [object, string][] = [
      [allow('secrets', '*'), '/body/document/statement/0/action/0'],
      [allow('secrets:read', 'vault/app/'), '/body/document/statement/0/resource/0'],
      [
        allow('secrets:read', '*', { condition: { ip_cidr: ['10.0.0.1/8'] } }),
        '/body/document/statement/0/condition/ip_cidr/0',
      ],
      [allow('secrets:read', '*', { extra: true }), '/body/document/statement/0/extra'],
    ];
    for (const [document, pointer] of rows) {
      await invalid(service.call('POST', '/v1/policies', { body: { name, document } }), pointer);
    }
    const odd = { name, description: 'a\0b', document: allow('*', '*') };
    await invalid(service.call('POST', '/v1/policies', { body: odd }), '/body/description');
    await refused(service.call('GET', `/v1/policies/${name}`), 404, 'NOT_FOUND');
    for (const reserved of ['simulate', 'ROOT', 'default']) {
      await invalid(
        service.call('POST', '/v1/policies', { body: { name: reserved, document: allow('*', '*') } }),
        '/body/name',
      );
    }
  });

  test('a policy in use stays; a name exists once; a list is paged by name', async () => {
    const person = await addPerson(service);
    const name = await write(allow('audit:read', 'audit'));
    await attach(name, { user: person.id });
    await refused(service.call('DELETE', `/v1/policies/${name}`), 409, 'IN_USE');
    const again = { name, document: allow('*', '*') };
    await refused(service.call('POST', '/v1/policies', { body: again }), 409, 'ALREADY_EXISTS');
    const twice = { principal: { user: person.id } };
    await refused(service.call('POST', `/v1/policies/${name}/attach`, { body: twice }), 409, 'ALREADY_EXISTS');
    const { attachments } = await ok(service.call('GET', `/v1/policies/${name}`));
    assert.deepEqual(attachments[0].principal, { kind: 'user', id: person.id });
    await ok(service.call('DELETE', `/v1/users/${person.id}`), 200);
    await ok(service.call('DELETE', `/v1/policies/${name}`), 200);
    const names = (await allPages(service, '/v1/policies?limit=2', 'policies')).map((p: { name: string }) => p.name);
    assert.deepEqual(names, names.toSorted());
    assert.equal(new Set(names).size, names.length);
  });

  rule('a token with a ceiling grants nothing', async () => {
    const { token } = await addToken(service, service.adminToken, { scope: { actions: ['policies:*'] } });
    const name = await write(allow('*', '*'));
    const person = await addPerson(service);
    const calls: [string, string, object][] = [
      ['POST', '/v1/policies', { name: uniqueName('x'), document: allow('*', '*') }],
      ['PUT', `/v1/policies/${name}`, { document: allow('*', '*') }],
      ['POST', `/v1/policies/${name}/attach`, { principal: { user: person.id } }],
    ];
    for (const [method, path, body] of calls) {
      await refused(service.call(method, path, { token, body }), 403, 'INSUFFICIENT_PRIVILEGE');
    }
  });

  rule('another tenant’s policies, users and groups do not exist', async () => {
    const tenant = await addTenant(service);
    const name = await write(allow('*', '*'));
    const { token, id } = tenant.owner;
    await refused(service.call('GET', `/v1/policies/${name}`, { token }), 404, 'NOT_FOUND');
    await refused(
      service.call('POST', `/v1/policies/${name}/attach`, { body: { principal: { user: id } } }),
      404,
      'NOT_FOUND',
    );
    assert.deepEqual((await ok(service.call('GET', '/v1/policies', { token }))).policies, []);
  });
});
