import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { newIssuerKey, publicPem } from '../../../../test/support/external-issuer.ts';
import { addConnection, callAs, type Machine } from '../../../../test/support/machines.ts';
import { addPerson, done, ok, uniqueName } from '../../../../test/support/people.ts';
import { type Answer, onSqliteAtLanding, type Service, startService } from '../../../../test/support/service.ts';
import {
  addPolicy,
  addSecret,
  addVault,
  POLICY_VERSION,
  type Statement,
  secretUrl,
} from '../../../../test/support/vaults.ts';

const WORKLOAD = {
  trust_domain: 'prod.example',
  trust_bundle_pem: publicPem(await newIssuerKey('1')),
  expected_audience: 'coffer',
  allowed_spiffe_ids: ['spiffe://prod\\.example/shop'],
};

/** Whatever lets somebody act as a connection that is there, and what it answers to who may. */
const WAYS: [method: string, path: (machine: Machine) => string, body: (machine: Machine) => object, status: number][] =
  [
    ['POST', ({ id }) => `/v1/app-connections/${id}/rotate`, () => ({ client_secret: true, overlap_seconds: 60 }), 200],
    ['POST', ({ id }) => `/v1/app-connections/${id}/rotate`, () => ({ certificate: true }), 200],
    ['PATCH', ({ id }) => `/v1/app-connections/${id}`, () => ({ mtls_required: false }), 200],
    ['POST', ({ id }) => `/app-connections/${id}/export-zip`, () => ({ password: 'correct horse battery' }), 200],
    [
      'POST',
      ({ id }) => `/app-connections/${id}/federations`,
      () => ({ name: 'ci', provider: 'github', subject_pattern: 'repo:acme/shop:*' }),
      201,
    ],
    [
      'POST',
      () => '/workload-identity/methods',
      ({ id, name }) => ({
        name: `by-${name}`,
        type: 'spiffe',
        app_connection_id: id,
        config: WORKLOAD,
      }),
      201,
    ],
  ];

const CONNECTIONS = { action: ['app_connections:*', 'federations:*', 'workload_methods:*'], resource: ['**'] };

