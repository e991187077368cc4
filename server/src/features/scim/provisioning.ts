import { invalidToken } from '../../kernel/auth/authentication.ts';
import { timestamp } from '../../kernel/base/clock.ts';
import { CofferError } from '../../kernel/base/errors.ts';
import { headerPart } from '../../kernel/base/headers.ts';
import { sha256 } from '../../kernel/crypto/digest.ts';
import type { Context } from '../../kernel/request/context.ts';
import type { Reader, Tx } from '../../kernel/storage/database.ts';
import { findProvider, lockProvider, type ProviderRow } from '../sign-on/storage/index.ts';
import { type Filter, parseFilter } from './filter.ts';
import type { Window } from './listing.ts';
import { BASE_PATH, COUNT_DEFAULT, COUNT_MAX, LIST_SCHEMA, type ListQuery, type ReadQuery } from './schemas.ts';
import type { Owner } from './user-store.ts';

/** What users and groups have in common: their provider, lists, versions, and the attributes that a caller wants. */

/** The provider of the token, and whose people and groups it manages. */
export interface Provisioner {
  provider: ProviderRow;
  owner: Owner;
}

/** Reads the provider under a lock, so that what it provisions changes one after the other. */
export async function lockedProvisioner(ctx: Context, tx: Tx): Promise<Provisioner> {
  return provisionerOf(ctx, await lockProvider(tx, { tenant_id: ctx.tenantId, name: ctx.principal.name }));
}

export async function provisioner(ctx: Context, db: Reader): Promise<Provisioner> {
  return provisionerOf(ctx, await findProvider(db, { tenant_id: ctx.tenantId, name: ctx.principal.name }));
}

function provisionerOf(ctx: Context, provider: ProviderRow | undefined): Provisioner {
  if (provider === undefined) throw invalidToken('the provider was deleted', ctx.principal);
  if (provider.enabled !== 1) {
    throw new CofferError(
      'INSUFFICIENT_PRIVILEGE',
      `The sign-on provider ${provider.name} is disabled, so it provisions nobody: an admin enables it with PATCH /auth/sso/providers/${provider.name}.`,
      { auditReason: 'the provider is disabled' },
    );
  }
  return { provider, owner: { tenant_id: ctx.tenantId, issuer_hash: sha256(provider.issuer) } };
}

export function filterOf({ filter }: ListQuery): Filter | null {
  return filter === undefined ? null : parseFilter(filter);
}

/** RFC 7644, 3.4.2.4: an index below 1 counts as 1, and a negative count as 0. */
export function windowOf({ startIndex = 1, count = COUNT_DEFAULT }: ListQuery): Window {
  return { offset: Math.max(1, startIndex) - 1, limit: Math.min(Math.max(0, count), COUNT_MAX) };
}

export function pageOf<R>(resources: R[], totalResults: number, { offset }: Window) {
  const itemsPerPage = resources.length;
  return { schemas: [LIST_SCHEMA], totalResults, startIndex: offset + 1, itemsPerPage, Resources: resources };
}

const ALWAYS = ['schemas', 'id'];

/** Which attributes a caller wants (RFC 7644, 3.9), by their names in lower case; those of sub-attributes have a dot. */
export interface Projection {
  wanted: ReadonlySet<string> | null;
  unwanted: ReadonlySet<string>;
}

export function projectionOf({ attributes, excludedAttributes }: ReadQuery): Projection {
  return {
    wanted: attributes === undefined ? null : namesIn(attributes),
    unwanted: excludedAttributes === undefined ? new Set() : namesIn(excludedAttributes),
  };
}

/** Whether any of the attribute is wanted. */
export function isWanted({ wanted, unwanted }: Projection, attribute: string): boolean {
  const name = attribute.toLowerCase();
  if (ALWAYS.includes(name)) return true;
  if (wanted === null) return !unwanted.has(name);
  return wanted.has(name) || [...wanted].some((one) => one.startsWith(`${name}.`));
}

function namesIn(list: string): Set<string> {
  const names = list.split(',').map((name) => name.trim().toLowerCase());
  // The prefix of a schema ends with the last colon; its version has a dot.
  return new Set(names.map((name) => name.slice(name.lastIndexOf(':') + 1)));
}

export function projected<R extends object>(resource: R, projection: Projection): R {
  const parts = Object.entries(resource).filter(([name]) => isWanted(projection, name));
  const shown = parts.map(([name, value]) => [name, withParts(name, value, projection)] as const);
  return Object.fromEntries(shown.filter(([, value]) => !isEmptyObject(value))) as R;
}

function isEmptyObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length === 0;
}

/** The sub-attributes that are wanted of an attribute, or of each of its elements. */
function withParts(name: string, value: unknown, { wanted, unwanted }: Projection): unknown {
  const prefix = `${name.toLowerCase()}.`;
  if (wanted?.has(prefix.slice(0, -1)) === true || ALWAYS.includes(name)) return value;
  const isShown = (part: string) => {
    const whole = prefix + part.toLowerCase();
    return wanted === null ? !unwanted.has(whole) : wanted.has(whole);
  };
  const partsOf = (one: unknown) =>
    typeof one === 'object' && one !== null
      ? Object.fromEntries(Object.entries(one).filter(([part]) => isShown(part)))
      : one;
  return Array.isArray(value) ? value.map(partsOf) : partsOf(value);
}

/** A weak ETag, because equal versions may be written differently. */
export function versionOf(...parts: readonly unknown[]): string {
  return `W/"${sha256(JSON.stringify(parts)).toString('hex').slice(0, 32)}"`;
}

export function isVersionIn(header: string, version: string): boolean {
  const strong = (tag: string) => headerPart(tag).replace(/^W\//, '');
  return headerPart(header) === '*' || header.split(',').some((tag) => strong(tag) === strong(version));
}

export function requireVersion({ ifMatch }: Context, version: string): void {
  if (ifMatch === undefined || isVersionIn(ifMatch, version)) return;
  throw new CofferError('VERSION_CONFLICT', 'The resource has another version since: read it again and repeat.');
}

type ResourceType = 'User' | 'Group';

export function locationOf({ addresses }: Context['kernel'], resourceType: ResourceType, id: string): string {
  return `${addresses.baseUrl}${BASE_PATH}/${resourceType}s/${id}`;
}

export function metaOf(
  { kernel }: Context,
  { resourceType, id, version }: { resourceType: ResourceType; id: string; version: string },
  { created_at, updated_at }: { created_at: number; updated_at: number },
) {
  const location = locationOf(kernel, resourceType, id);
  const [created, lastModified] = [timestamp(created_at), timestamp(updated_at)];
  return { resourceType, created, lastModified, location, version };
}

export function setResourceHeaders(ctx: Context, meta: { location: string; version: string }): void {
  ctx.setHeader('ETag', meta.version);
  if (ctx.declaration.method === 'POST') ctx.setHeader('Location', meta.location);
}
