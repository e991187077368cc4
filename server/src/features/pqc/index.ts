import type { Feature } from '../../kernel/platform/feature.ts';
import type { Kernel } from '../../kernel/platform/kernel.ts';
import { perKernel } from '../../kernel/platform/wiring.ts';
import { bindContract } from '../../kernel/request/binding.ts';
import * as contract from './contract.ts';
import { PqcKeys } from './keys.ts';
import { Pqc } from './service.ts';

export { parseCompositePublic, signDigest, verifyDigest } from './composite-signature.ts';
export { SIGNATURE_ALGORITHM } from './contract.ts';
export { PQC_PURPOSE, type PqcKey, PqcKeys, type PqcVersion, retireKeys } from './keys.ts';

/** Features share it, because it caches keys. */
export const pqcKeysOf = perKernel((kernel) => new PqcKeys(kernel));

export function pqcFeature(kernel: Kernel): Feature {
  const pqc = new Pqc(pqcKeysOf(kernel));
  return {
    name: 'pqc',
    endpoints: bindContract(contract, {
      wrapKey: (ctx, { body }) => pqc.wrap(ctx, body),
      unwrapKey: (ctx, { body }) => pqc.unwrap(ctx, body),
      dualSign: (ctx, { body }) => pqc.sign(ctx, body),
      dualVerify: (ctx, { body }) => pqc.verify(ctx, body),
      listPqcKeys: (ctx, { query }) => pqc.list(ctx, query),
      rotatePqcKey: (ctx, { body }) => pqc.rotate(ctx, body),
      readPqcKey: (ctx, { params }) => pqc.read(ctx, params.key_id),
    }),
  };
}
