import type { CeilingInput } from '../../kernel/authz/ceiling.ts';
import { SECOND_MS } from '../../kernel/base/clock.ts';
import { newId } from '../../kernel/base/ids.ts';
import { sha256 } from '../../kernel/crypto/digest.ts';
import type { RateOverrides } from '../../kernel/limits/rate-classes.ts';
import type { Kernel } from '../../kernel/request/kernel.ts';
import type { ProviderSession, SessionMethod, TokenRow } from './storage/token-store.ts';

/** Secret scanners search for this prefix. Sessions are short-lived and have none. */
export const PAT_PREFIX = 'cv_pat_';
export const TOKEN_LENGTH_MAX = 2048;

export interface TokenFacts {
  tenantId: string;
  userId: string;
  kind: TokenRow['kind'];
  name: string;
  parentId?: string;
  ceilings?: readonly CeilingInput[];
  rateOverrides?: RateOverrides;
  mfaAt?: number | null;
  /** How and from where a session was opened. */
  method?: SessionMethod | null;
  address?: string;
  /** Where it began, if that was at a provider. */
  provider?: ProviderSession | null;
  dpopKey?: string | null;
  expiresAt: number;
  /** No request asks for it. */
  isHandedOut?: boolean;
  /** A personal access token that ends when the sessions of its owner are ended. */
  endsWithSessions?: boolean;
}

/** A token ready to be stored: the text exists only here and in the response, the row holds its hash. */
export interface IssuedToken {
  token: string;
  row: TokenRow;
}

/** Signs a token. Call it outside a transaction, because signing takes time; the caller stores the row in its own transaction. */
export async function issueToken(
  { clock, signingKeys }: Pick<Kernel, 'clock' | 'signingKeys'>,
  facts: TokenFacts,
): Promise<IssuedToken> {
  const now = clock.now();
  const tokenId = newId('token', now);
  const jwt = await signingKeys.sign({
    sub: facts.userId,
    jti: tokenId,
    exp: Math.floor(facts.expiresAt / SECOND_MS),
    tid: facts.tenantId,
    kind: facts.kind,
    ...(facts.dpopKey && { cnf: { jkt: facts.dpopKey } }),
  });
  const token = facts.kind === 'pat' ? `${PAT_PREFIX}${jwt}` : jwt;
  return {
    token,
    row: {
      tenant_id: facts.tenantId,
      token_id: tokenId,
      user_id: facts.userId,
      parent_id: facts.parentId ?? '',
      kind: facts.kind,
      name: facts.name,
      token_hash: sha256(token),
      ceilings: JSON.stringify(facts.ceilings ?? []),
      rate_overrides: JSON.stringify(facts.rateOverrides ?? {}),
      mfa_at: facts.mfaAt ?? null,
      dpop_jkt: facts.dpopKey ?? null,
      created_at: now,
      expires_at: facts.expiresAt,
      revoked_at: null,
      generation: null,
      factor: null,
      factor_trusted_from: null,
      method: facts.method ?? null,
      address: facts.address ?? null,
      provider: facts.provider?.provider ?? null,
      provider_subject: facts.provider?.provider_subject ?? null,
      provider_session: facts.provider?.provider_session ?? null,
      handed_out: facts.kind === 'pat' ? Number(facts.isHandedOut ?? false) : null,
      // Which generation it is says `insertToken`.
      session_generation: facts.endsWithSessions === true ? 0 : null,
    },
  };
}
