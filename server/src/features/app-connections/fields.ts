import { X509Certificate } from 'node:crypto';
import { compileCidrs } from '../../kernel/authz/condition.ts';
import { placesIn } from '../../kernel/authz/places.ts';
import { PolicyError } from '../../kernel/authz/policy.ts';
import type { Context } from '../../kernel/context.ts';
import { CofferError, invalidField } from '../../kernel/errors.ts';
import { findVault, findVaultById, isLive, type VaultRow, vaultAttributes, vaultNotFound } from '../vaults/index.ts';

/** Certificates in `external_ca_pem`, at most. */
const AUTHORITIES_MAX = 4;
const PEM_BLOCK = /-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----/g;

export function refuseBadPaths(paths: readonly string[]): void {
  inBody(() => placesIn(new Set(), paths, '/allowed_paths'));
}

export function refuseBadAllowlist(allowlist: readonly string[]): void {
  inBody(() => compileCidrs(allowlist, '/ip_allowlist'));
}

function inBody(compile: () => unknown): void {
  try {
    compile();
  } catch (error) {
    if (error instanceof PolicyError) throw invalidField(`/body${error.pointer}`, error.reason);
    throw error;
  }
}

/** A trust anchor that can vouch for nobody, or that is not what it seems, is better refused now than wondered about later. */
export function refuseBadAuthorities(pem: string): void {
  const at = '/body/external_ca_pem';
  const blocks = pem.match(PEM_BLOCK) ?? [];
  if (blocks.length === 0 || blocks.length > AUTHORITIES_MAX || pem.replace(PEM_BLOCK, '').trim() !== '') {
    throw invalidField(at, `must be 1 to ${AUTHORITIES_MAX} certificates in PEM, and nothing else`);
  }
  for (const block of blocks) {
    let certificate: X509Certificate;
    try {
      certificate = new X509Certificate(block);
    } catch {
      throw invalidField(at, 'has a certificate that cannot be read');
    }
    if (!certificate.ca) throw invalidField(at, 'has a certificate that is not a CA');
  }
}

/**
 * The vaults a connection is given. Whoever gives them hands out what is in them, as with a member: it takes the same right. What the caller
 * may not share answers the same whether it exists or not.
 */
export async function vaultsToShare(
  ctx: Context,
  wanted: { vault?: string | undefined; vault_ids?: readonly string[] | undefined },
): Promise<VaultRow[]> {
  const { read } = ctx.database;
  const found: VaultRow[] = [];
  if (wanted.vault !== undefined) {
    const row = await findVault(read, ctx.tenantId, wanted.vault);
    found.push(shareable(ctx, wanted.vault, row));
  }
  for (const vaultId of wanted.vault_ids ?? []) {
    const row = await findVaultById(read, ctx.tenantId, vaultId);
    if (!found.some((one) => one.vault_id === vaultId)) found.push(shareable(ctx, row?.name ?? vaultId, row));
  }
  return found;
}

function shareable(ctx: Context, name: string, row: VaultRow | undefined): VaultRow {
  const known = isLive(row) ? row : undefined;
  if (!ctx.may('members:add', `vault/${name}`, vaultAttributes(known))) {
    throw new CofferError('INSUFFICIENT_PRIVILEGE', 'To give a vault to a connection you need members:add on it.', {
      auditReason: 'members:add on the vault of a connection',
    });
  }
  if (known === undefined) throw vaultNotFound();
  return known;
}
