import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { CredentialKind, EndpointDeclaration } from '../../server/src/kernel/endpoint/declaration.ts';
import { DECLARATIONS } from '../../server/src/tools/declarations.ts';
import { INPUTS, nameOf, pathOf, type World } from '../support/endpoint-inputs.ts';
import {
  MACHINE_CALLERS,
  MACHINE_CALLERS_ENV,
  type MachineCallerKind,
  type MachineCallers,
  makeMachineCallers,
} from '../support/machine-callers.ts';
import { addPerson, addTenant, approved } from '../support/people.ts';
import { type Answer, onSqliteAtLanding, type Service, startService } from '../support/service.ts';

/**
 * What machines get: those of test/matrix/matrix.test.ts are people. Their policy allows everything in their tenant, and they reach the vaults
 * of what they ask for. In the order of MACHINE_CALLERS; an endpoint that is not here takes people only, or anybody.
 */
const EXPECTED: Record<string, number[]> = {
  'GET /v1/vaults/{vault}/secrets': [200, 401, 200, 200, 200, 403, 403],
  'POST /v1/vaults/{vault}/secrets': [201, 401, 201, 201, 201, 403, 403],
  'GET /v1/vaults/{vault}/secrets/{path*}': [200, 401, 200, 200, 200, 403, 403],
  'PUT /v1/vaults/{vault}/secrets/{path*}': [200, 401, 200, 200, 200, 403, 403],
  'DELETE /v1/vaults/{vault}/secrets/{path*}': [200, 401, 200, 200, 200, 403, 403],
  'POST /v1/vaults/{vault}/secrets/{path*}/restore': [200, 401, 200, 200, 200, 403, 403],
  'GET /v1/vaults/{vault}/secrets/{path*}/versions': [200, 401, 200, 200, 200, 403, 403],
  'GET /v1/vaults/{vault}/references/{path*}': [200, 401, 200, 200, 200, 403, 403],
  'GET /v1/vaults/{vault}/secrets/{path*}/risk': [200, 401, 200, 200, 200, 403, 403],
  'POST /v1/vaults/{vault}/secrets/{path*}/rotate': [200, 401, 200, 200, 200, 403, 403],
  'POST /v1/vaults/{vault}/changes': [200, 401, 200, 200, 200, 403, 403],
  'POST /v1/vaults/{vault}/secrets/{path*}/rollback': [200, 401, 200, 200, 200, 403, 403],
  'POST /v1/vaults/{vault}/secrets/{path*}/move': [200, 401, 200, 200, 200, 403, 403],
  'POST /v1/vaults/{vault}/secrets/{path*}/copy': [201, 401, 201, 201, 201, 403, 403],
  'GET /v1/vaults/{vault}/passphrase-check': [200, 401, 200, 200, 200, 403, 403],
  'PUT /v1/vaults/{vault}/passphrase-check': [200, 401, 200, 200, 200, 403, 403],
  'GET /v1/vaults/{vault}/aggregate': [200, 401, 200, 200, 200, 403, 403],
  'GET /v1/secrets': [200, 401, 200, 200, 200, 403, 403],
  'GET /v1/secrets/due': [200, 401, 200, 200, 200, 403, 403],
  'POST /v1/secrets/known': [200, 401, 200, 200, 200, 403, 403],
  'POST /v1/vaults/{vault}/tokenize': [201, 401, 201, 201, 201, 403, 403],
  'POST /v1/vaults/{vault}/detokenize': [200, 401, 200, 200, 200, 403, 403],
  'GET /environments/{environment_id}/compose': [200, 401, 200, 200, 200, 403, 403],
  'POST /v1/app-connections/{connection}/rotate': [200, 200, 200, 403, 403, 403, 403],
  'GET /app-connections/fetch/{client_id}/{vault}/{secret*}': [200, 200, 200, 403, 403, 403, 403],
  'GET /eso/secrets/by-id': [200, 403, 200, 403, 403, 403, 403],
  'GET /eso/secrets/by-name': [200, 403, 200, 403, 403, 403, 403],
  'GET /eso/vault/{vault}': [200, 403, 200, 403, 403, 403, 403],
  'POST /eaas/keys': [201, 401, 201, 201, 201, 403, 403],
  'GET /eaas/keys': [200, 401, 200, 200, 200, 403, 403],
  'GET /eaas/keys/{name}': [200, 401, 200, 200, 200, 403, 403],
  'PATCH /eaas/keys/{name}': [200, 401, 200, 200, 200, 403, 403],
  'POST /eaas/keys/{name}/rotate': [200, 401, 200, 200, 200, 403, 403],
  'DELETE /eaas/keys/{name}': [202, 401, 202, 202, 202, 403, 403],
  'POST /eaas/keys/{name}/encrypt': [200, 401, 200, 200, 200, 403, 403],
  'POST /eaas/keys/{name}/decrypt': [200, 401, 200, 200, 200, 403, 403],
  'POST /eaas/keys/{name}/encrypt-batch': [200, 401, 200, 200, 200, 403, 403],
  'POST /eaas/keys/{name}/decrypt-batch': [200, 401, 200, 200, 200, 403, 403],
  'POST /eaas/keys/{name}/rewrap': [200, 401, 200, 200, 200, 403, 403],
  'POST /attestation/nonce': [201, 401, 201, 201, 201, 403, 403],
  'POST /attestation/verify': [200, 401, 200, 200, 200, 403, 403],
  'POST /pqc/hybrid-classical/wrap': [200, 401, 200, 200, 200, 403, 403],
  'POST /pqc/hybrid-classical/unwrap': [200, 401, 200, 200, 200, 403, 403],
  'POST /pqc/dual-sign/sign': [200, 401, 200, 200, 200, 403, 403],
  'POST /pqc/dual-sign/verify': [200, 401, 200, 200, 200, 403, 403],
  'GET /pqc/keys': [200, 401, 200, 200, 200, 403, 403],
  'GET /clusters/{cluster_id}/desired-state': [403, 401, 403, 403, 200, 200, 403],
  'POST /clusters/{cluster_id}/status': [403, 401, 403, 403, 200, 200, 403],
  'POST /kube-guardian/endpoint-accounts': [403, 401, 403, 403, 403, 200, 403],
  'GET /pqc/keys/{key_id}': [200, 401, 200, 200, 200, 403, 403],
  'GET /scim/v2/Users': [403, 401, 403, 403, 403, 403, 200],
  'POST /scim/v2/.search': [403, 401, 403, 403, 403, 403, 200],
  'POST /scim/v2/Users/.search': [403, 401, 403, 403, 403, 403, 200],
  'POST /scim/v2/Groups/.search': [403, 401, 403, 403, 403, 403, 200],
  'POST /scim/v2/Users': [403, 401, 403, 403, 403, 403, 201],
  'GET /scim/v2/Users/{user_id}': [403, 401, 403, 403, 403, 403, 200],
  'PUT /scim/v2/Users/{user_id}': [403, 401, 403, 403, 403, 403, 200],
  'PATCH /scim/v2/Users/{user_id}': [403, 401, 403, 403, 403, 403, 200],
  'DELETE /scim/v2/Users/{user_id}': [403, 401, 403, 403, 403, 403, 204],
  'GET /scim/v2/Groups': [403, 401, 403, 403, 403, 403, 200],
  'POST /scim/v2/Groups': [403, 401, 403, 403, 403, 403, 201],
  'GET /scim/v2/Groups/{group_id}': [403, 401, 403, 403, 403, 403, 200],
  'PUT /scim/v2/Groups/{group_id}': [403, 401, 403, 403, 403, 403, 200],
  'PATCH /scim/v2/Groups/{group_id}': [403, 401, 403, 403, 403, 403, 200],
  'DELETE /scim/v2/Groups/{group_id}': [403, 401, 403, 403, 403, 403, 204],
  'GET /scim/v2/ServiceProviderConfig': [403, 401, 403, 403, 403, 403, 200],
  'GET /scim/v2/ResourceTypes': [403, 401, 403, 403, 403, 403, 200],
  'GET /scim/v2/ResourceTypes/{id}': [403, 401, 403, 403, 403, 403, 200],
  'GET /scim/v2/Schemas': [403, 401, 403, 403, 403, 403, 200],
  'GET /scim/v2/Schemas/{id}': [403, 401, 403, 403, 403, 403, 200],
  'GET /metrics': [403, 401, 403, 403, 403, 403, 403],
};

