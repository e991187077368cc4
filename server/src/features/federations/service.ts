import { timestamp } from '../../kernel/base/clock.ts';
import { CofferError, invalidField, notFound } from '../../kernel/base/errors.ts';
import type { Body, Query } from '../../kernel/endpoint/declaration.ts';
import { nextNumber } from '../../kernel/limits/counters.ts';
import { refuseForbidden } from '../../kernel/outbound/configured-url.ts';
import { parseOutgoingUrl } from '../../kernel/outbound/http-client.ts';
import type { Context } from '../../kernel/request/context.ts';
import { refuseBeyondQuota } from '../../kernel/request/quotas.ts';
import { plainCursor, visiblePage } from '../../kernel/request/visible-page.ts';
import { type Tx, UniqueViolation } from '../../kernel/storage/database.ts';
import { raiseEpoch } from '../../kernel/storage/epochs.ts';
import { decodeCursor } from '../../kernel/wire/cursor.ts';
import { DELETED, type Deleted, LIST_LIMIT_DEFAULT } from '../../kernel/wire/wire.ts';
import { type ConnectionCertificates, existingConnection, refuseUnshareable } from '../app-connections/index.ts';
import { revokeTokensFrom } from '../app-connections/login/index.ts';
import { type ConnectionRow, connectionResources, lockConnection, numberOf } from '../app-connections/storage/index.ts';
import type * as contract from './contract.ts';
import { DEFAULTS, FEDERATIONS_MAX, type Federation, type ProviderName, readFederation } from './contract.ts';
import { providerNamed } from './providers.ts';
import * as store from './store.ts';
import { patternProblem } from './subject-pattern.ts';

const NUMBER_FORM = /^[1-9]\d{0,14}$/;
const LIST_CURSOR = new RegExp(`^${store.CURSOR_KIND}$`);
/** These claims have rules of their own. An exact value for one of them would mean something else than it seems to. */
const REGISTERED = ['iss', 'sub', 'aud', 'exp', 'nbf', 'iat', 'jti'];

type Fields = Omit<Body<typeof contract.createFederation>, 'name' | 'provider' | 'enabled'>;

/** How tokens name the federation that issued them. */
export function sourceOf(federationNo: number): string {
  return `federation ${federationNo}`;
}

export async function create(
  ctx: Context,
  id: string,
  body: Body<typeof contract.createFederation>,
): Promise<Federation> {
  ctx.access.requireUnrestricted();
  const connection = await shareableConnection(ctx, id);
  refuseOtherAudience(ctx, body.audience);
  const rules = rulesOf(body.provider, body);
  refuseForbiddenKeys(ctx, rules);
  return ctx.change(async (tx) => {
    const current = await lockConnection(tx, ctx.tenantId, connection.connection_no);
    if (current?.client_id !== connection.client_id) throw notFound('connection');
    const others = await store.federationsOf(tx, ctx.tenantId, current.connection_no, FEDERATIONS_MAX);
    refuseBeyondQuota(ctx, 'federations_per_connection', others.length);
    const row: store.FederationRow = {
      tenant_id: ctx.tenantId,
      connection_no: current.connection_no,
      federation_no: await nextNumber(tx, ctx.tenantId, 'federations'),
      name: body.name,
      provider: body.provider,
      ...rules,
      enabled: Number(body.enabled ?? DEFAULTS.enabled),
      revision: 1,
      created_by: ctx.principal.id,
      created_at: ctx.now,
      updated_at: ctx.now,
    };
    ctx.record.describe(described(row));
    await unlessTaken(store.insertFederation(tx, row));
    return toWire(ctx, row, connection);
  });
}

export async function list(ctx: Context, id: string, query: Query<typeof contract.listFederations>) {
  const connection = await existingConnection(ctx, id);
  const { connection_no } = connection;
  const ofThis = new RegExp(`^${connection_no}$`);
  const [, , after = '0'] = decodeCursor(await plainCursor(ctx, query.cursor), LIST_CURSOR, ofThis, NUMBER_FORM) ?? [];
  const limit = query.limit ?? LIST_LIMIT_DEFAULT;
  const found = await store.listFederations(ctx.database.read, ctx.tenantId, connection_no, {
    after: Number(after),
    limit,
  });
  // A federation is part of its connection, so the permission is checked on the connection.
  const resources = connectionResources(connection);
  const permissions = [readFederation.permission];
  const page = await visiblePage(ctx, found, { permissions, resources: () => resources });
  return { federations: page.rows.map((row) => toWire(ctx, row, connection)), next_cursor: page.next_cursor };
}

