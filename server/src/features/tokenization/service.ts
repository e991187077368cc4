import { DAY_MS, timestamp } from '../../kernel/base/clock.ts';
import { CofferError, notFound, tooLarge } from '../../kernel/base/errors.ts';
import { newId } from '../../kernel/base/ids.ts';
import { UnsealError } from '../../kernel/crypto/sealing.ts';
import type { Body } from '../../kernel/endpoint/declaration.ts';
import type { Context } from '../../kernel/request/context.ts';
import { VALUE_BYTES_MAX } from '../secrets/index.ts';
import { refuseInZeroKnowledge } from '../secrets/value/index.ts';
import { authorizedVault, isLive, vaultKeyPurpose, vaultNotFound } from '../vaults/index.ts';
import { shareVault } from '../vaults/storage/index.ts';
import type * as contract from './contract.ts';
import * as store from './store.ts';

export async function tokenize(ctx: Context, vaultName: string, body: Body<typeof contract.tokenize>) {
  const vault = await authorizedVault(ctx, ctx.database.read, vaultName);
  refuseInZeroKnowledge(vault, 'Tokenization');
  const value = Buffer.from(body.value, 'utf8');
  if (value.length > VALUE_BYTES_MAX) throw tooLarge('/body/value', VALUE_BYTES_MAX);
  const purpose = vaultKeyPurpose(vault.vault_id);
  const key = await ctx.kernel.keyring.sealingKey(ctx.tenantId, purpose, vault.rotation_days * DAY_MS);
  const token_id = newId('tok', ctx.now);
  const expires_at = body.ttl_days === undefined ? null : ctx.now + body.ttl_days * DAY_MS;
  const row: store.TokenizedValueRow = {
    tenant_id: ctx.tenantId,
    vault_id: vault.vault_id,
    token_id,
    sealed: key.seal(place(token_id, expires_at), value),
    created_at: ctx.now,
    expires_at,
  };
  ctx.record.describe({ token: token_id });
  return ctx.change(async (tx) => {
    // A value inserted into a vault after its purge would never be deleted.
    const held = await shareVault(tx, ctx.tenantId, vaultName);
    if (!isLive(held) || held.vault_id !== vault.vault_id) throw vaultNotFound();
    await store.insertToken(tx, row);
    return { token: token_id, expires_at: expires_at === null ? null : timestamp(expires_at) };
  });
}

export async function detokenize(ctx: Context, vaultName: string, token: string) {
  const { read: db } = ctx.database;
  const vault = await authorizedVault(ctx, db, vaultName);
  refuseInZeroKnowledge(vault, 'Tokenization');
  if (ctx.access.isConfinedIn(vaultName)) {
    const message = 'Tokens belong to the whole vault: a credential restricted to some of its paths cannot detokenize.';
    throw new CofferError('INSUFFICIENT_PRIVILEGE', message, { auditReason: 'confined to some paths' });
  }
  ctx.record.describe({ token });
  const row = await store.findToken(db, ctx.tenantId, vault.vault_id, token);
  if (row === undefined || (row.expires_at !== null && row.expires_at <= ctx.now))
    throw notFound('token in this vault');
  return { value: (await opened(ctx, vaultKeyPurpose(vault.vault_id), row)).toString('utf8') };
}

async function opened(ctx: Context, purpose: string, row: store.TokenizedValueRow): Promise<Buffer> {
  const { keyring } = ctx.kernel;
  const { tenant_id: tenantId, token_id, expires_at, sealed } = row;
  try {
    return await keyring.unseal(purpose, { tenantId, ...place(token_id, expires_at) }, sealed);
  } catch (error) {
    if (!(error instanceof UnsealError)) throw error;
    // Up to 0.4.0 the seal did not include the expiry.
    return keyring.unseal(purpose, { tenantId, ...place(token_id, null) }, sealed);
  }
}

/** The expiry is part of the seal: a token whose expiry was edited cannot be opened. */
function place(token: string, expiresAt: number | null) {
  return { table: 'tokenized_values', row: expiresAt === null ? token : `${token} until ${expiresAt}` };
}
