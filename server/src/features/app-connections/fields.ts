import { compileCidrs } from '../../kernel/authz/condition.ts';
import { isDeniedWithin } from '../../kernel/authz/denial.ts';
import { pathScope } from '../../kernel/authz/path-scope.ts';
import { compileActionPattern } from '../../kernel/authz/pattern.ts';
import { PolicyError } from '../../kernel/authz/policy.ts';
import type { Context } from '../../kernel/context.ts';
import { CofferError, invalidField } from '../../kernel/errors.ts';
import { externalCaProblem } from '../certificates/index.ts';
import { findVault, findVaultById, isLive, type VaultRow, vaultAttributes, vaultNotFound } from '../vaults/index.ts';

export function refuseBadPaths(paths: readonly string[]): void {
  inBody(() => pathScope(new Set(), paths, '/allowed_paths'));
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

/** A trust anchor that can vouch for nobody is better refused now than wondered about later. */
export function refuseBadAuthorities(pem: string): void {
  const problem = externalCaProblem(pem);
  if (problem !== null) throw invalidField('/body/external_ca_pem', problem);
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
  await ctx.requireProofToGrant((name) => found.some((vault) => vault.name === name));
  return found;
}

function shareable(ctx: Context, name: string, row: VaultRow | undefined): VaultRow {
  const known = isLive(row) ? row : undefined;
  refuseUnshareableVault(ctx, name, known);
  if (known === undefined) throw vaultNotFound();
  return known;
}

export function refuseUnshareableVault(ctx: Context, name: string, known: VaultRow | undefined): void {
  if (ctx.may('members:add', `vault/${name}`, vaultAttributes(known))) return;
  throw new CofferError('INSUFFICIENT_PRIVILEGE', 'To give a vault to a connection you need members:add on it.', {
    auditReason: 'members:add on the vault of a connection',
  });
}

/** Reading by the External Secrets Operator is for machines alone; what it gives is what a person gets by the other. */
const ALSO_READS = 'secrets:read';

/**
 * A deny binds a person also by way of a connection: what they are denied, under whatever conditions, in a place of its own, they can
 * neither give to it nor take from it by its credentials.
 */
export function refuseDeniedScopes(
  ctx: Context,
  vaults: readonly VaultRow[],
  given: { scopes: readonly string[]; allowed_paths: readonly string[] },
): void {
  const names = vaults.map(({ name }) => name);
  const places = pathScope(new Set(names), given.allowed_paths, '/allowed_paths');
  const isDenied = (action: string) =>
    ctx.decide(({ policies }) => isDeniedWithin(policies, compileActionPattern(action), names, places));
  const scope = given.scopes.find((one) => isDenied(one) || (one.startsWith('eso:') && isDenied(ALSO_READS)));
  if (scope === undefined) return;
  throw new CofferError(
    'INSUFFICIENT_PRIVILEGE',
    `A policy denies you what ${scope} gives in some of the places of the connection: leave out the scope, or those places.`,
    { auditReason: `${scope}: denied in a place of the connection` },
  );
}
