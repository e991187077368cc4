import {
  type CredentialScheme,
  invalidToken,
  NO_PROOFS,
  RefusedCredential,
  type Resolved,
  twoCredentials,
  type View,
} from '../../kernel/auth/authentication.ts';
import type { Call, RoutedCall } from '../../kernel/auth/call.ts';
import { refusedProof } from '../../kernel/auth/dpop-guard.ts';
import { bearerOf, isMetricsToken } from '../../kernel/auth/metrics-token.ts';
import type { Principal } from '../../kernel/auth/principal.ts';
import { ForeignCaller } from '../../kernel/auth/region-gate.ts';
import { type CeilingInput, compileCeiling } from '../../kernel/authz/ceiling.ts';
import type { CompiledPolicy } from '../../kernel/authz/policy.ts';
import { equalBytes, sha256 } from '../../kernel/crypto/digest.ts';
import type { CredentialKind } from '../../kernel/endpoint/declaration.ts';
import { findTenant, type TenantRow } from '../../kernel/integrity/tenant-rows.ts';
import type { RateOverrides } from '../../kernel/limits/rate-classes.ts';
import type { Kernel } from '../../kernel/request/kernel.ts';
import type { Reader } from '../../kernel/storage/database.ts';
import { currentFactor, hasFactor } from '../mfa/factors/index.ts';
import { policiesOfUser } from '../policies/index.ts';
import { findUser, type UserRow } from '../users/storage/index.ts';
import { PAT_PREFIX, TOKEN_LENGTH_MAX } from './issuer.ts';
import type { TokenParts } from './links.ts';
import { findToken, isCurrentGeneration, type TokenRow } from './storage/token-store.ts';

type BearerPorts = Pick<TokenParts, 'machineTokenResolvers' | 'opaqueTokenResolver'>;

const BEARER = 'Bearer ';
/** For tokens bound to a key (RFC 9449): each request must prove possession of the key. */
const DPOP = 'DPoP ';
const TOKEN_FORM = /^[A-Za-z0-9_.-]+$/;

/**
 * `Authorization: Bearer <token>`, or `DPoP <token>` if the token is bound to a key. The same signing keys sign tokens of users and machines; the
 * `kind` claim tells them apart, and `machineTokenResolvers` resolve the tokens of machines.
 */
export class BearerScheme implements CredentialScheme {
  readonly #kernel: Pick<Kernel, 'dpop' | 'regionGate' | 'signingKeys'>;
  readonly #ports: BearerPorts;

  constructor(kernel: Pick<Kernel, 'dpop' | 'regionGate' | 'signingKeys'>, ports: BearerPorts) {
    this.#kernel = kernel;
    this.#ports = ports;
  }

  detect({ headers: { authorization }, session }: Call): string | null {
    if (session !== undefined && authorization !== undefined) throw twoCredentials();
    if (session !== undefined) return session;
    if (authorization === undefined) return null;
    if (authorization.length > TOKEN_LENGTH_MAX) throw invalidToken('the token is too long');
    const token = bearerOf(authorization);
    if (token !== null && isMetricsToken(token)) return null;
    const space = authorization.indexOf(' ') + 1;
    const scheme = authorization.slice(0, space).toLowerCase();
    if (scheme === BEARER.toLowerCase()) return authorization.slice(space);
    if (scheme === DPOP.toLowerCase()) return DPOP + authorization.slice(space);
    throw invalidToken('the Authorization header is not a bearer token');
  }

  async resolve(credential: string, _call: Call, view: View): Promise<Resolved> {
    const isBound = credential.startsWith(DPOP);
    const text = isBound ? credential.slice(DPOP.length) : credential;
    const { dpopKey, ...resolved } = await this.#resolveText(text, view);
    const { principal } = resolved;
    if (dpopKey === null) {
      if (isBound) throw invalidToken('the token is not DPoP-bound, but was sent with the DPoP scheme', principal);
      return resolved;
    }
    if (!isBound) throw invalidToken('the token is DPoP-bound, but was sent with the Bearer scheme', principal);
    if (resolved.prove !== undefined) return resolved;
    const prove = async (request: RoutedCall) => {
      const key = await this.#kernel.dpop.provenKey(request, principal.tenantId, text);
      if (key === null) throw refusedProof('there is none');
      if (key !== dpopKey) throw refusedProof('it is signed by a different key than the one the token is bound to');
      return { ...NO_PROOFS, dpop: true };
    };
    return { ...resolved, prove };
  }

