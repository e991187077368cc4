import type { Feature } from '../../kernel/platform/feature.ts';
import type { Kernel } from '../../kernel/platform/kernel.ts';
import { bindContract } from '../../kernel/request/binding.ts';
import * as contract from './contract.ts';
import * as encryption from './encryption.ts';
import { KeyCache } from './key-cache.ts';
import * as keys from './service.ts';

export { rotateAll as rotateEncryptionKeys } from './service.ts';
export { EAAS_KEYS } from './store.ts';

export function eaasFeature(kernel: Kernel): Feature {
  const cache = new KeyCache(kernel);
  return {
    name: 'eaas',
    endpoints: bindContract(contract, {
      createKey: (ctx, { body }) => keys.create(ctx, body),
      listKeys: (ctx, { query }) => keys.list(ctx, query),
      readKey: (ctx, { params }) => keys.read(ctx, params.name),
      updateKey: (ctx, { params, body }) => keys.update(ctx, params.name, body),
      rotateKey: (ctx, { params, body }) => keys.rotate(ctx, params.name, body.reason ?? ''),
      deleteKey: (ctx, { params, body }) => keys.remove(ctx, params.name, body.reason),
      encrypt: (ctx, { params, body }) => encryption.encrypt(ctx, cache, params.name, body),
      decrypt: (ctx, { params, body }) => encryption.decrypt(ctx, cache, params.name, body),
      encryptBatch: (ctx, { params, body }) => encryption.encryptBatch(ctx, cache, params.name, body),
      decryptBatch: (ctx, { params, body }) => encryption.decryptBatch(ctx, cache, params.name, body),
      rewrap: (ctx, { params, body }) => encryption.rewrap(ctx, cache, params.name, body),
    }),
    approvalHooks: { eaas_key_delete: { requested: keys.markPending, released: keys.unmarkPending } },
  };
}
