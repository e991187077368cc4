import { bind } from '../../kernel/endpoint.ts';
import type { Feature } from '../../kernel/feature.ts';
import * as contract from './contract.ts';
import type { PqcKeys } from './keys.ts';
import { Pqc } from './service.ts';

export { parseCompositePublic, signDigest, verifyDigest } from './composite-signature.ts';
export { SIGNATURE_ALGORITHM } from './contract.ts';
export { PQC_PURPOSE, type PqcKey, PqcKeys, type PqcVersion, retireKeys } from './keys.ts';

export function pqcFeature(keys: PqcKeys): Feature {
  const pqc = new Pqc(keys);
  return {
    name: 'pqc',
    endpoints: [
      bind(contract.wrapKey, (ctx, { body }) => pqc.wrap(ctx, body)),
      bind(contract.unwrapKey, (ctx, { body }) => pqc.unwrap(ctx, body)),
      bind(contract.dualSign, (ctx, { body }) => pqc.sign(ctx, body)),
      bind(contract.dualVerify, (ctx, { body }) => pqc.verify(ctx, body)),
      bind(contract.listPqcKeys, (ctx, { query }) => pqc.list(ctx, query)),
      bind(contract.rotatePqcKey, (ctx, { body }) => pqc.rotate(ctx, body)),
      bind(contract.readPqcKey, (ctx, { params }) => pqc.read(ctx, params.key_id)),
    ],
  };
}
