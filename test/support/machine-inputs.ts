import { X509Certificate } from 'node:crypto';
import type { MakeInput, World } from './endpoint-inputs.ts';
import { newIssuerKey, publicPem, signed } from './external-issuer.ts';
import { approved, ok, uniqueName } from './people.ts';

/** Valid input for the endpoints of machines, made afresh for each call. */
export const MACHINE_INPUTS: Record<string, MakeInput> = {
  'POST /v1/app-connections': async (world) => ({
    body: { name: uniqueName('connection'), vault: await vaultOf(world) },
  }),
  'GET /v1/app-connections': async (world) => {
    await someConnection(world);
    await someConnection(world);
    return {};
  },
  'GET /app-connections/auto-paths': async (world) => {
    await someConnection(world);
    return {};
  },
  'GET /app-connections/by-client/{client_id}': async (world) => {
    const { client_id } = await someConnection(world);
    return { params: { client_id } };
  },
  'GET /v1/app-connections/{connection}': named,
  'PATCH /v1/app-connections/{connection}': async (world) => ({ ...(await named(world)), body: { description: 'x' } }),
  'DELETE /v1/app-connections/{connection}': named,
  'POST /v1/app-connections/{connection}/rotate': async (world) => ({ ...(await named(world)), body: {} }),
  'GET /v1/app-connections/{connection}/certificates': async (world) => {
    const { params } = await named(world);
    const path = `/v1/app-connections/${params.connection}/rotate`;
    await ok(world.service.call('POST', path, { body: { certificate: true, overlap_seconds: 60 } }));
    return { params };
  },
  'POST /v1/app-connections/{connection}/certificates/{serial}/revoke': async (world) => {
    const { client_id, certificate } = await someConnection(world);
    const serial = new X509Certificate(String(certificate)).serialNumber.toLowerCase();
    return { params: { connection: client_id, serial }, body: {} };
  },
  'POST /app-connections/{connection}/export-zip': async (world) => ({
    ...(await named(world)),
    body: { password: 'correct horse battery' },
  }),
  'GET /app-connections/fetch/{client_id}/{vault}/{secret*}': async (world) => {
    const { client_id, vault } = await someConnection(world);
    return { params: { client_id, vault, secret: 'db/main' } };
  },
  'POST /app-connections/{connection}/federations': async (world) => ({ ...(await named(world)), body: federation() }),
  'GET /app-connections/{connection}/federations': async (world) => {
    const { params } = await someFederation(world);
    const path = `/app-connections/${params.connection}/federations`;
    await ok(world.service.call('POST', path, { body: federation() }), 201);
    return { params: { connection: params.connection } };
  },
  'GET /app-connections/{connection}/federations/{federation_id}': someFederation,
  'PUT /app-connections/{connection}/federations/{federation_id}': async (world) => ({
    ...(await someFederation(world)),
    body: { enabled: false },
  }),
  'DELETE /app-connections/{connection}/federations/{federation_id}': someFederation,
  'POST /app-connections/{connection}/federated-token': async (world) => ({
    ...(await named(world)),
    body: { id_token: 'not.a.token' },
  }),
  'POST /workload-identity/methods': async (world) => ({ body: await spiffeMethod(world) }),
  'GET /workload-identity/methods': async (world) => {
    await someMethod(world);
    await someMethod(world);
    return {};
  },
  'GET /workload-identity/methods/{method_id}': async (world) => (await someMethod(world)).input,
  'PUT /workload-identity/methods/{method_id}': async (world) => ({
    ...(await someMethod(world)).input,
    body: { name: uniqueName('method') },
  }),
  'DELETE /workload-identity/methods/{method_id}': async (world) => (await someMethod(world)).input,
  'POST /workload-identity/login': async (world) => {
    const { id } = await someMethod(world);
    const exp = Math.floor(world.service.clock.now() / 1000) + 60;
    const jwt_svid = await signed(SPIFFE_KEY, { sub: 'spiffe://prod.example/shop', aud: 'coffer', exp });
    return { body: { method_id: id, jwt_svid } };
  },
  'GET /eso/secrets/by-id': async (world) => ({ query: { id: (await someConnection(world)).secret_id } }),
  'GET /eso/secrets/by-name': async (world) => ({
    query: { vault: (await someConnection(world)).vault, name: 'db/main' },
  }),
  'GET /eso/vault/{vault}': async (world) => ({ params: { vault: (await someConnection(world)).vault } }),
};

