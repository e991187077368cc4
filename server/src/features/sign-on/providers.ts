import { timestamp } from '../../kernel/base/clock.ts';
import { CofferError, invalidField, notFound } from '../../kernel/base/errors.ts';
import type { Body, Query } from '../../kernel/endpoint/declaration.ts';
import type { Announcer } from '../../kernel/feature/links.ts';
import { lockCounter } from '../../kernel/limits/counters.ts';
import { refuseForbidden } from '../../kernel/outbound/configured-url.ts';
import { parseOutgoingUrl } from '../../kernel/outbound/http-client.ts';
import type { Context } from '../../kernel/request/context.ts';
import type { Kernel } from '../../kernel/request/kernel.ts';
import { plainCursor, visiblePage } from '../../kernel/request/visible-page.ts';
import { type Reader, type Tx, UniqueViolation } from '../../kernel/storage/database.ts';
import { raiseEpoch } from '../../kernel/storage/epochs.ts';
import { decodeCursor } from '../../kernel/wire/cursor.ts';
import { DELETED, type Deleted, LIST_LIMIT_DEFAULT, NAME_PATTERN } from '../../kernel/wire/wire.ts';
import { findGroupByIdOrName } from '../groups/storage/index.ts';
import type * as contract from './contract.ts';
import { readProvider } from './contract.ts';
import type { signOnProviderRemoved } from './links.ts';
import { isPublicIssuer } from './public-issuers.ts';
import { GROUPS_CLAIM_DEFAULT, type MappedRole, PROVIDERS_MAX, SCOPES_DEFAULT, type SsoProvider } from './schemas.ts';
import * as store from './storage/identity-store.ts';

const PURPOSE = 'sign-on';
const LIST_CURSOR = new RegExp(`^${store.CURSOR_KIND}$`);
/** These are other addresses under /auth/sso. */
const TAKEN_NAMES = ['providers', 'callback', 'session', 'sign-out'];
/** An admin may read the contents of every vault. */
const EVERY_VAULT = () => true;

type Fields = Partial<Omit<Body<typeof contract.updateProvider>, 'client_secret'>>;

export async function create(ctx: Context, body: Body<typeof contract.createProvider>): Promise<SsoProvider> {
  await requireGranter(ctx);
  if (TAKEN_NAMES.includes(body.name.toLowerCase())) {
    throw invalidField('/body/name', 'is reserved: choose another name');
  }
  refuseUnusable(body);
  refuseForbidden(ctx.kernel.outbound, '/body/issuer', body.issuer);
  refuseOpen(body.issuer, body.default_role ?? null);
  const key = { tenant_id: ctx.tenantId, name: body.name };
  const row: store.ProviderRow = {
    ...key,
    issuer: body.issuer,
    client_id: body.client_id,
    sealed_secret: await sealed(ctx.kernel, key, body.client_secret ?? null),
    scopes: JSON.stringify(body.scopes ?? SCOPES_DEFAULT),
    groups_claim: body.groups_claim ?? GROUPS_CLAIM_DEFAULT,
    role_mapping: JSON.stringify(body.role_mapping ?? {}),
    group_mapping: JSON.stringify(body.group_mapping ?? {}),
    default_role: body.default_role ?? null,
    required: Number(body.required ?? false),
    enabled: Number(body.enabled ?? true),
    revision: 1,
    created_by: ctx.principal.id,
    created_at: ctx.now,
    updated_at: ctx.now,
    subject_claim: body.subject_claim ?? 'sub',
  };
  ctx.record.describe(described(row));
  return ctx.change(async (tx) => {
    await lockCounter(tx, ctx.tenantId, 'sso providers');
    if ((await store.providersOf(tx, ctx.tenantId)).length >= PROVIDERS_MAX) {
      throw new CofferError('QUOTA_EXCEEDED', `A tenant has at most ${PROVIDERS_MAX} providers: delete one first.`);
    }
    await refuseUnknownGroups(ctx, tx, body.group_mapping);
    await unlessTaken(store.insertProvider(tx, row));
    const differences = [{ what: `sign-on provider ${row.name}`, before: null, after: described(row) }];
    await ctx.needsApproval(tx, { differences });
    return toWire(ctx, row);
  });
}

export async function list(ctx: Context, query: Query<typeof contract.listProviders>) {
  const form = new RegExp(NAME_PATTERN);
  const [, after = ''] = decodeCursor(await plainCursor(ctx, query.cursor), LIST_CURSOR, form) ?? [];
  const limit = query.limit ?? LIST_LIMIT_DEFAULT;
  const found = await store.listProviders(ctx.database.read, ctx.tenantId, after, limit);
  const page = await visiblePage(ctx, found, {
    permissions: [readProvider.permission],
    resources: ({ name }) => [`sso-provider/${name}`],
  });
  return { providers: page.rows.map((row) => toWire(ctx, row)), next_cursor: page.next_cursor };
}

export async function read(ctx: Context, name: string): Promise<SsoProvider> {
  return toWire(ctx, await existing(ctx, name));
}

