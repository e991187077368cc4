import { randomUUID } from 'node:crypto';
import { canonicalEnvironment } from '../../kernel/authz/environment.ts';
import { DAY_MS } from '../../kernel/base/clock.ts';
import { drawNumber } from '../../kernel/base/drawn-number.ts';
import { CofferError, invalidField, notFound } from '../../kernel/base/errors.ts';
import { sha256 } from '../../kernel/crypto/digest.ts';
import type { Body, Query } from '../../kernel/endpoint/declaration.ts';
import type { Announcer } from '../../kernel/feature/links.ts';
import type { Context } from '../../kernel/request/context.ts';
import { lockQuota, refuseBeyondQuota } from '../../kernel/request/quotas.ts';
import { type Items, plainCursor, visiblePage } from '../../kernel/request/visible-page.ts';
import { type Reader, type Tx, UniqueViolation } from '../../kernel/storage/database.ts';
import { raiseEpoch } from '../../kernel/storage/epochs.ts';
import { decodeCursor } from '../../kernel/wire/cursor.ts';
import { DELETED, type Deleted, LIST_LIMIT_DEFAULT } from '../../kernel/wire/wire.ts';
import type { connectionRemoved } from '../policies/index.ts';
import { policiesOfConnection } from '../policies/index.ts';
import { isLive } from '../vaults/index.ts';
import { findVaultById, type VaultRow } from '../vaults/storage/index.ts';
import { CLIENT_SECRET } from './client-secret.ts';
import type * as contract from './contract.ts';
import {
  CERTIFICATE_DAYS_DEFAULT,
  type Connection,
  readConnection,
  SCOPES_DEFAULT,
  SESSION_TTL_SECONDS_DEFAULT,
} from './contract.ts';
import {
  refuseDeniedScopes,
  refuseInvalidAllowlist,
  refuseInvalidExternalCa,
  refuseInvalidPaths,
  refuseUnshareableVault,
  vaultsToShare,
} from './fields.ts';
import { deleteTokensOf } from './login/token-store.ts';
import type { ConnectionCertificates, PreparedCertificate } from './ports.ts';
import { vaultIdsOf } from './principal.ts';
import * as proposal from './proposal.ts';
import * as store from './storage/connection-store.ts';
import { deniedThumbprintsOf, toWire } from './wire.ts';

const NUMBER_FORM = /^[1-9]\d{0,14}$/;
const LIST_CURSOR = new RegExp(`^${store.CURSOR_KIND}$`);

/** The certificate fields of a response when no certificate was issued. */
export const NO_CERTIFICATE = {
  certificate_signing_request: null,
  certificate: null,
  ca_chain: null,
  private_key: null,
};

export function shownCertificate(prepared: PreparedCertificate | null) {
  if (prepared === null) return NO_CERTIFICATE;
  const { certificate_signing_request, certificate, ca_chain, private_key } = prepared;
  return { certificate_signing_request, certificate, ca_chain, private_key };
}

