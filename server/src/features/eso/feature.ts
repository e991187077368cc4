import { feature } from '../../kernel/feature/declaration.ts';
import { sharedSecretReader } from '../secrets/index.ts';
import * as contract from './contract.ts';
import * as eso from './service.ts';

export const esoFeature = feature({
  name: 'eso',
  endpoints: contract,
  needs: { reader: sharedSecretReader },
  build(parts) {
    const { reader } = parts;
    return {
      handlers: {
        operatorSecretById: (ctx, { query }) => eso.readById(ctx, reader, query),
        operatorSecretByName: (ctx, { query }) => eso.readByName(ctx, reader, query),
        operatorVault: (ctx, { params, query }) => eso.list(ctx, params.vault, query),
      },
    };
  },
});
