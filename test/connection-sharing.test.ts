import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { addConnection, callAs, type Machine } from './support/machines.ts';
import { newIssuerKey, publicPem } from './support/outside-issuer.ts';
import { addPerson, ok } from './support/people.ts';
import { onBothDatabases, type Service, startService } from './support/service.ts';
import { addPolicy, addSecret, addVault, secretUrl } from './support/vaults.ts';

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

onBothDatabases('who gets the credentials of a connection', (database) => {
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
});