export async function create(
  ctx: Context,
  certificates: ConnectionCertificates,
  body: Body<typeof contract.createConnection>,
) {
  ctx.access.requireUnrestricted();
  if (body.vault === undefined && body.vault_ids === undefined) {
    throw invalidField('/body/vault', 'or vault_ids is required: name the vaults of the connection');
  }
  refuseInvalidPaths(body.allowed_paths ?? []);
  refuseInvalidAllowlist(body.ip_allowlist ?? []);
  if (body.external_ca_pem !== undefined) refuseInvalidExternalCa(body.external_ca_pem);
  if (body.external_ca_pem !== undefined && body.csr_pem !== undefined) {
    throw invalidField('/body/csr_pem', 'must be omitted with external_ca_pem: that CA signs the certificates');
  }
  const vaults = await vaultsToShare(ctx, body);
  const { scopes = SCOPES_DEFAULT, allowed_paths = ['*'] } = body;
  await refuseDeniedScopes(ctx, vaults, { scopes, allowed_paths });
  const secret = CLIENT_SECRET.create();
  const clientId = randomUUID();
  const connectionNo = await drawNumber((number) => store.isNumberTaken(ctx.database.read, number));
  const prepared =
    body.external_ca_pem === undefined
      ? await certificates.prepare({
          tenantId: ctx.tenantId,
          clientId,
          connectionNo,
          ...(body.csr_pem !== undefined && { csrPem: body.csr_pem }),
          ttlMs: (body.certificate_ttl_days ?? CERTIFICATE_DAYS_DEFAULT) * DAY_MS,
        })
      : null;
  const row: store.ConnectionRow = {
    tenant_id: ctx.tenantId,
    connection_no: connectionNo,
    client_id: clientId,
    name: body.name,
    description: body.description ?? '',
    status: 'active',
    vault_ids: JSON.stringify(vaults.map((vault) => vault.vault_id)),
    allowed_paths: JSON.stringify(allowed_paths),
    scopes: JSON.stringify(scopes),
    ip_allowlist: body.ip_allowlist === undefined ? null : JSON.stringify(body.ip_allowlist),
    environment: body.environment === undefined ? null : canonicalEnvironment(body.environment),
    mtls_required: Number(body.mtls_required ?? true),
    require_dpop: Number(body.require_dpop ?? false),
    dpop_jkt: body.dpop_jkt ?? null,
    external_ca_pem: body.external_ca_pem ?? null,
    denied_thumbprints: listOrNull(body.denied_thumbprints, null),
    number: null,
    session_limit: body.concurrent_session_limit ?? null,
    session_action: body.concurrent_session_action ?? 'reject',
    session_ttl_seconds: body.concurrent_session_ttl_seconds ?? SESSION_TTL_SECONDS_DEFAULT,
    secret_hash: sha256(secret),
    secret_made_at: ctx.now,
    former_secret_hash: null,
    former_secret_until: null,
    created_by: ctx.principal.id,
    created_at: ctx.now,
    updated_at: ctx.now,
  };
  refuseUnusable(row);
  ctx.record.describe({ name: row.name, vaults: vaults.map((vault) => vault.name) });
  return ctx.change(async (tx) => {
    await lockQuota(tx, ctx.tenantId, 'app_connections');
    refuseBeyondQuota(ctx, 'app_connections', await store.countConnections(tx, ctx.tenantId));
    await unlessTaken(store.insertConnection(tx, row));
    if (prepared !== null) await certificates.insert(tx, prepared.row);
    if (vaults.some(isProduction)) await ctx.needsApproval(tx, proposal.toCreate(row, vaults));
    ctx.record.setResource(`app-connection/${connectionNo}`);
    ctx.record.describe({ client_id: clientId });
    if (prepared !== null) {
      ctx.record.addEntry('cert_issued', ctx.record.resource, { client_id: clientId });
    }
    const shown = toWire(row, vaults[0]?.name ?? null, ctx.kernel.addresses.certificateUrl);
    return { ...shown, client_secret: secret, ...shownCertificate(prepared) };
  });
}

function isProduction({ environment }: VaultRow): boolean {
  return environment === 'production';
}

/** Whether anyone who acts as this connection can read something in production. */
export async function reachesProduction(db: Reader, row: store.ConnectionRow): Promise<boolean> {
  return (await vaultsOf(db, row)).some(isProduction);
}

/** With client headers alone, a proof by an arbitrary key would prove nothing. */
function refuseUnusable(row: store.ConnectionRow): void {
  if (row.require_dpop === 1 && row.mtls_required === 0 && row.dpop_jkt === null) {
    throw invalidField('/body/dpop_jkt', 'is required if DPoP is required and a certificate is not');
  }
}

export async function list(ctx: Context, query: Query<typeof contract.listConnections>) {
  const [, after = '0'] = decodeCursor(await plainCursor(ctx, query.cursor), LIST_CURSOR, NUMBER_FORM) ?? [];
  const limit = query.limit ?? LIST_LIMIT_DEFAULT;
  const found = await store.listConnections(ctx.database.read, ctx.tenantId, Number(after), limit);
  const page = await visiblePage(ctx, found, CONNECTIONS);
  const app_connections = await Promise.all(page.rows.map((row) => described(ctx, ctx.database.read, row)));
  return { app_connections, next_cursor: page.next_cursor };
}

const CONNECTIONS: Items<store.ConnectionRow> = {
  permissions: [readConnection.permission],
  resources: store.resourcesOf,
};

export async function described(ctx: Context, db: Reader, row: store.ConnectionRow): Promise<Connection> {
  const [first = ''] = vaultIdsOf(row);
  const vault = await findVaultById(db, row.tenant_id, first);
  return toWire(row, isLive(vault) ? vault.name : null, ctx.kernel.addresses.certificateUrl);
}

/** Finds a connection by its number or its client id. */
export async function find(db: Reader, tenantId: string, text: string): Promise<store.ConnectionRow | undefined> {
  if (NUMBER_FORM.test(text)) return store.findByNumber(db, tenantId, Number(text));
  return store.findByClient(db, tenantId, text);
}

export async function existing(ctx: Context, text: string): Promise<store.ConnectionRow> {
  const row = await find(ctx.database.read, ctx.tenantId, text);
  if (row === undefined) throw notFound('connection');
  refuseDenied(ctx, row);
  // The audit log uses one name, whichever the caller used.
  ctx.record.setResource(`app-connection/${store.numberOf(row)}`);
  return row;
}

