import { removeRecorded } from '../../kernel/audit/removal.ts';
import { DAY_MS, HOUR_MS } from '../../kernel/clock.ts';
import { bind, type Output } from '../../kernel/endpoint.ts';
import type { Feature } from '../../kernel/feature.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { SECOND_LOOK_MS } from '../../kernel/time/clock-guard.ts';
import { earlier } from '../../kernel/time/cutoff.ts';
import { BearerScheme, type TokenResolver } from './bearer.ts';
import * as contract from './contract.ts';
import * as tokens from './service.ts';
import { countExpiredBefore, countTokens, expiredBefore, TOKENS } from './store.ts';

export { findTokenByText, principalOf, type ResolvedToken, type TokenResolver } from './bearer.ts';
export { type IssuedToken, issueToken, TOKEN_LENGTH_MAX } from './issuer.ts';
export { holdersAmong, insertToken, revoke as revokeTokens, revokeOfUser, TOKENS, usableTokens } from './store.ts';

/** How long the row of an expired token is retained, so that its owner can see why something stopped working. */
const EXPIRED_KEPT_MS = 30 * DAY_MS;
/** Far more than expire in an hour in a small installation. */
const FORGOTTEN_AT_ONCE = 100;

export function tokensFeature(kernel: Kernel, others: readonly TokenResolver[]): Feature {
  const { database } = kernel;
  const rotate = async () => {
    await kernel.signingKeys.rotate();
  };
  return {
    name: 'tokens',
    credentialSchemes: [new BearerScheme(kernel, others)],
    jobs: [
      {
        name: 'forget-expired-tokens',
        intervalMs: HOUR_MS,
        removes: {
          secondLookMs: SECOND_LOOK_MS,
          share: async (cutoff) => [
            {
              of: 'tokens',
              expired: await countExpiredBefore(database.read, earlier(cutoff, EXPIRED_KEPT_MS)),
              floor: FORGOTTEN_AT_ONCE,
              total: () => countTokens(database.read),
            },
          ],
        },
        run: (signal, cutoff) => {
          const which = expiredBefore(earlier(cutoff, EXPIRED_KEPT_MS));
          const job = 'forget-expired-tokens';
          return removeRecorded(kernel, { job, action: 'tokens:purge', table: TOKENS, which }, signal);
        },
      },
      { name: 'rotate-signing-keys', intervalMs: HOUR_MS / 4, removes: 'nothing', run: rotate },
    ],
    endpoints: [
      bind(contract.createToken, (ctx, { body }) => tokens.create(ctx, body)),
      bind(contract.listTokens, (ctx, { query }) => tokens.list(ctx, query)),
      bind(contract.readToken, (ctx, { params }) => tokens.read(ctx, params.token_id)),
      bind(contract.revokeToken, (ctx, { params }) => tokens.revoke(ctx, params.token_id)),
      bind(contract.readJwks, async () => (await kernel.signingKeys.publicJwks()) as Output<typeof contract.readJwks>),
    ],
  };
}