export async function update(
  ctx: Context,
  name: string,
  body: Body<typeof contract.updateProvider>,
): Promise<SsoProvider> {
  ctx.access.requireUnrestricted();
  refuseUnusable(body);
  if (body.issuer !== undefined) refuseForbidden(ctx.kernel.outbound, '/body/issuer', body.issuer);
  const known = await existing(ctx, name);
  const isElsewhere = body.issuer !== undefined && body.issuer !== known.issuer;
  // Otherwise anyone who changes the issuer would be sent the secret.
  if (isElsewhere && body.client_secret === undefined && known.sealed_secret !== null) {
    throw invalidField('/body/client_secret', 'must be given with a new issuer');
  }
  const sealed_secret =
    body.client_secret === undefined ? undefined : await sealed(ctx.kernel, known, body.client_secret);
  return ctx.change(async (tx) => {
    const row = await store.lockProvider(tx, known);
    if (row === undefined) throw notFound('provider');
    if (row.revision !== known.revision) {
      throw new CofferError('IN_USE', 'The provider was changed concurrently: read it again and retry.');
    }
    await refuseUnknownGroups(ctx, tx, body.group_mapping);
    const changed: store.ProviderRow = {
      ...row,
      ...changesOf(body),
      ...(sealed_secret !== undefined && { sealed_secret }),
      revision: row.revision + 1,
      updated_at: ctx.now,
    };
    // Disabling it, or taking entries out of its mappings, is possible in any case.
    if (body.issuer !== undefined || body.default_role !== undefined) refuseOpen(changed.issuer, changed.default_role);
    ctx.record.describe({ ...described(changed), changed: Object.keys(body) });
    await store.updateProvider(tx, changed);
    // SCIM tokens are for the people of one issuer.
    if (isElsewhere) await raiseEpoch(tx, ctx.tenantId);
    const after = { ...described(changed), has_new_secret: sealed_secret !== undefined };
    const differences = [{ what: `sign-on provider ${name}`, before: described(row), after }];
    const ownerMayAct = onlyTakesAway(row, changed, Object.keys(body));
    if (!ownerMayAct) await ctx.access.requireProofToGrant(EVERY_VAULT);
    await ctx.needsApproval(tx, { basis: store.stateOf(row), differences, ownerMayAct });
    return toWire(ctx, changed);
  });
}

/** What an owner can do at once to a provider that somebody else controls: disable it, and take entries out of its mappings. */
const STOPPING: readonly string[] = ['enabled', 'role_mapping', 'group_mapping', 'default_role'];

function onlyTakesAway(before: store.ProviderRow, after: store.ProviderRow, fields: readonly string[]): boolean {
  if (!fields.every((field) => STOPPING.includes(field)) || after.enabled > before.enabled) return false;
  const isDefaultLess = after.default_role === before.default_role || after.default_role === null;
  const mappings = ['role_mapping', 'group_mapping'] as const;
  return isDefaultLess && mappings.every((mapping) => isPartOf(after[mapping], before[mapping]));
}

function isPartOf(after: string, before: string): boolean {
  const current = new Map(Object.entries(JSON.parse(before) as Record<string, string>));
  return Object.entries(JSON.parse(after) as Record<string, string>).every(([group, to]) => current.get(group) === to);
}

export async function remove(
  ctx: Context,
  removed: Announcer<typeof signOnProviderRemoved>,
  name: string,
): Promise<Deleted> {
  ctx.access.requireUnrestricted();
  const known = await existing(ctx, name);
  return ctx.change(async (tx) => {
    const row = await store.lockProvider(tx, known);
    if (row === undefined) throw notFound('provider');
    ctx.record.describe(described(row));
    await removed(tx, ctx.tenantId, name);
    await store.deleteProvider(tx, row);
    const differences = [{ what: `sign-on provider ${name}`, before: described(row), after: null }];
    await ctx.needsApproval(tx, { basis: store.stateOf(row), differences });
    return DELETED;
  });
}

/** Whether people of the tenant can log in only with a provider, except users who are exempt. */
export async function requiresSignOn(db: Reader, tenantId: string): Promise<boolean> {
  return (await store.providersOf(db, tenantId)).some(({ enabled, required }) => enabled === 1 && required === 1);
}

export async function clientSecretOf(kernel: Pick<Kernel, 'keyring'>, row: store.ProviderRow): Promise<string | null> {
  if (row.sealed_secret === null) return null;
  return (await kernel.keyring.unseal(PURPOSE, placeOf(row), row.sealed_secret)).toString('utf8');
}

async function sealed(
  kernel: Pick<Kernel, 'keyring'>,
  key: store.ProviderKey,
  secret: string | null,
): Promise<Buffer | null> {
  return secret === null ? null : kernel.keyring.seal(PURPOSE, placeOf(key), Buffer.from(secret, 'utf8'));
}

function placeOf({ tenant_id, name }: store.ProviderKey) {
  return { tenantId: tenant_id, table: 'sso_providers', row: name };
}