/** A deny on any name of the connection holds, whichever name the caller uses. */
export function refuseDenied(ctx: Context, row: store.ConnectionRow, action = ctx.declaration.permission): void {
  for (const resource of store.resourcesOf(row)) ctx.access.refuseDenied(action, resource);
}

export async function read(ctx: Context, text: string): Promise<Connection> {
  return described(ctx, ctx.database.read, await existing(ctx, text));
}

export async function update(
  ctx: Context,
  text: string,
  body: Body<typeof contract.updateConnection>,
): Promise<Connection> {
  ctx.access.requireUnrestricted();
  refuseInvalidPaths(body.allowed_paths ?? []);
  refuseInvalidAllowlist(body.ip_allowlist ?? []);
  if (typeof body.external_ca_pem === 'string') refuseInvalidExternalCa(body.external_ca_pem);
  const { connection_no } = await existing(ctx, text);
  return ctx.change(async (tx) => {
    const row = await store.lockConnection(tx, ctx.tenantId, connection_no);
    if (row === undefined) throw notFound('connection');
    const changed = changedRow(row, body, ctx.now);
    const isMore = mayGiveMore(row, body);
    if (isMore) {
      await refuseUnshareable(ctx, row);
      if (body.vault_ids !== undefined) await vaultsToShare(ctx, { vault_ids: body.vault_ids });
      await refuseDeniedScopes(ctx, await vaultsOf(ctx.database.read, changed), givenTo(changed));
    }
    refuseUnusable(changed);
    recordChanges(ctx, row, changed);
    await unlessTaken(store.updateConnection(tx, changed));
    await raiseEpoch(tx, ctx.tenantId);
    if (isMore && ((await reachesProduction(tx, changed)) || (await hasPolicies(tx, row)))) {
      await ctx.needsApproval(tx, await proposal.toChange(tx, row, changed));
    }
    return described(ctx, tx, changed);
  });
}

/** A policy was attached with the limits that its approver saw, and it can allow more than vaults. */
async function hasPolicies(tx: Tx, { tenant_id, client_id }: store.ConnectionRow): Promise<boolean> {
  return (await policiesOfConnection(tx, tenant_id, client_id)).length > 0;
}

/**
 * Disabling a connection or denying more certificates grants nothing, so neither waits for a second person. Other changes in the same request would
 * take effect once somebody enables the connection again.
 */
function mayGiveMore(row: store.ConnectionRow, body: Body<typeof contract.updateConnection>): boolean {
  const { status, denied_thumbprints: denied, ...rest } = body;
  if (denied !== undefined && deniedThumbprintsOf(row).some((thumbprint) => !denied.includes(thumbprint))) return true;
  return status === 'active' || Object.keys(rest).some((field) => !HARMLESS.has(field));
}

/** Fields that cannot extend what a connection may do, whatever they are set to. */
const HARMLESS: ReadonlySet<string> = new Set([
  'name',
  'description',
  'concurrent_session_limit',
  'concurrent_session_action',
  'concurrent_session_ttl_seconds',
]);

/** Includes deleted vaults that can be restored, since the connection would then have access again. Purged vaults are gone for good. */
async function vaultsOf(db: Reader, row: store.ConnectionRow): Promise<VaultRow[]> {
  const found = await Promise.all(vaultIdsOf(row).map((vaultId) => findVaultById(db, row.tenant_id, vaultId)));
  return found.filter((vault) => vault !== undefined);
}

function givenTo({ scopes, allowed_paths }: store.ConnectionRow) {
  return { scopes: JSON.parse(scopes) as string[], allowed_paths: JSON.parse(allowed_paths) as string[] };
}

/** Letting somebody else act as a connection hands out its vaults and policies, so it takes the same permissions as giving them to the connection. */
export async function refuseUnshareable(ctx: Context, row: store.ConnectionRow): Promise<void> {
  const { read } = ctx.database;
  const vaults = await vaultsOf(read, row);
  for (const vault of vaults) refuseUnshareableVault(ctx, vault.name, vault);
  await ctx.access.requireProofToGrant((name) => vaults.some((vault) => vault.name === name));
  await refuseDeniedScopes(ctx, vaults, givenTo(row));
  const attached = await policiesOfConnection(read, row.tenant_id, row.client_id);
  if (attached.every(({ name }) => ctx.access.may('policies:attach', `policy/${name}`))) return;
  throw new CofferError(
    'INSUFFICIENT_PRIVILEGE',
    'Letting others act as this connection requires policies:attach on each policy attached to it.',
    { auditReason: 'policies:attach on a policy of a connection' },
  );
}

