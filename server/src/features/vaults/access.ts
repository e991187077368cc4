import type { ResourceAttributes } from '../../kernel/auth/call.ts';
import { vaultResource } from '../../kernel/authz/pattern.ts';
import { CofferError } from '../../kernel/base/errors.ts';
import type { Context } from '../../kernel/request/context.ts';
import type { Reader } from '../../kernel/storage/database.ts';
import * as store from './storage/vault-store.ts';

export function vaultNotFound(): CofferError {
  return new CofferError('VAULT_NOT_FOUND', 'There is no such vault.');
}

export function vaultAttributes(row: store.VaultRow | undefined): ResourceAttributes {
  return row === undefined ? {} : { environment: row.environment, tags: tagsOf(row) };
}

export function tagsOf(row: { tags: string }): string[] {
  return JSON.parse(row.tags) as string[];
}

export function isLive(row: store.VaultRow | undefined): row is store.VaultRow {
  return row !== undefined && row.status !== 'deleted';
}

/** Authorizes before revealing whether the vault exists, so a caller without permission learns nothing. */
export async function authorizedVault(ctx: Context, db: Reader, name: string): Promise<store.VaultRow> {
  ctx.access.refuseIfNeverAllowed(vaultResource(name));
  const row = await store.findVault(db, ctx.tenantId, name);
  const known = isLive(row) ? row : undefined;
  ctx.access.authorize(vaultResource(name), vaultAttributes(known));
  if (known === undefined) throw vaultNotFound();
  return known;
}

/** The audit entry of a zero-knowledge vault holds who, when and which operation, never what changed. */
export function whatChanged(vault: Pick<store.VaultRow, 'is_zero_knowledge'>, details: Record<string, unknown>) {
  return vault.is_zero_knowledge === 1 ? {} : details;
}
