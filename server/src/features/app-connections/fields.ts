import { compileCidrs } from '../../kernel/authz/condition.ts';
import { isDeniedWithin } from '../../kernel/authz/denial.ts';
import { MAX_SCOPE_COST } from '../../kernel/authz/limits.ts';
import { pathScope, pathScopeCost } from '../../kernel/authz/path-scope.ts';
import { compileActionPattern } from '../../kernel/authz/pattern.ts';
import { PolicyError } from '../../kernel/authz/policy.ts';
import { CofferError, invalidField } from '../../kernel/base/errors.ts';
import type { Context } from '../../kernel/request/context.ts';
import { externalCaProblem } from '../certificates/index.ts';
import { isLive, vaultAttributes, vaultNotFound } from '../vaults/index.ts';
import { findVault, findVaultById, type VaultRow } from '../vaults/storage/index.ts';

export function refuseInvalidPaths(paths: readonly string[]): void {
  rethrowAsInvalidField(() => pathScope(new Set(), paths, '/allowed_paths'));
  const cost = pathScopeCost(paths);
  if (cost <= MAX_SCOPE_COST) return;
  const reason = `would take ${cost} comparisons for each decision, and ${MAX_SCOPE_COST} are allowed: use fewer paths with ** or * in the middle`;
  throw invalidField('/body/allowed_paths', reason);
}

export function refuseInvalidAllowlist(allowlist: readonly string[]): void {
  rethrowAsInvalidField(() => compileCidrs(allowlist, '/ip_allowlist'));
}

function rethrowAsInvalidField(compile: () => unknown): void {
  try {
    compile();
  } catch (error) {
    if (error instanceof PolicyError) throw invalidField(`/body${error.pointer}`, error.reason);
    throw error;
  }
}

/** A CA certificate that cannot issue certificates is rejected here: otherwise only failed logins would reveal it later. */
export function refuseInvalidExternalCa(pem: string): void {
  const problem = externalCaProblem(pem);
  if (problem !== null) throw invalidField('/body/external_ca_pem', problem);
}

/**
 * Resolves the vaults that a connection gets access to. This discloses their contents, as adding a member does, so it requires the same permission.
 * For a vault that the caller may not share, the response is the same whether it exists or not.
 */
export async function vaultsToShare(
  ctx: Context,
  requested: { vault?: string | undefined; vault_ids?: readonly string[] | undefined },
): Promise<VaultRow[]> {
  const { read } = ctx.database;
  const found: VaultRow[] = [];
  if (requested.vault !== undefined) {
    const row = await findVault(read, ctx.tenantId, requested.vault);
    found.push(shareable(ctx, requested.vault, row));
  }
  for (const vaultId of requested.vault_ids ?? []) {
    const row = await findVaultById(read, ctx.tenantId, vaultId);
    if (!found.some((one) => one.vault_id === vaultId)) found.push(shareable(ctx, row?.name ?? vaultId, row));
  }
  await ctx.access.requireProofToGrant((name) => found.some((vault) => vault.name === name));
  return found;
}

function shareable(ctx: Context, name: string, row: VaultRow | undefined): VaultRow {
  const vault = isLive(row) ? row : undefined;
  refuseUnshareableVault(ctx, name, vault);
  if (vault === undefined) throw vaultNotFound();
  return vault;
}

export function refuseUnshareableVault(ctx: Context, name: string, vault: VaultRow | undefined): void {
  if (ctx.access.may('members:add', `vault/${name}`, vaultAttributes(vault))) return;
  throw new CofferError(
    'INSUFFICIENT_PRIVILEGE',
    'Giving a connection access to a vault requires members:add on the vault: ask a manager of the vault or an administrator.',
    {
      auditReason: 'members:add on the vault of a connection',
    },
  );
}

/** Only machines have `eso:` scopes. They allow reading the same values as this permission, so denying it denies them too. */
const ESO_EQUIVALENT = 'secrets:read';

/**
 * A person must not bypass a deny through a connection. If they are denied an action on any vault or path of the connection, under whatever
 * conditions, they can neither grant it to the connection nor obtain credentials that have it.
 */
export async function refuseDeniedScopes(
  ctx: Context,
  vaults: readonly VaultRow[],
  granted: { scopes: readonly string[]; allowed_paths: readonly string[] },
): Promise<void> {
  const names = vaults.map(({ name }) => name);
  const scopedPaths = pathScope(new Set(names), granted.allowed_paths, '/allowed_paths');
  const isDenied = (action: string) =>
    ctx.access.decideInSlices(({ policies }) =>
      isDeniedWithin(policies, compileActionPattern(action), names, scopedPaths),
    );
  for (const scope of granted.scopes) {
    if (await isDenied(scope)) throw deniedScope(scope);
    if (scope.startsWith('eso:') && (await isDenied(ESO_EQUIVALENT))) throw deniedScope(scope);
  }
}

function deniedScope(scope: string): CofferError {
  return new CofferError(
    'INSUFFICIENT_PRIVILEGE',
    `A policy denies you what the scope ${scope} allows in some of the connection's vaults or paths: remove the scope, or those vaults or paths.`,
    { auditReason: `${scope}: denied in a place of the connection` },
  );
}
