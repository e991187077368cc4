import type { Feature } from '../../kernel/platform/feature.ts';
import type { Kernel } from '../../kernel/platform/kernel.ts';
import { bindContract } from '../../kernel/request/binding.ts';
import { secretReader } from '../secrets/index.ts';
import * as contract from './contract.ts';
import * as eso from './service.ts';

export function esoFeature(kernel: Kernel): Feature {
  const reader = secretReader(kernel);
  return {
    name: 'eso',
    endpoints: bindContract(contract, {
      operatorSecretById: (ctx, { query }) => eso.readById(ctx, reader, query),
      operatorSecretByName: (ctx, { query }) => eso.readByName(ctx, reader, query),
      operatorVault: (ctx, { params, query }) => eso.list(ctx, params.vault, query),
    }),
  };
}
