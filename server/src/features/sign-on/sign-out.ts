import { MINUTE_MS } from '../../kernel/base/clock.ts';
import { CofferError } from '../../kernel/base/errors.ts';
import { sha256 } from '../../kernel/crypto/digest.ts';
import type { Body, Output, Query } from '../../kernel/endpoint/declaration.ts';
import { ANY_ALGORITHM } from '../../kernel/external-identity/algorithms.ts';
import type { Claims as TokenClaims } from '../../kernel/external-identity/external-jwt.ts';
import { isRecord } from '../../kernel/external-identity/key-set.ts';
import { ExternalIdentityRefusal, refuse } from '../../kernel/external-identity/refusal.ts';
import { verifiedByKeySet } from '../../kernel/external-identity/verified-token.ts';
import { findOperatorTenant, findTenantByName } from '../../kernel/integrity/tenant-rows.ts';
import type { Context } from '../../kernel/request/context.ts';
import type { Tx } from '../../kernel/storage/database.ts';
import { raiseEpoch } from '../../kernel/storage/epochs.ts';
import { identify } from '../sessions/index.ts';
import {
  findToken,
  type ProviderSession,
  revokeTokens,
  sessionsFromProvider,
  type TokenRow,
} from '../tokens/storage/index.ts';
import { lockUser } from '../users/storage/index.ts';
import { SUBJECT } from './accounts.ts';
import type * as contract from './contract.ts';
import { type Claims, endSessionUrl, ProviderFailure } from './openid.ts';
import { findProvider, lockProvider, type ProviderRow } from './storage/identity-store.ts';
import { insertLogout, type LogoutRow, logoutsSince } from './storage/logout-store.ts';

/** OpenID Connect Back-Channel Logout 1.0, 2.4. */
const LOGOUT_EVENT = 'http://schemas.openid.net/event/backchannel-logout';
/** The type is recommended only, so that many providers send a plain JWT. */
const LOGOUT_TYPES = ['logout+jwt', 'jwt'];
const TOKEN_AGE_MAX_MS = 10 * MINUTE_MS;
/** Longer than a token is accepted, and longer than a sign-in takes that began before it. */
const LOGOUT_RETENTION_MS = 30 * MINUTE_MS;
const KEYS_TTL_MS = 5 * MINUTE_MS;

/** Where a sign-in that was verified now began. A session id of an unusual form is not stored. */
export function providerSessionOf(provider: ProviderRow, { sub, sid }: Claims): ProviderSession {
  return {
    provider: provider.name,
    provider_subject: digestOf(provider, 'sub', sub),
    provider_session: isIdentifier(sid) ? digestOf(provider, 'sid', sid) : null,
  };
}

function digestOf({ issuer }: ProviderRow, claim: 'sub' | 'sid' | 'jti', value: string): Buffer {
  return sha256(JSON.stringify([issuer, claim, value]));
}

function isIdentifier(value: unknown): value is string {
  return typeof value === 'string' && SUBJECT.test(value);
}

/** Where the person can end the session at their provider as well. This ends nothing here. */
export async function readSignOut(ctx: Context): Promise<Output<typeof contract.readSignOut>> {
  const { read } = ctx.database;
  const session = await findToken(read, ctx.tenantId, ctx.principal.credentialId);
  const name = session?.provider ?? null;
  if (name === null) return { provider: null, url: null };
  const provider = await findProvider(read, { tenant_id: ctx.tenantId, name });
  if (provider?.enabled !== 1) return { provider: name, url: null };
  try {
    return { provider: name, url: (await endSessionUrl(ctx.kernel, provider))?.href ?? null };
  } catch (error) {
    if (!(error instanceof ProviderFailure)) throw error;
    ctx.record.describe({ provider: name, failure: error.message });
    return { provider: name, url: null };
  }
}

/** A provider says that a session there has ended. A disabled provider is heard as well, because this can only end sessions. */
export async function backchannelLogout(
  ctx: Context,
  name: string,
  query: Query<typeof contract.backchannelLogout>,
  body: Body<typeof contract.backchannelLogout>,
): Promise<Output<typeof contract.backchannelLogout>> {
  ctx.record.setResource('session');
  const { read } = ctx.database;
  const tenant =
    query.tenant === undefined ? await findOperatorTenant(read) : await findTenantByName(read, query.tenant);
  identify(ctx, tenant, '', '');
  ctx.record.describe({ provider: name });
  const provider = tenant === undefined ? undefined : await findProvider(read, { tenant_id: tenant.tenant_id, name });
  if (provider === undefined) throw refused('no such tenant or provider');
  const logout = await verifiedLogout(ctx, provider, body.logout_token ?? '');
  return ctx.change(async (tx) => {
    // Sign-ins lock the provider too: each of them either is seen here, or sees this logout.
    const current = await lockProvider(tx, provider);
    if (current?.revision !== provider.revision) throw refused('the provider was changed meanwhile');
    if (!(await insertLogout(tx, logout))) throw refused('the token was used before');
    const sessions_ended = await endSessions(ctx, tx, logout);
    ctx.record.describe({ sessions_ended });
    return { sessions_ended };
  });
}