export async function read(ctx: Context, id: string, federationId: string): Promise<Federation> {
  const connection = await existingConnection(ctx, id);
  return toWire(ctx, await existing(ctx, connection, federationId), connection);
}

export async function update(
  ctx: Context,
  certificates: ConnectionCertificates,
  { connectionId, federationId }: { connectionId: string; federationId: string },
  body: Body<typeof contract.updateFederation>,
): Promise<Federation> {
  ctx.access.requireUnrestricted();
  const connection = await shareableConnection(ctx, connectionId);
  const known = await existing(ctx, connection, federationId);
  if (body.provider !== undefined && body.provider !== known.provider) {
    throw invalidField('/body/provider', 'never changes: delete the federation and create another');
  }
  refuseOtherAudience(ctx, body.audience);
  if (typeof body.jwks_url === 'string') {
    refuseBadUrl('/body/jwks_url', body.jwks_url);
  }
  return ctx.change(async (tx) => {
    const row = await store.lockFederation(tx, known);
    if (row === undefined) throw notFound('federation');
    const rules = rulesOf(row.provider, { ...fieldsOf(row), ...body });
    if (body.issuer !== undefined || body.jwks_url !== undefined) refuseForbiddenKeys(ctx, rules);
    const changed: store.FederationRow = {
      ...row,
      name: body.name ?? row.name,
      ...rules,
      enabled: Number(body.enabled ?? row.enabled === 1),
      revision: row.revision + 1,
      updated_at: ctx.now,
    };
    ctx.record.describe({ ...described(changed), changed: Object.keys(body) });
    await unlessTaken(store.updateFederation(tx, changed));
    await endIssued(ctx, tx, certificates, { connection, federation: row });
    return toWire(ctx, changed, connection);
  });
}

export async function remove(
  ctx: Context,
  certificates: ConnectionCertificates,
  id: string,
  federationId: string,
): Promise<Deleted> {
  const connection = await existingConnection(ctx, id);
  const known = await existing(ctx, connection, federationId);
  return ctx.change(async (tx) => {
    const row = await store.lockFederation(tx, known);
    if (row === undefined) throw notFound('federation');
    ctx.record.describe(described(row));
    await store.deleteFederation(tx, row);
    await endIssued(ctx, tx, certificates, { connection, federation: row });
    return DELETED;
  });
}

/** A changed federation may no longer accept everyone it accepted before, so the tokens and certificates it issued are revoked. */
async function endIssued(
  ctx: Context,
  tx: Tx,
  certificates: ConnectionCertificates,
  {
    connection: { client_id: clientId },
    federation: { connection_no, federation_no },
  }: { connection: ConnectionRow; federation: store.FederationRow },
): Promise<void> {
  const source = sourceOf(federation_no);
  await revokeTokensFrom(tx, ctx.tenantId, { connection_no, kind: 'federation', source }, ctx.now);
  const reason = 'its federation was changed or deleted';
  const serials = await certificates.revoke(tx, ctx.tenantId, { clientId, source }, { reason, at: ctx.now });
  for (const serial of serials) ctx.record.addEntry('cert_revoked', ctx.record.resource, { serial, reason });
  await raiseEpoch(tx, ctx.tenantId);
}

async function shareableConnection(ctx: Context, id: string): Promise<ConnectionRow> {
  const connection = await existingConnection(ctx, id);
  await refuseUnshareable(ctx, connection);
  if (connection.external_ca_pem !== null) {
    throw invalidField('/path/connection', 'uses an external CA, so this service cannot issue certificates for it');
  }
  return connection;
}

async function existing(ctx: Context, { connection_no }: ConnectionRow, id: string): Promise<store.FederationRow> {
  const key = { tenant_id: ctx.tenantId, connection_no, federation_no: Number(id) };
  const row = NUMBER_FORM.test(id) ? await store.findFederation(ctx.database.read, key) : undefined;
  if (row === undefined) throw notFound('federation');
  return row;
}

