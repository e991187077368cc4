import { randomBytes } from 'node:crypto';
import type { MakeInput, World } from './endpoint-inputs.ts';
import { ok } from './people.ts';

/** The quickest to make a key for. */
const ALGORITHM = 'ecdh-p256+ml-kem-768';

/** Valid input for the post-quantum endpoints and signed checkpoints, made afresh for each call. */
export const PQC_INPUTS: Record<string, MakeInput> = {
  'POST /pqc/hybrid-classical/wrap': async () => ({ body: newKey() }),
  'POST /pqc/hybrid-classical/unwrap': async ({ service }) => ({
    body: await ok(service.call('POST', '/pqc/hybrid-classical/wrap', { body: newKey() })),
  }),
  'POST /pqc/dual-sign/sign': async () => ({ body: { message: 'a message' } }),
  'POST /pqc/dual-sign/verify': async ({ service }) => {
    const message = 'a message';
    const { key_id, signature } = await ok(service.call('POST', '/pqc/dual-sign/sign', { body: { message } }));
    return { body: { message, key_id, signature } };
  },
  'GET /pqc/keys': async (world) => {
    await someKey(world);
    await someKey(world);
    return {};
  },
  'GET /pqc/keys/{key_id}': async (world) => ({ params: { key_id: await someKey(world) } }),
  'GET /v1/audit/checkpoints': async ({ service }) => {
    for (let i = 0; i < 2; i++) await ok(service.call('POST', '/v1/audit/checkpoints'), 201);
    return {};
  },
  'POST /pqc/keys/rotate': async () => ({ body: { algorithm: ALGORITHM } }),
};

function newKey() {
  return { algorithm: ALGORITHM, key: randomBytes(32).toString('base64') };
}

async function someKey({ service }: World): Promise<string> {
  const body = { algorithm: ALGORITHM };
  return String((await ok(service.call('POST', '/pqc/keys/rotate', { body }), 201)).key_id);
}