/** A certificate alone is checked only where it is accepted, so elsewhere it is no credential. */
const REFUSED = [403, 401, 403, 403, 403, 403, 403];
const PEOPLE: readonly CredentialKind[] = ['pat', 'session'];

const isForMachines = ({ credentials }: EndpointDeclaration) =>
  credentials !== 'public' && credentials.some((kind) => !PEOPLE.includes(kind));

/** Last the endpoint that replaces the credentials of all the others. */
const TESTED = DECLARATIONS.filter(isForMachines).sort(
  (a, b) => Number(a.name === 'rotateConnection') - Number(b.name === 'rotateConnection'),
);

test('every endpoint that takes machines has a row, and no other', () => {
  assert.deepEqual(Object.keys(EXPECTED).sort(), TESTED.map(nameOf).sort());
});

onSqliteAtLanding('the matrix of machines', (database) => {
  let world: World;
  let callers: MachineCallers;
  const vaultIds: string[] = [];

  before(async () => {
    const service = await startService(database, { env: MACHINE_CALLERS_ENV });
    world = {
      service: notingVaults(service),
      tenant: await addTenant(service),
      owner: await addPerson(service, { role: 'owner' }),
    };
    callers = await makeMachineCallers(world);
  });
  after(async () => {
    callers.close();
    await world.service.close();
  });

  /** Inputs are made in vaults of their own. */
  function notingVaults(service: Service): Service {
    const call: Service['call'] = async (method, path, options) => {
      const answer = await service.call(method, path, options);
      if (method === 'POST' && path === '/v1/vaults' && answer.status === 201) vaultIds.push(answer.body.id);
      return answer;
    };
    return { ...service, call };
  }

  async function ask(declaration: EndpointDeclaration, kind: MachineCallerKind): Promise<Answer> {
    vaultIds.length = 0;
    const input = await inputOf(declaration);
    const { own, call } = callers[kind];
    const { client_id } = own;
    if (vaultIds.length > 0 && client_id !== undefined) {
      // They have a policy, so more vaults take a second person.
      const given = world.service.call('PATCH', `/v1/app-connections/${client_id}`, { body: { vault_ids: vaultIds } });
      await approved(world.service, given, world.owner.token);
    }
    // A machine rotates its own credentials, and fetches under its own name.
    const params = Object.fromEntries(
      Object.entries(input.params ?? {}).map(([name, text]) => [name, own[name] ?? text]),
    );
    return call(declaration.method, pathOf(declaration, { ...input, params }), input.body);
  }

  const inputOf = async (declaration: EndpointDeclaration) =>
    (await INPUTS[nameOf(declaration)]?.(world, { isKnown: true, person: world.owner })) ?? {};

  test('what is for people refuses each of them, and says what it takes', async () => {
    for (const declaration of DECLARATIONS) {
      if (declaration.credentials === 'public' || isForMachines(declaration)) continue;
      const input = await inputOf(declaration);
      const actual: number[] = [];
      for (const kind of MACHINE_CALLERS) {
        const answer = await callers[kind].call(declaration.method, pathOf(declaration, input), input.body);
        actual.push(answer.status);
        if (answer.status !== 403) continue;
        assert.equal(answer.body.error.code, 'INSUFFICIENT_PRIVILEGE');
        assert.deepEqual(answer.body.error.details, { accepted: declaration.credentials });
        if (declaration.rate !== 'none') assert.ok(answer.headers.has('x-ratelimit-limit'), nameOf(declaration));
      }
      assert.deepEqual(actual, REFUSED, nameOf(declaration));
    }
  });

  for (const declaration of TESTED) {
    test(nameOf(declaration), async () => {
      const actual: number[] = [];
      for (const kind of MACHINE_CALLERS) actual.push((await ask(declaration, kind)).status);
      assert.deepEqual(actual, EXPECTED[nameOf(declaration)], `in the order ${MACHINE_CALLERS}`);
    });
  }
});
