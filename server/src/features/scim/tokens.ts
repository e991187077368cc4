import { DAY_MS, SECOND_MS, timestamp, timestampOrNull } from '../../kernel/base/clock.ts';
import { CofferError, notFound } from '../../kernel/base/errors.ts';
import { newId } from '../../kernel/base/ids.ts';
import { sha256 } from '../../kernel/crypto/digest.ts';
import type { Body } from '../../kernel/endpoint/declaration.ts';
import type { Context } from '../../kernel/request/context.ts';
import type { Reader, Tx } from '../../kernel/storage/database.ts';
import { raiseEpoch } from '../../kernel/storage/epochs.ts';
import { DELETED, type Deleted } from '../../kernel/wire/wire.ts';
import { hasFactor } from '../mfa/factors/index.ts';
import { requireFresh } from '../mfa/index.ts';
import { findProvider, lockProvider, type ProviderRow, stateOf } from '../sign-on/storage/index.ts';
import type * as contract from './contract.ts';
import { BASE_PATH, type ScimToken, type ScimTokenWithText, TOKENS_MAX, TTL_DAYS_DEFAULT } from './schemas.ts';
import { SCIM_TOKEN } from './scheme.ts';
import * as store from './token-store.ts';

/** A provider can make anybody an admin, who may read the contents of every vault. */
const EVERY_VAULT = () => true;

export async function create(
  ctx: Context,
  provider: string,
  body: Body<typeof contract.createScimToken>,
): Promise<ScimTokenWithText> {
  await requireGranter(ctx);
  const token = SCIM_TOKEN.create();
  const ttl_days = body.ttl_days ?? TTL_DAYS_DEFAULT;
  return ctx.change(async (tx) => {
    const found = await lockedProvider(ctx, tx, provider);
    const { issuer, role_mapping, default_role } = found;
    const others = await store.tokensOf(tx, ctx.tenantId, provider);
    if (others.length >= TOKENS_MAX) {
      throw new CofferError('QUOTA_EXCEEDED', `A provider has at most ${TOKENS_MAX} SCIM tokens: revoke one first.`);
    }
    const row: store.TokenRow = {
      tenant_id: ctx.tenantId,
      token_id: newId('scim', ctx.now),
      provider,
      issuer_hash: sha256(issuer),
      description: body.description ?? '',
      token_hash: sha256(token),
      former_token_hash: null,
      former_token_until: null,
      expires_at: ctx.now + ttl_days * DAY_MS,
      created_by: ctx.principal.id,
      created_at: ctx.now,
    };
    await store.insertToken(tx, row);
    const grants = { issuer, role_mapping: JSON.parse(role_mapping) as object, default_role, ttl_days };
    const differences = [{ what: `SCIM token of the sign-on provider ${provider}`, before: null, after: grants }];
    await ctx.needsApproval(tx, { basis: stateOf(found), differences });
    ctx.record.describe({ provider, token: row.token_id, ttl_days });
    return shown(ctx, row, token);
  });
}

export async function list(ctx: Context, provider: string): Promise<{ tokens: ScimToken[] }> {
  await existing(ctx, ctx.database.read, provider);
  return { tokens: (await store.tokensOf(ctx.database.read, ctx.tenantId, provider)).map(toWire) };
}

export async function rotate(
  ctx: Context,
  provider: string,
  tokenId: string,
  body: Body<typeof contract.rotateScimToken>,
): Promise<ScimTokenWithText> {
  await requireGranter(ctx);
  const token = SCIM_TOKEN.create();
  const overlapMs = (body.overlap_seconds ?? 0) * SECOND_MS;
  return ctx.change(async (tx) => {
    const row = await lockedToken(ctx, tx, provider, tokenId);
    // A second person agreed to a token of this requester, and to no other.
    if (row.created_by !== ctx.principal.id) {
      throw new CofferError(
        'INSUFFICIENT_PRIVILEGE',
        'Only whoever requested a SCIM token can replace it: create one of your own, then revoke this one.',
        { auditReason: 'the SCIM token was requested by another user' },
      );
    }
    // No second person agrees to the new token, so anyone who stole a session or a token must not get one.
    requireFresh(ctx, await hasFactor(tx, ctx.tenantId, ctx.principal.id), 'Replacing a SCIM token');
    ctx.record.describe({ provider, token: tokenId, overlap_seconds: overlapMs / SECOND_MS });
    const changed = await store.replaceToken(tx, row, {
      token_hash: sha256(token),
      former_token_hash: overlapMs === 0 ? null : row.token_hash,
      former_token_until: overlapMs === 0 ? null : ctx.now + overlapMs,
    });
    await raiseEpoch(tx, ctx.tenantId);
    return shown(ctx, changed, token);
  });
}

export async function revoke(ctx: Context, provider: string, tokenId: string): Promise<Deleted> {
  ctx.access.requireUnrestricted();
  return ctx.change(async (tx) => {
    const row = await lockedToken(ctx, tx, provider, tokenId);
    ctx.record.describe({ provider, token: tokenId });
    await store.deleteToken(tx, row);
    await raiseEpoch(tx, ctx.tenantId);
    return DELETED;
  });
}

/** The tokens of a provider that is deleted. */
export async function revokeTokensOf(tx: Tx, tenantId: string, provider: string): Promise<void> {
  await store.deleteTokensOf(tx, tenantId, provider);
  await raiseEpoch(tx, tenantId);
}

/** The token outlives the credential that created it, so a restricted credential cannot create one. */
async function requireGranter(ctx: Context): Promise<void> {
  ctx.access.requireUnrestricted();
  await ctx.access.requireProofToGrant(EVERY_VAULT);
}

async function existing(ctx: Context, db: Reader, name: string): Promise<ProviderRow> {
  const row = await findProvider(db, { tenant_id: ctx.tenantId, name });
  if (row === undefined) throw notFound('provider');
  return row;
}

async function lockedProvider(ctx: Context, tx: Tx, name: string): Promise<ProviderRow> {
  const row = await lockProvider(tx, { tenant_id: ctx.tenantId, name });
  if (row === undefined) throw notFound('provider');
  return row;
}

async function lockedToken(ctx: Context, tx: Tx, provider: string, tokenId: string): Promise<store.TokenRow> {
  const row = await store.lockToken(tx, { tenant_id: ctx.tenantId, provider, token_id: tokenId });
  if (row === undefined) throw notFound('SCIM token');
  return row;
}

function shown({ kernel }: Context, row: store.TokenRow, token: string): ScimTokenWithText {
  return { ...toWire(row), token, base_url: `${kernel.addresses.baseUrl}${BASE_PATH}` };
}

function toWire(row: store.TokenRow): ScimToken {
  return {
    id: row.token_id,
    provider: row.provider,
    description: row.description,
    expires_at: timestamp(row.expires_at),
    former_token_until: timestampOrNull(row.former_token_until),
    created_by: row.created_by,
    created_at: timestamp(row.created_at),
  };
}
