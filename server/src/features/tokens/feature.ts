import { removeRecorded } from '../../kernel/audit/log/removal.ts';
import { DAY_MS, HOUR_MS, SECOND_MS } from '../../kernel/base/clock.ts';
import type { Output } from '../../kernel/endpoint/declaration.ts';
import { feature } from '../../kernel/feature/declaration.ts';
import { SECOND_CHECK_MS } from '../../kernel/time/clock-guard.ts';
import { earlier } from '../../kernel/time/cutoff.ts';
import { revokeTokensOf } from '../users/index.ts';
import { BearerScheme } from './bearer.ts';
import * as contract from './contract.ts';
import { tokenNeeds } from './links.ts';
import * as tokens from './service.ts';
import { revokeTokensOfUser } from './storage/ending-store.ts';
import { countExpiredBefore, countTokens, expiredBefore, nextExpiry, TOKENS } from './storage/token-store.ts';

/** How long the row of an expired token is retained, so that its owner can see why something stopped working. */
const EXPIRED_RETENTION_MS = 30 * DAY_MS;
/** Far more than expire in an hour in a small installation. */
const FORGOTTEN_AT_ONCE = 100;

export const tokensFeature = feature({
  name: 'tokens',
  endpoints: contract,
  tables: { authenticated: [TOKENS] },
  ids: ['token'],
  uses: ['audit', 'clock', 'database', 'dpop', 'metrics', 'operatorTenantId', 'regionGate', 'signingKeys'],
  needs: tokenNeeds,
  build(parts) {
    const { database } = parts;
    const rotate = async () => {
      await parts.signingKeys.rotate();
    };
    const help = 'When the first token of the operator’s own tenant expires that can be used, sessions excepted.';
    parts.metrics.collectBy({ name: 'cv_operator_token_expiry_timestamp_seconds', help, labels: [] }, async () => {
      const expiresAt = await nextExpiry(database.read, parts.operatorTenantId, parts.clock.now());
      return expiresAt === null ? [] : [{ value: expiresAt / SECOND_MS }];
    });
    return {
      provides: [
        revokeTokensOf.by((tx, tenantId, userId, now) =>
          revokeTokensOfUser(tx, { tenantId, userId }, 'all', { now, except: '' }),
        ),
      ],
      credentialSchemes: [new BearerScheme(parts, parts)],
      jobs: [
        {
          name: 'forget-expired-tokens',
          intervalMs: HOUR_MS,
          removes: {
            secondCheckMs: SECOND_CHECK_MS,
            share: async (cutoff) => [
              {
                of: 'tokens',
                expired: await countExpiredBefore(database.read, earlier(cutoff, EXPIRED_RETENTION_MS)),
                floor: FORGOTTEN_AT_ONCE,
                total: () => countTokens(database.read),
              },
            ],
          },
          run: (signal, cutoff) => {
            const which = expiredBefore(earlier(cutoff, EXPIRED_RETENTION_MS));
            const job = 'forget-expired-tokens';
            return removeRecorded(parts, { job, action: 'tokens:purge', table: TOKENS, which }, signal);
          },
        },
        { name: 'rotate-signing-keys', intervalMs: HOUR_MS / 4, removes: 'nothing', run: rotate },
      ],
      handlers: {
        createToken: (ctx, { body }) => tokens.create(ctx, body),
        listTokens: (ctx, { query }) => tokens.list(ctx, query),
        readToken: (ctx, { params }) => tokens.read(ctx, params.token_id),
        revokeToken: (ctx, { params }) => tokens.revoke(ctx, params.token_id),
        readJwks: async () => (await parts.signingKeys.publicJwks()) as Output<typeof contract.readJwks>,
      },
    };
  },
});