async function verifiedLogout(ctx: Context, provider: ProviderRow, text: string): Promise<LogoutRow> {
  const { tenant_id, issuer, client_id } = provider;
  const expected = {
    issuer,
    audience: client_id,
    now: ctx.now,
    maxAgeMs: TOKEN_AGE_MAX_MS,
    types: LOGOUT_TYPES,
  };
  const source = { owner: tenant_id, issuer, jwksUrl: null, ttlMs: KEYS_TTL_MS };
  try {
    const claims = await verifiedByKeySet(text, ANY_ALGORITHM, expected, { source, keySets: ctx.kernel.keySets });
    return {
      tenant_id,
      received_at: ctx.now,
      expires_at: ctx.now + LOGOUT_RETENTION_MS,
      ...logoutIn(provider, claims),
    };
  } catch (error) {
    throw error instanceof ExternalIdentityRefusal ? refused(error.message) : error;
  }
}

/** OpenID Connect Back-Channel Logout 1.0, 2.6: what makes it a logout token, and no id_token. */
function logoutIn(provider: ProviderRow, claims: TokenClaims) {
  const { events, jti, sub, sid } = claims;
  if (Object.hasOwn(claims, 'nonce')) refuse('the token has a nonce, so it is no logout token');
  const isLogout = isRecord(events) && Object.hasOwn(events, LOGOUT_EVENT) && isRecord(events[LOGOUT_EVENT]);
  if (!isLogout) refuse('the token is about no logout (events)');
  if (!isIdentifier(jti)) return refuse('the token has no usable id (jti)');
  if (sub === undefined && sid === undefined) refuse('the token names neither a subject nor a session');
  const digest = (claim: 'sub' | 'sid', value: unknown) => {
    if (value === undefined) return null;
    return isIdentifier(value) ? digestOf(provider, claim, value) : refuse(`the token has no usable ${claim}`);
  };
  return {
    provider: provider.name,
    token_hash: digestOf(provider, 'jti', jti),
    provider_subject: digest('sub', sub),
    provider_session: digest('sid', sid),
  };
}

/** Ends what began at the provider, and nothing else: not sessions by password, and no tokens. */
async function endSessions(ctx: Context, tx: Tx, logout: LogoutRow): Promise<number> {
  // A step-up replaces a session under the lock of its person, so the sessions are read again under these locks.
  const people = new Set((await meant(tx, logout)).map(({ user_id }) => user_id));
  for (const userId of [...people].sort()) await lockUser(tx, logout.tenant_id, userId);
  const sessions = (await meant(tx, logout)).filter(({ expires_at }) => expires_at > ctx.now);
  if (sessions.length === 0) return 0;
  const ids = sessions.map(({ token_id }) => token_id);
  await revokeTokens(tx, logout.tenant_id, ids, ctx.now);
  await raiseEpoch(tx, logout.tenant_id);
  ctx.record.describe({ users: [...people].sort() });
  return ids.length;
}

async function meant(tx: Tx, logout: LogoutRow): Promise<TokenRow[]> {
  const { tenant_id, provider_subject, provider_session } = logout;
  const found =
    provider_subject !== null
      ? await sessionsFromProvider(tx, tenant_id, 'provider_subject', provider_subject)
      : await sessionsFromProvider(tx, tenant_id, 'provider_session', provider_session ?? new Uint8Array());
  return found.filter((session) => concerns(logout, session));
}

type Begun = Pick<TokenRow, keyof ProviderSession>;

/** A session whose id at the provider is not known ends with every logout of its subject. */
function concerns(logout: LogoutRow, begun: Begun): boolean {
  if (logout.provider !== begun.provider) return false;
  const { provider_subject: subject, provider_session: session } = logout;
  if (subject !== null && !isSame(subject, begun.provider_subject)) return false;
  if (session === null) return true;
  return begun.provider_session === null ? subject !== null : isSame(session, begun.provider_session);
}

function isSame(one: Uint8Array, other: Uint8Array | null): boolean {
  return other !== null && Buffer.from(one).equals(other);
}

/** Whether the provider ended a sign-in before its session existed here. The caller has locked the provider. */
export async function wasEndedSince(tx: Tx, tenantId: string, begun: ProviderSession, since: number): Promise<boolean> {
  const logouts = await logoutsSince(tx, tenantId, begun.provider, since);
  return logouts.some((logout) => concerns(logout, begun));
}

/** OpenID Connect Back-Channel Logout 1.0, 2.8: every refusal is 400. The audit log of the tenant has the reason. */
function refused(auditReason: string): CofferError {
  return new CofferError(
    'INVALID_REQUEST',
    'The logout token was refused: the audit log of the tenant has the reason.',
    {
      auditReason,
    },
  );
}