async function vaultOf({ service }: World): Promise<string> {
  const name = uniqueName('vault');
  await ok(service.call('POST', '/v1/vaults', { body: { name, environment: 'development' } }), 201);
  return name;
}

async function someConnection(world: World) {
  const vault = await vaultOf(world);
  const secret = { path: 'db/main', value: 'x' };
  const { id } = await ok(world.service.call('POST', `/v1/vaults/${vault}/secrets`, { body: secret }), 201);
  const body = { name: uniqueName('connection'), vault, allowed_paths: ['db/*'] };
  const made = await ok(world.service.call('POST', '/v1/app-connections', { body }), 201);
  const { vault_ids } = made as { vault_ids: string[] };
  return { ...made, vault_ids, client_id: String(made.client_id), vault, secret_id: String(id) };
}

/** Signs the identities of workloads that log in without any server but ours. */
const SPIFFE_KEY = await newIssuerKey('1');

async function spiffeMethod(world: World) {
  const { id } = await someConnection(world);
  return {
    name: uniqueName('method'),
    type: 'spiffe',
    app_connection_id: Number(id),
    config: {
      trust_domain: 'prod.example',
      trust_bundle_pem: publicPem(SPIFFE_KEY),
      expected_audience: 'coffer',
      allowed_spiffe_ids: ['spiffe://prod\\.example/shop'],
    },
  };
}

async function someMethod(world: World) {
  const body = await spiffeMethod(world);
  const { id } = await ok(world.service.call('POST', '/workload-identity/methods', { body }), 201);
  return { id: Number(id), input: { params: { method_id: String(id) } } };
}

function federation() {
  return { name: uniqueName('federation'), provider: 'github', subject_pattern: 'repo:acme/app:ref:refs/heads/main' };
}

async function someFederation(world: World) {
  const connection = (await someConnection(world)).client_id;
  const path = `/app-connections/${connection}/federations`;
  const { id } = await ok(world.service.call('POST', path, { body: federation() }), 201);
  return { params: { connection, federation_id: String(id) } };
}

async function named(world: World) {
  return { params: { connection: (await someConnection(world)).client_id } };
}

/** Further inputs, for fields that the usual one leaves out. */
export const MORE_MACHINE_INPUTS: Record<string, MakeInput[]> = {
  'PUT /workload-identity/methods/{method_id}': [
    async (world) => ({
      ...(await someMethod(world)).input,
      body: { app_connection_id: Number((await someConnection(world)).id) },
    }),
  ],
  'POST /v1/app-connections': [
    async (world) => ({ body: { name: uniqueName('connection'), vault_ids: (await someConnection(world)).vault_ids } }),
  ],
  'PATCH /v1/app-connections/{connection}': [
    async (world) => ({
      ...(await named(world)),
      body: { vault_ids: (await someConnection(world)).vault_ids },
    }),
  ],
  'GET /app-connections/auto-paths': [
    async (world) => ({ query: { client_id: (await someConnection(world)).client_id } }),
  ],
  'POST /v1/policies/{name}/attach': [
    async (world) => {
      const { params, body } = await policyFor(world);
      return { params, body };
    },
  ],
  'POST /v1/policies/{name}/detach': [
    async (world) => {
      const { params, body } = await policyFor(world);
      const attach = world.service.call('POST', `/v1/policies/${params.name}/attach`, { body });
      await approved(world.service, attach, world.owner.token);
      return { params, body };
    },
  ],
  'POST /v1/policies/simulate': [
    async (world) => ({ body: { ...(await policyFor(world)).body, action: 'audit:read', resource: 'audit' } }),
  ],
};

async function policyFor(world: World) {
  const name = uniqueName('policy');
  const statement = [{ effect: 'allow', action: ['audit:read'], resource: ['audit'] }];
  const body = { name, document: { version: '2026-01-01', statement } };
  await ok(world.service.call('POST', '/v1/policies', { body }), 201);
  return { params: { name }, body: { principal: { app_connection: (await someConnection(world)).client_id } } };
}
