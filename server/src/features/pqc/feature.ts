import { feature } from '../../kernel/feature/declaration.ts';
import * as contract from './contract.ts';
import { PqcKeys } from './keys.ts';
import { sharedPqcKeys } from './links.ts';
import { Pqc } from './service.ts';

export const pqcFeature = feature({
  name: 'pqc',
  endpoints: contract,
  tables: { plain: { pqc_keys: 'the private key is sealed under the id of the public key' } },
  uses: ['clock', 'database', 'keyring'],
  shares: [sharedPqcKeys],
  build(parts) {
    const keys = new PqcKeys(parts);
    const pqc = new Pqc(keys);
    return {
      shares: [sharedPqcKeys.as(keys)],
      handlers: {
        wrapKey: (ctx, { body }) => pqc.wrap(ctx, body),
        unwrapKey: (ctx, { body }) => pqc.unwrap(ctx, body),
        dualSign: (ctx, { body }) => pqc.sign(ctx, body),
        dualVerify: (ctx, { body }) => pqc.verify(ctx, body),
        listPqcKeys: (ctx, { query }) => pqc.list(ctx, query),
        rotatePqcKey: (ctx, { body }) => pqc.rotate(ctx, body),
        readPqcKey: (ctx, { params }) => pqc.read(ctx, params.key_id),
      },
    };
  },
});
