import { feature } from '../../kernel/feature/declaration.ts';
import * as contract from './contract.ts';
import * as encryption from './encryption.ts';
import { KeyCache } from './key-cache.ts';
import * as keys from './service.ts';
import { EAAS_KEYS } from './store.ts';

export const eaasFeature = feature({
  name: 'eaas',
  endpoints: contract,
  tables: { authenticated: [EAAS_KEYS] },
  uses: ['audit', 'database', 'keyring'],
  build(parts) {
    const cache = new KeyCache(parts);
    return {
      handlers: {
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
      },
      approvalHooks: { eaas_key_delete: { requested: keys.markPending, released: keys.unmarkPending } },
    };
  },
});
