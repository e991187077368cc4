import { RefusedCredential } from '../../kernel/auth/authentication.ts';
import type { Principal } from '../../kernel/auth/principal.ts';
import { type Ceiling, compileCeiling } from '../../kernel/authz/ceiling.ts';
import { ownPolicySize } from '../../kernel/authz/compiled-size.ts';
import { pathScope, pathScopeCost } from '../../kernel/authz/path-scope.ts';
import { compileActionPattern } from '../../kernel/authz/pattern.ts';
import { type CompiledPolicy, compileEach } from '../../kernel/authz/policy.ts';
import { notFound } from '../../kernel/base/errors.ts';
import { findTenant } from '../../kernel/integrity/tenant-rows.ts';
import type { RateOverrides } from '../../kernel/limits/rate-classes.ts';
import type { Context } from '../../kernel/request/context.ts';
import type { Reader } from '../../kernel/storage/database.ts';
import { tenantOfClient } from '../certificates/index.ts';
import { policiesOfConnection } from '../policies/index.ts';
import { isLive } from '../vaults/index.ts';
import { findVaultById } from '../vaults/storage/index.ts';
import { type ConnectionRow, findByClient } from './storage/connection-store.ts';

/** A connection with its current permissions, or the reason why it has none. */
export type ActingConnection = { principal: Principal; refusal: null } | { principal: null; refusal: string };

export async function actingConnection(
  db: Reader,
  row: ConnectionRow,
  credential: Pick<Principal, 'credential' | 'credentialId' | 'auditKey' | 'expiresAt'>,
): Promise<ActingConnection> {
  const tenant = await findTenant(db, row.tenant_id);
  if (tenant?.status !== 'active') return { principal: null, refusal: 'the tenant is suspended or deleted' };
  if (row.status !== 'active') return { principal: null, refusal: 'the connection is disabled' };
  const vaults = new Set(await vaultNames(db, row));
  const allowedPaths = JSON.parse(row.allowed_paths) as string[];
  const places = pathScope(vaults, allowedPaths, '/allowed_paths');
  const ceiling: Ceiling = {
    ...compileCeiling({ ip_allowlist: allowlistOf(row) ?? undefined }),
    places,
    environment: row.environment,
  };
  const scopeTexts = JSON.parse(row.scopes) as string[];
  const scopes = compileEach(scopeTexts, compileActionPattern, '/scopes');
  const own: CompiledPolicy = {
    name: 'role/app-connection',
    bytes: ownPolicySize(vaults.size, [...allowedPaths, ...scopeTexts]),
    cost: pathScopeCost(allowedPaths) + scopeTexts.length,
    statements: [{ sid: 'places', effect: 'allow', actions: scopes, resources: [places], condition: [] }],
    statementsFor(action) {
      return { allow: scopes.some((pattern) => pattern.matches(action)) ? this.statements : [], deny: [] };
    },
  };
  return {
    refusal: null,
    principal: {
      kind: 'app_connection',
      tenantId: row.tenant_id,
      tenantName: tenant.name,
      isOperator: tenant.is_operator === 1,
      plan: tenant.plan,
      tenantRates: JSON.parse(tenant.rate_overrides) as RateOverrides,
      id: row.client_id,
      name: row.name,
      displayName: row.name,
      role: null,
      tokenRates: {},
      ceilings: [ceiling],
      policies: [own, ...(await policiesOfConnection(db, row.tenant_id, row.client_id))],
      signedInAt: null,
      mfaAt: null,
      factorTrustedFrom: null,
      mustEnrol: false,
      ...credential,
    },
  };
}

/** All policies that apply to a connection, to evaluate what it could do. */
export async function connectionPolicies(ctx: Context, clientId: string): Promise<CompiledPolicy[]> {
  const { read } = ctx.database;
  const row = await findByClient(read, ctx.tenantId, clientId);
  if (row === undefined) throw notFound('connection');
  const credential = { credential: 'connection', credentialId: clientId, expiresAt: ctx.now } as const;
  return [...((await actingConnection(read, row, credential)).principal?.policies ?? [])];
}

export function vaultIdsOf(row: ConnectionRow): string[] {
  return JSON.parse(row.vault_ids) as string[];
}

export function allowlistOf(row: ConnectionRow): string[] | null {
  return row.ip_allowlist === null ? null : (JSON.parse(row.ip_allowlist) as string[]);
}

/** Names of the vaults that are not deleted. A name belongs to one vault until that vault is purged, which raises the epoch. */
export async function vaultNames(db: Reader, row: ConnectionRow): Promise<string[]> {
  const found = await Promise.all(vaultIdsOf(row).map((vaultId) => findVaultById(db, row.tenant_id, vaultId)));
  return found.filter((vault) => isLive(vault)).map((vault) => vault.name);
}

/** The owner of the credential, for the audit log. */
export function ownerOf(row: ConnectionRow, key = row.client_id) {
  return { tenantId: row.tenant_id, kind: 'app_connection', id: row.client_id, name: row.name, key };
}

/**
 * For a client id that no connection has. If one had it before, the refusal is recorded in the audit log of its tenant; otherwise only the id that
 * was tried is recorded.
 */
export async function unknownClient(db: Reader, clientId: string): Promise<RefusedCredential> {
  const { message } = invalidClient('');
  const tenantId = await tenantOfClient(db, clientId);
  const owner = tenantId && { tenantId, kind: 'app_connection', id: clientId, name: '', key: clientId };
  return new RefusedCredential('there is no such client', owner || null, message, { client_id: clientId });
}

/** The message is the same whatever is wrong; the audit log has the reason. */
export function invalidClient(reason: string, row?: ConnectionRow): RefusedCredential {
  return new RefusedCredential(
    reason,
    row === undefined ? null : ownerOf(row),
    'This credential matches no active connection: the connection was deleted or disabled, or X-Client-Id, X-Client-Secret or the client certificate is wrong or was replaced.',
  );
}
