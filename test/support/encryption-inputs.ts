import type { MakeInput, World } from './endpoint-inputs.ts';
import { ok, uniqueName } from './people.ts';

/** Valid input for the endpoints that encrypt, made afresh for each call. */
export const ENCRYPTION_INPUTS: Record<string, MakeInput> = {
  'POST /eaas/keys': async () => ({ body: { name: uniqueName('key') } }),
  'GET /eaas/keys': async (world) => {
    await someKey(world);
    await someKey(world);
    return {};
  },
  'GET /eaas/keys/{name}': named,
  'PATCH /eaas/keys/{name}': async (world) => ({ ...(await named(world)), body: { description: 'x' } }),
  'DELETE /eaas/keys/{name}': async (world) => ({
    ...(await named(world)),
    body: { reason: 'it is not needed any more' },
  }),
  'POST /eaas/keys/{name}/rotate': async (world) => ({ ...(await named(world)), body: { reason: 'x' } }),
  'POST /eaas/keys/{name}/encrypt': async (world) => ({ ...(await named(world)), body: { plaintext: 'x' } }),
  'POST /eaas/keys/{name}/encrypt-batch': async (world) => ({
    ...(await named(world)),
    body: { items: [{ plaintext: 'x' }] },
  }),
  'POST /eaas/keys/{name}/decrypt': sealed,
  'POST /eaas/keys/{name}/rewrap': sealed,
  'POST /eaas/keys/{name}/decrypt-batch': async (world) => {
    const { params, body } = await sealed(world);
    return { params, body: { items: [body] } };
  },
};

async function someKey({ service }: World): Promise<string> {
  const name = uniqueName('key');
  await ok(service.call('POST', '/eaas/keys', { body: { name, delete_protection: false } }), 201);
  return name;
}

async function named(world: World) {
  return { params: { name: await someKey(world) } };
}

async function sealed(world: World) {
  const { params } = await named(world);
  const { envelope } = await ok(
    world.service.call('POST', `/eaas/keys/${params.name}/encrypt`, { body: { plaintext: 'x' } }),
  );
  return { params, body: { envelope } };
}
