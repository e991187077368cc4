import { invalidToken } from '../../kernel/auth/authentication.ts';
import { type CeilingInput, compileCeiling } from '../../kernel/authz/ceiling.ts';
import { refuseUndeclaredActions } from '../../kernel/authz/declared-resources.ts';
import { effectiveCeiling } from '../../kernel/authz/effective-ceiling.ts';
import { PolicyError } from '../../kernel/authz/policy.ts';
import { DAY_MS, timestamp, timestampOrNull } from '../../kernel/base/clock.ts';
import { CofferError, invalidField, notFound } from '../../kernel/base/errors.ts';
import { idForm } from '../../kernel/base/ids.ts';
import type { Body, Query } from '../../kernel/endpoint/declaration.ts';
import { mapInSlices } from '../../kernel/fairness/time-slice.ts';
import { tighter } from '../../kernel/limits/rate-classes.ts';
import type { Context } from '../../kernel/request/context.ts';
import { refuseBeyondQuota } from '../../kernel/request/quotas.ts';
import { plainCursor, visiblePage } from '../../kernel/request/visible-page.ts';
import { raiseEpoch } from '../../kernel/storage/epochs.ts';
import { decodeCursor } from '../../kernel/wire/cursor.ts';
import { DELETED, type Deleted, LIST_LIMIT_DEFAULT } from '../../kernel/wire/wire.ts';
import { hasFactor } from '../mfa/factors/index.ts';
import { requireFresh } from '../mfa/index.ts';
import { findUser, lockUser } from '../users/storage/index.ts';
import { ceilingsOf } from './bearer.ts';
import { type createToken, type listTokens, PAT_TTL_DAYS_DEFAULT, readToken, type Token } from './contract.ts';
import { issueToken } from './issuer.ts';
import { revoke as revokeRows, withDescendants } from './storage/ending-store.ts';
import * as store from './storage/token-store.ts';

/** Depth of tokens created with tokens: enough for any script, and small enough to walk. */
const LINEAGE_MAX = 8;

export async function create(ctx: Context, body: Body<typeof createToken>) {
  const { principal } = ctx;
  const own: CeilingInput = {
    ...(body.scope !== undefined && { scope: body.scope }),
    ...(body.ip_allowlist !== undefined && { ip_allowlist: body.ip_allowlist }),
  };
  refuseBadCeiling(own);
  const parent = await store.findToken(ctx.database.read, ctx.tenantId, principal.credentialId);
  if (parent === undefined) throw notFound('token');
  const inherited = ceilingsOf(parent);
  if (inherited.length >= LINEAGE_MAX) {
    throw new CofferError(
      'IN_USE',
      `Tokens can be nested at most ${LINEAGE_MAX} deep: create this one with a session.`,
    );
  }
  const requestedEnd = ctx.now + (body.ttl_days ?? PAT_TTL_DAYS_DEFAULT) * DAY_MS;
  const isFromSession = principal.credential === 'session';
  if (!isFromSession && body.ends_with_sessions !== undefined) {
    throw invalidField('/body/ends_with_sessions', 'is for tokens created with a session: this one ends with yours');
  }
  refuseUnclear([...inherited, own]);
  const longest = Math.floor((principal.expiresAt - ctx.now) / DAY_MS);
  if (!isFromSession && body.ttl_days !== undefined && requestedEnd > principal.expiresAt) {
    throw invalidField('/body/ttl_days', tooLong(longest));
  }
  const issued = await issueToken(ctx.kernel, {
    tenantId: ctx.tenantId,
    userId: principal.id,
    kind: 'pat',
    name: body.name,
    parentId: principal.credentialId,
    endsWithSessions: isFromSession ? body.ends_with_sessions !== false : parent.session_generation !== null,
    ceilings: isFromSession ? [own] : [...inherited, own],
    // A token created with a bound token stays bound: otherwise a thief without the key could create an unbound one.
    dpopKey: body.dpop_jkt ?? parent.dpop_jkt,
    rateOverrides: tighter(principal.tokenRates, body.rate_limits ?? {}),
    expiresAt: isFromSession ? requestedEnd : Math.min(requestedEnd, principal.expiresAt),
  });
  ctx.record.describe({
    token: issued.row.token_id,
    name: body.name,
    expires_at: timestamp(issued.row.expires_at),
    created_with: principal.credentialId,
    ends_with_sessions: issued.row.session_generation !== null,
  });
  return ctx.change(async (tx) => {
    // The owner is locked before the token, as in every revocation: the opposite order could deadlock.
    const owner = await lockUser(tx, ctx.tenantId, principal.id);
    if (owner?.status !== 'active') throw invalidToken('the user is deleted or disabled', principal);
    // Checked again under a lock: a token created while its parent is being revoked would be missed by that revocation.
    const current = await store.lockToken(tx, ctx.tenantId, principal.credentialId);
    const isGood = current?.revoked_at === null && store.isCurrentGeneration(current, owner);
    if (!isGood) throw invalidToken('the token is revoked', principal);
    // A token outlives a session by months. A token that is created with another one needs no such proof: it ends with that one.
    if (isFromSession) requireFresh(ctx, await hasFactor(tx, ctx.tenantId, principal.id), 'Creating a token');
    refuseBeyondQuota(ctx, 'tokens_per_user', await store.countUsable(tx, owner, 'pat', ctx.now));
    await store.insertToken(tx, issued.row, owner);
    return { ...toWire(issued.row, ctx.now), token: issued.token };
  });
}