/** A provider can make anybody an admin. */
async function requireGranter(ctx: Context): Promise<void> {
  ctx.access.requireUnrestricted();
  await ctx.access.requireProofToGrant(EVERY_VAULT);
}

function refuseUnusable({ issuer, scopes }: Pick<Fields, 'issuer' | 'scopes'>): void {
  if (issuer !== undefined) {
    const url = parseOutgoingUrl(issuer);
    if (url === null || url.search !== '') {
      throw invalidField('/body/issuer', 'must be an https URL in its usual spelling, without a query');
    }
  }
  if (scopes !== undefined && !scopes.includes('openid')) throw invalidField('/body/scopes', 'must contain openid');
}

/** Otherwise anybody who can make an account at the issuer comes in. */
function refuseOpen(issuer: string, defaultRole: MappedRole | null): void {
  if (defaultRole === null || !isPublicIssuer(issuer)) return;
  throw invalidField(
    '/body/default_role',
    'must be null for this issuer, at which anybody can have an account: name a claim and its values instead, such as "groups_claim": "hd" and "role_mapping": {"example.com": "member"} for one domain of Google',
  );
}

async function refuseUnknownGroups(ctx: Context, tx: Tx, mapping: Record<string, string> | undefined): Promise<void> {
  for (const name of new Set(Object.values(mapping ?? {}))) {
    if ((await findGroupByIdOrName(tx, ctx.tenantId, name)) !== undefined) continue;
    throw invalidField('/body/group_mapping', 'names a group that does not exist: create it first');
  }
}

function changesOf(body: Fields): Partial<store.ProviderRow> {
  const { scopes, role_mapping, group_mapping, required, enabled, issuer, client_id, groups_claim, default_role } =
    body;
  return {
    ...(issuer !== undefined && { issuer }),
    ...(client_id !== undefined && { client_id }),
    ...(groups_claim !== undefined && { groups_claim }),
    ...(default_role !== undefined && { default_role }),
    ...(scopes !== undefined && { scopes: JSON.stringify(scopes) }),
    ...(role_mapping !== undefined && { role_mapping: JSON.stringify(role_mapping) }),
    ...(group_mapping !== undefined && { group_mapping: JSON.stringify(group_mapping) }),
    ...(required !== undefined && { required: Number(required) }),
    ...(enabled !== undefined && { enabled: Number(enabled) }),
  };
}

async function existing(ctx: Context, name: string): Promise<store.ProviderRow> {
  const row = await store.findProvider(ctx.database.read, { tenant_id: ctx.tenantId, name });
  if (row === undefined) throw notFound('provider');
  return row;
}

async function unlessTaken(write: Promise<void>): Promise<void> {
  try {
    await write;
  } catch (error) {
    if (!(error instanceof UniqueViolation)) throw error;
    throw new CofferError('ALREADY_EXISTS', 'A provider with this name already exists: choose another name.');
  }
}

/** For the audit log and for approvers: everything but the secret. */
function described(row: store.ProviderRow) {
  return {
    name: row.name,
    issuer: row.issuer,
    client_id: row.client_id,
    scopes: JSON.parse(row.scopes) as string[],
    subject_claim: row.subject_claim ?? 'sub',
    groups_claim: row.groups_claim,
    role_mapping: JSON.parse(row.role_mapping) as Record<string, MappedRole>,
    group_mapping: JSON.parse(row.group_mapping) as Record<string, string>,
    default_role: row.default_role,
    required: row.required === 1,
    enabled: row.enabled === 1,
  };
}

/**
 * Where the provider sends a person back. No two providers share it, in all tenants: a provider that leads people on to another one gets no code of
 * that one, because such an answer comes in at another address than the sign-in was begun for (RFC 9700, 4.4.2).
 */
export function redirectUri({ addresses }: Pick<Kernel, 'addresses'>, key: store.ProviderKey): string {
  return `${addresses.baseUrl}${callbackPath(key)}`;
}

export function callbackPath({ tenant_id, name }: store.ProviderKey): string {
  return `/auth/sso/callback/${encodeURIComponent(tenant_id)}/${encodeURIComponent(name)}`;
}

/** Where the provider sends a person who signed out there. */
export function signedOutUri({ addresses }: Pick<Kernel, 'addresses'>): string {
  return `${addresses.baseUrl}/`;
}

function backchannelLogoutUri({ kernel, principal }: Context, name: string): string {
  const query = `?tenant=${encodeURIComponent(principal.tenantName)}`;
  return `${kernel.addresses.baseUrl}/auth/sso/${encodeURIComponent(name)}/backchannel-logout${query}`;
}

function toWire(ctx: Context, row: store.ProviderRow): SsoProvider {
  const { kernel } = ctx;
  return {
    ...described(row),
    has_client_secret: row.sealed_secret !== null,
    redirect_uri: redirectUri(kernel, row),
    post_logout_redirect_uri: signedOutUri(kernel),
    backchannel_logout_uri: backchannelLogoutUri(ctx, row.name),
    created_by: row.created_by,
    created_at: timestamp(row.created_at),
    updated_at: timestamp(row.updated_at),
  };
}
