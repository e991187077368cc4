import type { EnvironmentName } from '../../../kernel/authz/environment.ts';
import { CofferError } from '../../../kernel/base/errors.ts';

/**
 * Returns the environment a secret gets in a vault, or throws why it cannot go there. Production accepts only production secrets, and those without
 * an environment only with `promote`; staging and homologation accept only their own; development accepts all but production.
 */
export function environmentIn(
  vault: EnvironmentName,
  secret: EnvironmentName | undefined,
  promote: boolean,
): { environment: EnvironmentName; isPromoted: boolean } {
  if (secret === vault) return { environment: vault, isPromoted: false };
  if (vault === 'production' && secret === undefined) {
    if (promote) return { environment: 'production', isPromoted: true };
    throw new CofferError(
      'VAULT_ENV_PROMOTE_REQUIRED',
      'This is a production vault: send "promote": true or "environment": "production".',
    );
  }
  if (secret === undefined) return { environment: vault, isPromoted: false };
  if (vault === 'development' && secret !== 'production') return { environment: secret, isPromoted: false };
  throw new CofferError(
    'VAULT_ENV_CONFLICT',
    `A ${secret} secret does not belong in a ${vault} vault: choose another vault, or another environment.`,
  );
}