onSqliteAtLanding('who gets the credentials of a connection', (database) => {
  let service: Service;
  before(async () => {
    service = await startService(database);
  });
  after(() => service.close());

  async function answersTo(token: string, machine: Machine): Promise<number[]> {
    const statuses: number[] = [];
    for (const [method, path, body] of WAYS) {
      statuses.push((await service.call(method, path(machine), { token, body: body(machine) })).status);
    }
    return statuses;
  }

  const always = (status: number) => WAYS.map(() => status);

  test('shares its vaults, also those that are deleted and can be restored', async () => {
    const vault = await addVault(service, { environment: 'development' });
    await addSecret(service, vault, 'a');
    const machine = await addConnection(service, vault);
    const person = await addPerson(service, { role: 'member' });
    await addPolicy(service, { user: person.id }, [CONNECTIONS]);
    assert.deepEqual(await answersTo(person.token, machine), always(403));
    await ok(service.call('DELETE', `/v1/vaults/${vault}`), 200);
    assert.deepEqual(await answersTo(person.token, machine), always(403), 'while it is deleted');
    await addPolicy(service, { user: person.id }, [{ action: ['members:add'], resource: [`vault/${vault}`] }]);
    const allowed = WAYS.map(([, , , status]) => status);
    assert.deepEqual(await answersTo(person.token, machine), allowed, 'who may share it');
    await ok(service.call('POST', `/v1/vaults/${vault}/restore`));
    assert.equal((await callAs(service, machine, 'GET', secretUrl(vault, 'a'))).status, 200);
  });

  /** A manager of the vault who may make connections, with more statements of their own. */
  async function addManager(vault: string, ...statements: Statement[]) {
    const person = await addPerson(service, { role: 'member' });
    await ok(service.call('POST', `/v1/vaults/${vault}/members`, { body: { user: person.id, role: 'manager' } }), 201);
    await addPolicy(service, { user: person.id }, [CONNECTIONS, ...statements]);
    return person;
  }

  const make = (token: string, vault: string, more: object) => {
    const body = { name: uniqueName('c'), vault, mtls_required: false, ...more };
    return service.call('POST', '/v1/app-connections', { token, body });
  };

  async function refusedFor(scope: string, answer: Promise<Answer>) {
    const { status, body } = await answer;
    assert.equal(status, 403);
    assert.equal(body.error.code, 'INSUFFICIENT_PRIVILEGE');
    assert.ok(body.error.message.includes(`what the scope ${scope} allows`), body.error.message);
  }

  test('is denied nothing that it may do: neither who makes it, nor who widens it, nor who takes it over', async () => {
    const vault = await addVault(service);
    await addSecret(service, vault, 'z');
    await addSecret(service, vault, 'a/b');
    const deny: Statement = { effect: 'deny', action: ['secrets:read'], resource: [`vault/${vault}/z`] };
    const free = await addVault(service);
    const { token } = await addManager(vault, deny, { action: ['members:add'], resource: [`vault/${free}`] });
    assert.equal((await service.call('GET', secretUrl(vault, 'z'), { token })).status, 403);
    await refusedFor('secrets:read', make(token, vault, {}));
    await refusedFor('secrets:*', make(token, vault, { scopes: ['secrets:list', 'secrets:*'] }));
    await refusedFor('eso:read', make(token, vault, { scopes: ['eso:read'] }));
    await refusedFor('secrets:read', make(token, vault, { scopes: ['secrets:read'], allowed_paths: ['a/*', 'z'] }));
    const listing = await ok(make(token, vault, { scopes: ['secrets:list'] }), 201);
    const narrow = await ok(make(token, vault, { allowed_paths: ['a/*'] }), 201);
    assert.equal((await callAs(service, narrow, 'GET', secretUrl(vault, 'a/b'))).status, 200);

    const patch = ({ id }: Machine, body: object) =>
      service.call('PATCH', `/v1/app-connections/${id}`, { token, body });
    await refusedFor('secrets:read', patch(listing, { scopes: ['secrets:list', 'secrets:read'] }));
    await refusedFor('secrets:read', patch(narrow, { allowed_paths: ['*'] }));
    const elsewhere = await ok(make(token, free, {}), 201);
    await refusedFor('secrets:read', patch(elsewhere, { vault_ids: listing['vault_ids'] }));
    await ok(patch(narrow, { allowed_paths: ['a/b'] }));

    const wide = await addConnection(service, vault);
    assert.deepEqual(await answersTo(token, wide), always(403));
    assert.equal((await callAs(service, wide, 'GET', secretUrl(vault, 'z'))).status, 200, 'nothing of it changed');
    await ok(patch(wide, { status: 'disabled' }));
    const other = await addManager(vault);
    const allowed = WAYS.map(([, , , status]) => status);
    assert.deepEqual(await answersTo(other.token, wide), allowed, 'a manager who is denied nothing');
  });

  test('nor is denied it only sometimes', async () => {
    const vault = await addVault(service);
    const condition = { tag_equals: ['restricted'] };
    const deny: Statement = { effect: 'deny', action: ['secrets:read'], resource: ['vault/**'], condition };
    const { token } = await addManager(vault, deny);
    await refusedFor('secrets:read', make(token, vault, {}));
    await ok(make(token, vault, { scopes: ['secrets:read_metadata'] }), 201);
  });

  test('nor is an auditor, who never sees values, whatever else allows them everything', async () => {
    const vault = await addVault(service);
    const auditor = await addPerson(service, { role: 'auditor' });
    const name = uniqueName('policy');
    const statement = [{ effect: 'allow', action: ['*'], resource: ['*'] }];
    const document = { version: POLICY_VERSION, statement };
    await ok(service.call('POST', '/v1/policies', { body: { name, document } }), 201);
    const principal = { user: auditor.id };
    await done(service, service.call('POST', `/v1/policies/${name}/attach`, { body: { principal } }), 200);
    for (const scope of ['secrets:read', 'secrets:export', 'secrets:*', 'eso:read']) {
      await refusedFor(scope, make(auditor.token, vault, { scopes: [scope] }));
    }
    assert.deepEqual(await answersTo(auditor.token, await addConnection(service, vault)), always(403));
    await ok(make(auditor.token, vault, { scopes: ['secrets:list'] }), 201);
  });
});
