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

/** A trust anchor that cannot sign for anybody is better refused now than debugged later. */
export function refuseBadAuthorities(pem: string): void {
  const problem = externalCaProblem(pem);
  if (problem !== null) throw invalidField('/body/external_ca_pem', problem);
}

/**
 * Resolves the vaults that a connection is given. Giving a vault hands out its contents, as adding a member does, so it takes the same permission.
 * For a vault that the caller may not share, the response is the same whether it exists or not.
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

/** Reads by the External Secrets Operator are for machines only; they return what a person gets with this permission. */
const ALSO_READS = 'secrets:read';

/**
 * A deny also binds a person by way of a connection. What they are denied in any location of the connection, under whatever conditions, they can
 * neither give to it nor obtain with its credentials.
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
