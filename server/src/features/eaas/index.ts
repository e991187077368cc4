import { bind } from '../../kernel/endpoint.ts';
import type { Feature } from '../../kernel/feature.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import * as contract from './contract.ts';
import * as encryption from './encryption.ts';
import { KeyCache } from './key-cache.ts';
import * as keys from './service.ts';

export { markPending, rotateAll as rotateEncryptionKeys, unmarkPending } from './service.ts';
export { EAAS_KEYS } from './store.ts';

export function eaasFeature(kernel: Kernel): Feature {
  const cache = new KeyCache(kernel);
  return {
    name: 'eaas',
    endpoints: [
      bind(contract.createKey, (ctx, { body }) => keys.create(ctx, body)),
      bind(contract.listKeys, (ctx, { query }) => keys.list(ctx, query)),
      bind(contract.readKey, (ctx, { params }) => keys.read(ctx, params.name)),
      bind(contract.updateKey, (ctx, { params, body }) => keys.update(ctx, params.name, body)),
      bind(contract.rotateKey, (ctx, { params, body }) => keys.rotate(ctx, params.name, body.reason ?? '')),
      bind(contract.deleteKey, (ctx, { params, body }) => keys.remove(ctx, params.name, body.reason)),
      bind(contract.encrypt, (ctx, { params, body }) => encryption.encrypt(ctx, cache, params.name, body)),
      bind(contract.decrypt, (ctx, { params, body }) => encryption.decrypt(ctx, cache, params.name, body)),
      bind(contract.encryptBatch, (ctx, { params, body }) => encryption.encryptBatch(ctx, cache, params.name, body)),
      bind(contract.decryptBatch, (ctx, { params, body }) => encryption.decryptBatch(ctx, cache, params.name, body)),
      bind(contract.rewrap, (ctx, { params, body }) => encryption.rewrap(ctx, cache, params.name, body)),
    ],
  };
}
