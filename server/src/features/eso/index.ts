import { bind } from '../../kernel/endpoint.ts';
import type { Feature } from '../../kernel/feature.ts';
import type { SecretReader } from '../secrets/index.ts';
import * as contract from './contract.ts';
import * as eso from './service.ts';

export function esoFeature(reader: SecretReader): Feature {
  return {
    name: 'eso',
    endpoints: [
      bind(contract.operatorSecretById, (ctx, { query }) => eso.readById(ctx, reader, query)),
      bind(contract.operatorSecretByName, (ctx, { query }) => eso.readByName(ctx, reader, query)),
      bind(contract.operatorVault, (ctx, { params, query }) => eso.list(ctx, params.vault, query)),
    ],
  };
}
