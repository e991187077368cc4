import {
  type CredentialScheme,
  invalidToken,
  RefusedCredential,
  type Resolved,
} from '../../kernel/auth/authentication.ts';
import { type CeilingInput, compileCeiling } from '../../kernel/authz/ceiling.ts';
import type { CompiledPolicy } from '../../kernel/authz/policy.ts';
import type { Call } from '../../kernel/context.ts';
import { equalBytes, sha256 } from '../../kernel/crypto/digest.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import type { RateOverrides } from '../../kernel/limits/rate-classes.ts';
import type { Principal } from '../../kernel/principal.ts';
import { findTenant, type TenantRow } from '../../kernel/storage/tenant-rows.ts';
import { policiesOfUser } from '../policies/index.ts';
import { findUser, type UserRow } from '../users/index.ts';
import { PAT_PREFIX, TOKEN_LENGTH_MAX } from './issuer.ts';
import { findToken, type TokenRow } from './store.ts';

const SCHEME = 'Bearer ';
const TOKEN_FORM = /^[A-Za-z0-9_.-]+$/;

/** `Authorization: Bearer <token>`, for personal access tokens and sessions. */
export class BearerScheme implements CredentialScheme {
  readonly #kernel: Kernel;

  constructor(kernel: Kernel) {
    this.#kernel = kernel;
  }

  detect({ headers: { authorization } }: Call): string | null {
    if (authorization === undefined) return null;
    if (authorization.length > TOKEN_LENGTH_MAX) throw invalidToken('the token is too long');
    const scheme = authorization.slice(0, SCHEME.length);
    if (scheme !== SCHEME && scheme.toLowerCase() !== SCHEME.toLowerCase()) {
      throw invalidToken('the Authorization header is not a bearer token');
    }
    return authorization.slice(SCHEME.length);
  }

  async resolve(credential: string): Promise<Resolved> {
    if (!TOKEN_FORM.test(credential)) throw invalidToken('the token has a form that no token has');
    const isPat = credential.startsWith(PAT_PREFIX);
    const verified = await this.#kernel.signingKeys.verify(isPat ? credential.slice(PAT_PREFIX.length) : credential);
    const { jti, sub, tid, kind } = verified?.claims ?? {};
    if (typeof jti !== 'string' || typeof sub !== 'string' || typeof tid !== 'string') {
      throw invalidToken('not a valid token of this installation');
    }
    if (kind !== (isPat ? 'pat' : 'session')) throw invalidToken('the token is of another kind than its prefix says');

    const epoch = await this.#kernel.epochs.current(tid);
    const { read } = this.#kernel.database;
    const [tenant, token, user] = await Promise.all([
      findTenant(read, tid),
      findToken(read, tid, jti),
      findUser(read, tid, sub),
    ]);
    if (epoch === null || tenant === undefined) throw invalidToken('the tenant is gone');
    if (token === undefined || !equalBytes(token.token_hash, sha256(credential)))
      throw invalidToken('the token is not known');
    const owner = { tenantId: tid, kind: 'user', id: sub, name: user?.email ?? '', key: jti };
    if (verified?.isExpired) throw new RefusedCredential('the token has expired', owner);
    if (token.revoked_at !== null) throw new RefusedCredential('the token is revoked', owner);
    if (user === undefined || token.user_id !== sub) throw new RefusedCredential('the user is gone', owner);
    if (user.status !== 'active') throw new RefusedCredential('the user is disabled', owner);
    if (tenant.status !== 'active') throw new RefusedCredential('the tenant is suspended', owner);

    const principal = principalOf(tenant, user, await policiesOfUser(read, user), {
      credential: token.kind,
      credentialId: jti,
      tokenRates: JSON.parse(token.rate_overrides) as RateOverrides,
      ceilings: ceilingsOf(token).map(compileCeiling),
      mfaAt: token.mfa_at,
      expiresAt: token.expires_at,
    });
    return { principal, epoch };
  }
}

type OfCredential = 'credential' | 'credentialId' | 'tokenRates' | 'ceilings' | 'mfaAt' | 'expiresAt';

/** A person with the rights they have now, within what the credential they use permits. */
export function principalOf(
  tenant: TenantRow,
  user: UserRow,
  policies: readonly CompiledPolicy[],
  credential: Pick<Principal, OfCredential>,
): Principal {
  return {
    kind: 'user',
    tenantId: tenant.tenant_id,
    tenantName: tenant.name,
    isOperator: tenant.is_operator === 1,
    plan: tenant.plan,
    tenantRates: JSON.parse(tenant.rate_overrides) as RateOverrides,
    id: user.user_id,
    name: user.email,
    displayName: user.name,
    role: user.role,
    policies,
    ...credential,
  };
}

export function ceilingsOf(token: TokenRow): CeilingInput[] {
  return JSON.parse(token.ceilings) as CeilingInput[];
}

/** The row of a token, if this is one of ours and it is stored; whether it may be used is not asked. */
export async function findTokenByText(kernel: Kernel, text: string): Promise<TokenRow | undefined> {
  const verified = await kernel.signingKeys.verify(text.startsWith(PAT_PREFIX) ? text.slice(PAT_PREFIX.length) : text);
  if (verified === null) return undefined;
  const { claims } = verified;
  const row = await findToken(kernel.database.read, String(claims['tid']), String(claims.jti));
  return row !== undefined && equalBytes(row.token_hash, sha256(text)) ? row : undefined;
}