function changedRow(
  row: store.ConnectionRow,
  body: Body<typeof contract.updateConnection>,
  now: number,
): store.ConnectionRow {
  const listOr = (list: readonly string[] | undefined, current: string) =>
    list === undefined ? current : JSON.stringify(list);
  const orCurrent = <T>(value: T | undefined, current: T): T => (value === undefined ? current : value);
  const flag = (value: boolean | undefined, current: number) => (value === undefined ? current : Number(value));
  return {
    ...row,
    name: body.name ?? row.name,
    description: body.description ?? row.description,
    status: body.status ?? row.status,
    vault_ids: listOr(body.vault_ids, row.vault_ids),
    allowed_paths: listOr(body.allowed_paths, row.allowed_paths),
    scopes: listOr(body.scopes, row.scopes),
    ip_allowlist: body.ip_allowlist === null ? null : listOrNull(body.ip_allowlist, row.ip_allowlist),
    environment:
      body.environment == null ? orCurrent(body.environment, row.environment) : canonicalEnvironment(body.environment),
    mtls_required: flag(body.mtls_required, row.mtls_required),
    require_dpop: flag(body.require_dpop, row.require_dpop),
    dpop_jkt: orCurrent(body.dpop_jkt, row.dpop_jkt),
    external_ca_pem: orCurrent(body.external_ca_pem, row.external_ca_pem),
    denied_thumbprints: listOrNull(body.denied_thumbprints, row.denied_thumbprints),
    session_limit: orCurrent(body.concurrent_session_limit, row.session_limit),
    session_action: body.concurrent_session_action ?? row.session_action,
    session_ttl_seconds: body.concurrent_session_ttl_seconds ?? row.session_ttl_seconds,
    updated_at: now,
  };
}

function listOrNull(list: readonly string[] | undefined, current: string | null): string | null {
  return list === undefined ? current : JSON.stringify(list);
}

/** Records the changes that people search for in the audit log by an action of their own. */
function recordChanges(ctx: Context, before: store.ConnectionRow, after: store.ConnectionRow): void {
  const changed = (Object.keys(after) as (keyof store.ConnectionRow)[]).filter(
    (field) => field !== 'updated_at' && after[field] !== before[field],
  );
  ctx.record.describe({ client_id: after.client_id, changed });
  const isChanged = (...fields: (keyof store.ConnectionRow)[]) => fields.some((field) => changed.includes(field));
  if (isChanged('require_dpop')) {
    ctx.record.addEntry('dpop_toggled', ctx.record.resource, { require_dpop: after.require_dpop === 1 });
  }
  if (isChanged('session_limit', 'session_action', 'session_ttl_seconds')) {
    ctx.record.addEntry('concurrent_policy_changed', ctx.record.resource, {
      limit: after.session_limit,
      action: after.session_action,
      ttl_seconds: after.session_ttl_seconds,
    });
  }
  const pathsBefore = JSON.parse(before.allowed_paths) as string[];
  const pathsAfter = JSON.parse(after.allowed_paths) as string[];
  for (const path of pathsAfter.filter((one) => !pathsBefore.includes(one))) {
    ctx.record.addEntry('path_added', ctx.record.resource, { path });
  }
  for (const path of pathsBefore.filter((one) => !pathsAfter.includes(one))) {
    ctx.record.addEntry('path_removed', ctx.record.resource, { path });
  }
}

export async function remove(
  ctx: Context,
  certificates: ConnectionCertificates,
  removed: Announcer<typeof connectionRemoved>,
  text: string,
): Promise<Deleted> {
  const { connection_no } = await existing(ctx, text);
  return ctx.change(async (tx) => {
    const row = await store.lockConnection(tx, ctx.tenantId, connection_no);
    if (row === undefined) throw notFound('connection');
    ctx.record.describe({ client_id: row.client_id, name: row.name });
    const serials = await certificates.revoke(
      tx,
      ctx.tenantId,
      { clientId: row.client_id },
      { reason: 'the connection was deleted', at: ctx.now },
    );
    for (const serial of serials) ctx.record.addEntry('cert_revoked', ctx.record.resource, { serial });
    await removed(tx, ctx.tenantId, row);
    await deleteTokensOf(tx, ctx.tenantId, connection_no);
    await store.deleteConnection(tx, ctx.tenantId, connection_no);
    await raiseEpoch(tx, ctx.tenantId);
    return DELETED;
  });
}

async function unlessTaken(write: Promise<void>): Promise<void> {
  try {
    await write;
  } catch (error) {
    if (!(error instanceof UniqueViolation)) throw error;
    throw new CofferError('ALREADY_EXISTS', 'A connection with this name already exists: choose another name.');
  }
}