/** What the token may do is shown as one scope, so the ceilings that apply together must be one. */
function refuseUnclear(ceilings: readonly CeilingInput[]): void {
  const { inexpressible, ip_allowlist } = effectiveCeiling(ceilings);
  if (inexpressible !== null) {
    throw invalidField(
      '/body/scope/vaults',
      `has a name that overlaps the scope of the token that creates it only in part (${inexpressible}): write names that lie within that scope`,
    );
  }
  if (ip_allowlist?.length === 0) {
    throw invalidField('/body/ip_allowlist', 'has no address from which the token that creates it can be used');
  }
}

function refuseBadCeiling(input: CeilingInput): void {
  try {
    compileCeiling(input);
    refuseUndeclaredActions(input.scope?.actions ?? [], '/scope/actions');
  } catch (error) {
    if (error instanceof PolicyError) throw invalidField(`/body${error.pointer}`, error.reason);
    throw error;
  }
}

export async function list(ctx: Context, query: Query<typeof listTokens>) {
  const userId = query.user_id ?? ctx.principal.id;
  ctx.access.authorize(userId === ctx.principal.id ? 'self/tokens' : `user/${userId}/tokens`);
  const [before = null] = decodeCursor(await plainCursor(ctx, query.cursor), idForm('token')) ?? [];
  const limit = query.limit ?? LIST_LIMIT_DEFAULT;
  const page = await visiblePage(
    ctx,
    await store.listTokens(ctx.database.read, ctx.tenantId, userId, { before, limit }),
    {
      permissions: [readToken.permission],
      resources: (row) => [resourceOf(ctx, row.token_id, row)],
    },
  );
  const tokens = await mapInSlices(ctx.tenantId, page.rows, (row) => toWire(row, ctx.now));
  return { tokens, next_cursor: page.next_cursor };
}

export async function read(ctx: Context, tokenId: string): Promise<Token> {
  const row = await store.findToken(ctx.database.read, ctx.tenantId, tokenId);
  ctx.access.authorize(resourceOf(ctx, tokenId, row));
  if (row === undefined) throw notFound('token');
  return toWire(row, ctx.now);
}

export async function revoke(ctx: Context, tokenId: string): Promise<Deleted> {
  return ctx.change(async (tx) => {
    const row = await store.lockToken(tx, ctx.tenantId, tokenId);
    ctx.access.authorize(resourceOf(ctx, tokenId, row));
    if (row === undefined) throw notFound('token');
    await keepFromAdmins(ctx, row);
    const all = await withDescendants(tx, row);
    ctx.record.describe({ user: row.user_id, name: row.name, revoked: all.length });
    await revokeRows(tx, ctx.tenantId, all, ctx.now);
    await raiseEpoch(tx, ctx.tenantId);
    return DELETED;
  });
}

function tooLong(days: number): string {
  const own = 'would outlive the token that creates it';
  if (days < 1) return `${own}, which expires within a day: omit ttl_days to use the same expiry, or use a session`;
  return `${own}: at most ${days} ${days === 1 ? 'day is' : 'days are'} possible; omit ttl_days to use the same expiry, or use a session`;
}

/** A token of another user and a missing one get the same resource name, so that the response does not reveal which it is. */
function resourceOf(ctx: Context, tokenId: string, row: store.TokenRow | undefined): string {
  return row?.user_id === ctx.principal.id ? `self/tokens/${tokenId}` : `token/${tokenId}`;
}

/** An admin who could revoke an owner's last token could lock the owner out for good. */
async function keepFromAdmins(ctx: Context, row: store.TokenRow): Promise<void> {
  if (row.user_id === ctx.principal.id || ctx.access.may('users:grant_owner', 'user')) return;
  const user = await findUser(ctx.database.read, ctx.tenantId, row.user_id);
  if (user?.role !== 'owner') return;
  throw new CofferError('INSUFFICIENT_PRIVILEGE', 'Only an owner can revoke the token of an owner.', {
    auditReason: 'users:grant_owner: not an owner',
  });
}

function toWire(row: store.TokenRow, now: number): Token {
  const { scope, ip_allowlist } = effectiveCeiling(ceilingsOf(row));
  return {
    id: row.token_id,
    kind: row.kind,
    name: row.name,
    user_id: row.user_id,
    parent_id: row.parent_id === '' ? null : row.parent_id,
    ends_with_sessions: row.kind === 'session' || row.session_generation !== null,
    scope,
    ip_allowlist,
    dpop_jkt: row.dpop_jkt,
    status: row.revoked_at !== null ? 'revoked' : row.expires_at <= now ? 'expired' : 'active',
    created_at: timestamp(row.created_at),
    expires_at: timestamp(row.expires_at),
    revoked_at: timestampOrNull(row.revoked_at),
  };
}
