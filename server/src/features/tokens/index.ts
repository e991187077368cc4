import { removeRecorded } from '../../kernel/audit/removal.ts';
import { DAY_MS, HOUR_MS, SECOND_MS } from '../../kernel/platform/clock.ts';
import type { Feature } from '../../kernel/platform/feature.ts';
import type { Kernel } from '../../kernel/platform/kernel.ts';
import type { Wiring } from '../../kernel/platform/wiring.ts';
import { bindContract } from '../../kernel/request/binding.ts';
import type { Output } from '../../kernel/request/declaration.ts';
import { SECOND_CHECK_MS } from '../../kernel/time/clock-guard.ts';
import { earlier } from '../../kernel/time/cutoff.ts';
import { BearerScheme } from './bearer.ts';
import * as contract from './contract.ts';
import * as tokens from './service.ts';
import { countExpiredBefore, countTokens, expiredBefore, nextExpiry, revokeTokensOfUser, TOKENS } from './store.ts';

export {
  ceilingsOf,
  findTokenByText,
  type OpaqueTokenResolver,
  principalOf,
  type ResolvedToken,
  type TokenResolver,
} from './bearer.ts';
export { tokenKind } from './contract.ts';
export { type IssuedToken, issueToken, TOKEN_LENGTH_MAX } from './issuer.ts';
export {
  findToken,
  insertToken,
  isCurrentGeneration,
  listOpenSessions,
  lockToken,
  openSessionsOf,
  type ProviderSession,
  revoke as revokeTokens,
  revokeTokensOfUser,
  type SessionMethod,
  sessionsFromProvider,
  TOKENS,
  type TokenRow,
  tokensOfThisGeneration,
  usableHandedOut,
  usableTokens,
  usersWithTokens,
} from './store.ts';

/** How long the row of an expired token is retained, so that its owner can see why something stopped working. */
const EXPIRED_KEPT_MS = 30 * DAY_MS;
/** Far more than expire in an hour in a small installation. */
const FORGOTTEN_AT_ONCE = 100;

export function tokensFeature(kernel: Kernel, wiring: Wiring): Feature {
  const { database } = kernel;
  const rotate = async () => {
    await kernel.signingKeys.rotate();
  };
  const help = 'When the first token of the operator’s own tenant expires that can be used, sessions excepted.';
  kernel.metrics.collectBy({ name: 'cv_operator_token_expiry_timestamp_seconds', help, labels: [] }, async () => {
    const expiresAt = await nextExpiry(database.read, kernel.operatorTenantId, kernel.clock.now());
    return expiresAt === null ? [] : [{ value: expiresAt / SECOND_MS }];
  });
  return {
    name: 'tokens',
    provides: {
      revokeTokensOf: (tx, tenantId, userId, now) => revokeTokensOfUser(tx, tenantId, userId, 'all', now, ''),
    },
    credentialSchemes: [new BearerScheme(kernel, wiring.needs('machineTokenResolvers', 'opaqueTokenResolver'))],
    jobs: [
      {
        name: 'forget-expired-tokens',
        intervalMs: HOUR_MS,
        removes: {
          secondCheckMs: SECOND_CHECK_MS,
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
    endpoints: bindContract(contract, {
      createToken: (ctx, { body }) => tokens.create(ctx, body),
      listTokens: (ctx, { query }) => tokens.list(ctx, query),
      readToken: (ctx, { params }) => tokens.read(ctx, params.token_id),
      revokeToken: (ctx, { params }) => tokens.revoke(ctx, params.token_id),
      readJwks: async () => (await kernel.signingKeys.publicJwks()) as Output<typeof contract.readJwks>,
    }),
  };
}
