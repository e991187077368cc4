import { X509Certificate } from 'node:crypto';
import type { MakeInput, World } from './endpoint-inputs.ts';
import { ok, uniqueName } from './people.ts';

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
  'POST /v1/app-connections/{connection}/certificates/{serial}/revoke': async (world) => {
    const { id, certificate } = await someConnection(world);
    const serial = new X509Certificate(String(certificate)).serialNumber.toLowerCase();
    return { params: { connection: String(id), serial }, body: {} };
  },
  'POST /app-connections/{connection}/export-zip': async (world) => ({
    ...(await named(world)),
    body: { password: 'correct horse battery' },
  }),
  'GET /app-connections/fetch/{client_id}/{vault}/{secret*}': async (world) => {
    const { client_id, vault } = await someConnection(world);
    return { params: { client_id, vault, secret: 'db/main' } };
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
  return { ...made, client_id: String(made.client_id), vault, secret_id: String(id) };
}

async function named(world: World) {
  return { params: { connection: String((await someConnection(world)).id) } };
}
