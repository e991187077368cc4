import type { ResourceAttributes } from '../../kernel/auth/call.ts';
import { couldDisclose, type Described } from '../../kernel/authz/disclosure.ts';
import { CofferError } from '../../kernel/base/errors.ts';
import type { Context } from '../../kernel/request/context.ts';
import { proofRequired } from '../../kernel/request/second-factor.ts';
import type { Tx } from '../../kernel/storage/database.ts';
import { isLive, vaultNotFound } from '../vaults/index.ts';
import { findVault, type VaultRow } from '../vaults/storage/index.ts';
import { type SecretLocation, secretResource } from './location.ts';
import { secretNotFound } from './not-found.ts';
import type { FoundSecret } from './reading/read-store.ts';
import type { SecretLoader } from './reading/secret-loader.ts';
import { findSecret, lockSecret } from './storage/secret-store.ts';
import type { SecretRow, StoredScores } from './storage/tables.ts';

export function attributesOf(row: Pick<SecretRow, 'environment' | 'tags'>): ResourceAttributes {
  return { environment: row.environment, tags: row.tags === '[]' ? NO_TAGS : (JSON.parse(row.tags) as string[]) };
}
const NO_TAGS: readonly string[] = [];

/**
 * Loads the vault in which a secret is used or created. Authorization runs first, so a caller without permission cannot learn whether the vault
 * exists.
 */
export async function vaultForSecrets(ctx: Context, name: string, authorize: (vault?: VaultRow) => void) {
  const row = await findVault(ctx.database.read, ctx.tenantId, name);
  const known = isLive(row) ? row : undefined;
  authorize(known);
  if (known === undefined) throw vaultNotFound();
  return known;
}

/** Returns the secret after authorizing the caller, synchronously if the loader has it cached. */
export function authorizedSecret(ctx: Context, loader: SecretLoader, vault: string, path: string) {
  ctx.access.refuseIfNeverAllowed(secretResource(vault, path));
  const found = loader.find(ctx, { tenantId: ctx.tenantId, vault, path });
  return found instanceof Promise
    ? found.then((later) => decidedSecret(ctx, later, vault, path))
    : decidedSecret(ctx, found, vault, path);
}

function decidedSecret(ctx: Context, found: FoundSecret | undefined, vault: string, path: string) {
  const live = found === undefined || found.status === 'deleted' ? undefined : found;
  const row = live === undefined || live.secret_id === null ? undefined : live;
  ctx.access.authorize(
    secretResource(vault, path),
    row === undefined ? { environment: live?.vault_environment } : attributesOf(row),
  );
  if (live === undefined) throw vaultNotFound();
  if (row === undefined) throw secretNotFound();
  return row;
}

/** No vault has this id, since it is not a valid one. */
export const NO_VAULT = '';

/** Authorizes the caller on the secret as it is before the transaction. `lockForChange` authorizes again on the locked row. */
export async function secretForChange(
  ctx: Context,
  vaultName: string,
  path: string,
  find: typeof findSecret = findSecret,
): Promise<{ vault: VaultRow; secret: SecretRow & StoredScores }> {
  ctx.access.refuseIfNeverAllowed(secretResource(vaultName, path));
  const row = await findVault(ctx.database.read, ctx.tenantId, vaultName);
  const vault = isLive(row) ? row : undefined;
  // The query also runs if there is no vault, so that response time does not reveal whether the vault exists.
  const secret = await find(ctx.database.read, ctx.tenantId, vault?.vault_id ?? NO_VAULT, path);
  authorizeSecret(ctx, { vault: vaultName, path }, vault, secret);
  if (vault === undefined) throw vaultNotFound();
  if (secret === undefined) throw secretNotFound();
  return { vault, secret };
}

export async function lockForChange(ctx: Context, tx: Tx, vault: VaultRow, path: string): Promise<SecretRow> {
  const row = await lockSecret(tx, ctx.tenantId, vault.vault_id, path);
  authorizeSecret(ctx, { vault: vault.name, path }, vault, row);
  if (row === undefined) throw secretNotFound();
  requireProof(ctx, row);
  return row;
}

function authorizeSecret(
  ctx: Context,
  at: SecretLocation,
  vault: VaultRow | undefined,
  secret: SecretRow | undefined,
): void {
  const attributes = secret === undefined ? { environment: vault?.environment } : attributesOf(secret);
  ctx.access.authorize(secretResource(at.vault, at.path), attributes);
}

/** A fortress secret requires a recent second factor, or a machine that presents both its client certificate and a DPoP proof. */
export function requireProof(ctx: Context, row: Pick<SecretRow, 'protection'>): void {
  if (row.protection !== 'fortress' || ctx.access.isFactorProven || (ctx.caller.proofs.mtls && ctx.caller.proofs.dpop))
    return;
  throw proofRequired('Access to this secret without mTLS and DPoP');
}

export function describedAs(vault: string, row: Pick<SecretRow, 'path' | 'environment' | 'tags'>): Described {
  return { resource: secretResource(vault, row.path), attributes: attributesOf(row) };
}

/** Every action that reveals a value by itself. Export, aggregate, search and compose require `secrets:read` besides their own action. */
const SHOWING = ['secrets:read', 'eso:read'];

/**
 * A caller without permission to read a value must not gain it by moving the secret, or by removing the tag that denies them access. The check uses
 * all policies of the principal, for any address and time: otherwise a token that cannot read could make the change for one that can.
 */
export function refuseDisclosure(ctx: Context, before: Described, after: Described): void {
  if (!ctx.access.decide(({ policies }) => couldDisclose(policies, SHOWING, before, after))) return;
  const message =
    'You cannot read this secret, and this change would let you: ask someone with secrets:read on it to make the change.';
  throw new CofferError('INSUFFICIENT_PRIVILEGE', message, { auditReason: 'secrets:read only after the change' });
}