/** The keys are fetched from their own URL, or from the one that the issuer names. */
function refuseForbiddenKeys({ kernel }: Context, { issuer, jwks_url }: ReturnType<typeof rulesOf>): void {
  const [field, url] = jwks_url === null ? ['issuer', issuer] : ['jwks_url', jwks_url];
  refuseForbidden(kernel.outbound, `/body/${field}`, url);
}

/** Fills in what is known about the provider, and refuses rules that would let in more than they seem to. */
function rulesOf(name: ProviderName, fields: Fields) {
  const provider = providerNamed(name);
  const issuer = fields.issuer ?? provider.issuer;
  if (issuer === null) throw invalidField('/body/issuer', 'is required for this provider');
  refuseBadUrl('/body/issuer', issuer);
  if (provider.issuerForm?.test(issuer) === false) {
    throw invalidField('/body/issuer', 'is not an issuer of this provider: use the provider custom for others');
  }
  const jwksUrl = fields.jwks_url ?? provider.jwksUrl(issuer);
  if (jwksUrl !== null) refuseBadUrl('/body/jwks_url', jwksUrl);
  const claims = fields.claims ?? {};
  const registered = Object.keys(claims).find((claim) => REGISTERED.includes(claim));
  if (registered !== undefined)
    throw invalidField(`/body/claims/${registered}`, 'must be omitted: this claim is checked by a field of its own');
  const problem = patternProblem(fields.subject_pattern, Object.keys(claims), provider.ownerEnd);
  if (problem !== null) throw invalidField('/body/subject_pattern', problem);
  return {
    issuer,
    jwks_url: jwksUrl,
    audience: fields.audience ?? null,
    subject_pattern: fields.subject_pattern,
    claims: JSON.stringify(claims),
    token_ttl_seconds: fields.token_ttl_seconds ?? DEFAULTS.token_ttl_seconds,
  };
}

/** A row's own fields, as if they were sent again. `jwks_url` follows from the issuer unless it was given explicitly. */
function fieldsOf(row: store.FederationRow): Fields {
  const { issuer, jwks_url, audience, subject_pattern, token_ttl_seconds } = row;
  const isUsual = jwks_url === providerNamed(row.provider).jwksUrl(issuer);
  const claims = JSON.parse(row.claims) as Record<string, string | number | boolean>;
  return { issuer, jwks_url: isUsual ? null : jwks_url, audience, subject_pattern, token_ttl_seconds, claims };
}

function refuseOtherAudience(ctx: Context, audience: string | null | undefined): void {
  const refusal = typeof audience === 'string' ? ctx.kernel.addresses.refusalOfAudience(audience) : null;
  if (refusal !== null) throw invalidField('/body/audience', refusal);
}

function refuseBadUrl(pointer: string, text: string): void {
  const url = parseOutgoingUrl(text);
  if (url === null)
    throw invalidField(pointer, 'must be an https URL in normalized form, without user name or fragment');
  if (text.includes('?')) throw invalidField(pointer, 'must not have a query string');
}

async function unlessTaken(write: Promise<void>): Promise<void> {
  try {
    await write;
  } catch (error) {
    if (!(error instanceof UniqueViolation)) throw error;
    throw new CofferError(
      'ALREADY_EXISTS',
      'The connection already has a federation with this name: choose another name.',
    );
  }
}

function described({ federation_no, name, provider, issuer, subject_pattern }: store.FederationRow) {
  return { federation: federation_no, name, provider, issuer, subject_pattern };
}

function toWire(ctx: Context, row: store.FederationRow, connection: ConnectionRow): Federation {
  return {
    id: row.federation_no,
    app_connection_id: numberOf(connection),
    name: row.name,
    provider: row.provider,
    issuer: row.issuer,
    jwks_url: row.jwks_url,
    audience: row.audience ?? ctx.kernel.addresses.audience,
    subject_pattern: row.subject_pattern,
    claims: JSON.parse(row.claims) as Federation['claims'],
    token_ttl_seconds: row.token_ttl_seconds,
    enabled: row.enabled === 1,
    created_by: row.created_by,
    created_at: timestamp(row.created_at),
    updated_at: timestamp(row.updated_at),
  };
}
