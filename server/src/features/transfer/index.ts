import type { Feature } from '../../kernel/platform/feature.ts';
import { bindContract } from '../../kernel/request/binding.ts';
import * as contract from './contract.ts';
import { exportSecrets } from './export.ts';
import { importSecrets } from './import.ts';

export { ENV_FILE_TYPE, permittedNames } from './contract.ts';
export { type EnvFileFormat, envFileLine, envFileRefusal, nameRefusal, unpermitted } from './env-file.ts';

export function transferFeature(): Feature {
  return {
    name: 'transfer',
    endpoints: bindContract(contract, {
      importSecrets: (ctx, { params, body }) => importSecrets(ctx, params.vault, body),
      exportSecrets: (ctx, { params, query }) => exportSecrets(ctx, params.vault, query),
    }),
  };
}