  /** A token that another region signed proves who sends it, but its row is there. */
  async #forwardForeign(jwt: string): Promise<void> {
    const foreign = await this.#kernel.regionGate.foreignToken(jwt);
    if (foreign !== null) throw new ForeignCaller(foreign);
  }

  async #resolveText(credential: string, view: View): Promise<ResolvedToken> {
    if (!TOKEN_FORM.test(credential)) throw invalidToken('the token is malformed');
    const opaque = this.#ports.opaqueTokenResolver();
    if (credential.startsWith(opaque.prefix)) return opaque.resolve(credential, view);
    const isPat = credential.startsWith(PAT_PREFIX);
    const jwt = isPat ? credential.slice(PAT_PREFIX.length) : credential;
    const verified = await this.#kernel.signingKeys.verify(jwt);
    const { jti, sub, tid, kind } = verified?.claims ?? {};
    if (typeof jti !== 'string' || typeof sub !== 'string' || typeof tid !== 'string') {
      await this.#forwardForeign(jwt);
      throw invalidToken('not a valid token of this installation');
    }
    if (await this.#kernel.regionGate.isRevoked(jti, tid))
      throw invalidToken('the token was revoked in another region');
    const other = isPat ? undefined : this.#ports.machineTokenResolvers().find((resolver) => resolver.kind === kind);
    if (other !== undefined) return other.resolve(credential, { tenantId: tid, tokenId: jti, subject: sub }, view);
    if (kind !== (isPat ? 'pat' : 'session')) throw invalidToken('the kind of the token does not match its prefix');

    const { db } = view;
    const epoch = await view.epochOf(tid);
    const [tenant, token, user] = await Promise.all([
      findTenant(db, tid),
      findToken(db, tid, jti),
      findUser(db, tid, sub),
    ]);
    if (epoch === null || tenant === undefined) {
      await this.#forwardForeign(jwt);
      throw invalidToken('the tenant does not exist');
    }
    if (token === undefined || !equalBytes(token.token_hash, sha256(credential)))
      throw invalidToken('the token is not known');
    const owner = { tenantId: tid, kind: 'user', id: sub, name: user?.email ?? '', key: jti };
    if (verified?.isExpired) throw new RefusedCredential('the token has expired', owner);
    if (token.revoked_at !== null) throw new RefusedCredential('the token is revoked', owner);
    if (user === undefined || token.user_id !== sub) throw new RefusedCredential('the user does not exist', owner);
    if (user.status !== 'active') throw new RefusedCredential('the user is disabled', owner);
    if (!isCurrentGeneration(token, user)) throw new RefusedCredential('all tokens of the user were revoked', owner);
    if (tenant.status !== 'active') throw new RefusedCredential('the tenant is suspended', owner);

    const principal = principalOf(tenant, user, await policiesOfUser(db, user), {
      credential: token.kind,
      credentialId: jti,
      tokenRates: JSON.parse(token.rate_overrides) as RateOverrides,
      ceilings: ceilingsOf(token).map(compileCeiling),
      ...(await provenBy(db, tenant, user, token)),
      expiresAt: token.expires_at,
    });
    return { principal, epoch, dpopKey: token.dpop_jkt };
  }
}

/** A token with the data its issuer stored about it. */
export interface ResolvedToken extends Resolved {
  /** Thumbprint of the key the token is bound to. If `prove` is given too, it demands the proof itself. */
  dpopKey: string | null;
}

/** Resolves the tokens of one kind, for the feature that issues them. The signature is verified already; every other check is up to the resolver. */
export interface TokenResolver {
  readonly kind: CredentialKind;
  resolve(
    text: string,
    claims: { tenantId: string; tokenId: string; subject: string },
    view: View,
  ): Promise<ResolvedToken>;
}

/** Resolves tokens that are looked up by their hash. Every check is up to the resolver. */
export interface OpaqueTokenResolver {
  readonly prefix: string;
  resolve(text: string, view: View): Promise<ResolvedToken>;
}

type Proven = Pick<Principal, 'signedInAt' | 'mfaAt' | 'factorTrustedFrom' | 'mustEnrol'>;

/**
 * What a token proves about its person. A second factor counts while the person has it: anyone who removes a stolen one takes away what it proves in
 * sessions that are open. If the tenant requires one, a session must have been opened with it, and the owner of a personal access token must have one.
 */
async function provenBy(
  db: Reader,
  { require_mfa }: TenantRow,
  { tenant_id, user_id }: UserRow,
  token: TokenRow,
): Promise<Proven> {
  const factor =
    token.mfa_at === null
      ? null
      : await currentFactor(db, { tenantId: tenant_id, userId: user_id }, token, token.mfa_at);
  const proven = {
    signedInAt: signedInAt(token, factor !== null),
    mfaAt: factor === null ? null : token.mfa_at,
    factorTrustedFrom: factor?.trustedFrom ?? null,
  };
  if (require_mfa !== 1) return { ...proven, mustEnrol: false };
  const isBehind = token.kind === 'session' ? factor !== null : await hasFactor(db, tenant_id, user_id);
  return { ...proven, mustEnrol: !isBehind };
}

/**
 * A session that a device code opened is no fresh sign-in. If another session confirmed it, anyone who stole that one could make a fresh one with it; and
 * anyone who talked a person into signing in at their provider with a code would have one of theirs. Nor is a sign-in with a passkey that was removed.
 */
function signedInAt({ kind, method, created_at }: TokenRow, isFactorCurrent: boolean): number | null {
  const isSignIn = method === 'passkey' ? isFactorCurrent : method !== 'device';
  return kind === 'session' && isSignIn ? created_at : null;
}

type OfCredential =
  | 'credential'
  | 'credentialId'
  | 'tokenRates'
  | 'ceilings'
  | 'signedInAt'
  | 'mfaAt'
  | 'factorTrustedFrom'
  | 'mustEnrol'
  | 'expiresAt';

/** A user with their current rights, limited by the credential they use. */
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

/** The row of a token, if it was issued by this installation and is stored. It does not check whether the token is still usable. */
export async function findTokenByText(
  { database, signingKeys }: Pick<Kernel, 'database' | 'signingKeys'>,
  text: string,
): Promise<TokenRow | undefined> {
  const verified = await signingKeys.verify(text.startsWith(PAT_PREFIX) ? text.slice(PAT_PREFIX.length) : text);
  if (verified === null) return undefined;
  const { claims } = verified;
  const row = await findToken(database.read, String(claims['tid']), String(claims.jti));
  return row !== undefined && equalBytes(row.token_hash, sha256(text)) ? row : undefined;
}
