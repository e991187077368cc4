import assert from 'node:assert/strict';
import { test } from 'node:test';
import { canonicalEnvironment, ENVIRONMENTS } from '../../../kernel/authz/environment.ts';
import { CofferError } from '../../../kernel/base/errors.ts';
import { environmentIn } from './environment-rules.ts';

/** The environment a secret gets in each vault, by the secret's own environment (`-` for none) and whether `promote` is set. */
const TABLE: Record<string, Record<string, string>> = {
  production: {
    production: 'production',
    '-': 'VAULT_ENV_PROMOTE_REQUIRED',
    '- promote': 'production',
    staging: 'VAULT_ENV_CONFLICT',
    homologation: 'VAULT_ENV_CONFLICT',
    development: 'VAULT_ENV_CONFLICT',
    'staging promote': 'VAULT_ENV_CONFLICT',
  },
  staging: {
    staging: 'staging',
    '-': 'staging',
    '- promote': 'staging',
    production: 'VAULT_ENV_CONFLICT',
    homologation: 'VAULT_ENV_CONFLICT',
    development: 'VAULT_ENV_CONFLICT',
  },
  homologation: {
    homologation: 'homologation',
    '-': 'homologation',
    production: 'VAULT_ENV_CONFLICT',
    staging: 'VAULT_ENV_CONFLICT',
    development: 'VAULT_ENV_CONFLICT',
  },
  development: {
    development: 'development',
    '-': 'development',
    staging: 'staging',
    homologation: 'homologation',
    production: 'VAULT_ENV_CONFLICT',
    'production promote': 'VAULT_ENV_CONFLICT',
  },
};

for (const [vault, row] of Object.entries(TABLE)) {
  for (const [asked, expected] of Object.entries(row)) {
    test(`${asked} into ${vault}: ${expected}`, () => {
      const [name = '', promote] = asked.split(' ');
      const secret = name === '-' ? undefined : canonicalEnvironment(name);
      const place = () => environmentIn(canonicalEnvironment(vault), secret, promote !== undefined);
      if (ENVIRONMENTS.some((one) => one === expected)) {
        assert.deepEqual(place(), {
          environment: expected,
          isPromoted: asked === '- promote' && vault === 'production',
        });
      } else assert.throws(place, (error) => error instanceof CofferError && error.code === expected);
    });
  }
}
