import { invalidToken } from '../../kernel/auth/authentication.ts';
import { sha256 } from '../../kernel/crypto/digest.ts';
import { headerPart } from '../../kernel/http/headers.ts';
import { timestamp } from '../../kernel/platform/clock.ts';
import { CofferError } from '../../kernel/platform/errors.ts';
import type { Context } from '../../kernel/request/context.ts';
import type { Reader, Tx } from '../../kernel/storage/database.ts';
import { findProvider, lockProvider, type ProviderRow } from '../sign-on/index.ts';
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

/** Which attributes a caller wants (RFC 7644, 3.9). A sub-attribute stands for its whole attribute. */
export function projectionOf({ attributes, excludedAttributes }: ReadQuery): (attribute: string) => boolean {
  const wanted = attributes === undefined ? null : namesIn(attributes);
  const unwanted = excludedAttributes === undefined ? new Set<string>() : namesIn(excludedAttributes);
  return (attribute) => {
    const name = attribute.toLowerCase();
    if (ALWAYS.includes(name)) return true;
    return wanted === null ? !unwanted.has(name) : wanted.has(name);
  };
}

function namesIn(list: string): Set<string> {
  const names = list.split(',').map((name) => name.trim().toLowerCase());
  // The prefix of a schema ends with the last colon; its version has a dot.
  return new Set(
    names.map((name) =>
      name
        .slice(name.lastIndexOf(':') + 1)
        .split('.', 1)
        .join(),
    ),
  );
}

export function projected<R extends object>(resource: R, isWanted: (attribute: string) => boolean): R {
  return Object.fromEntries(Object.entries(resource).filter(([name]) => isWanted(name))) as R;
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

export function metaOf(
  { kernel }: Context,
  resourceType: 'User' | 'Group',
  id: string,
  { created_at, updated_at }: { created_at: number; updated_at: number },
  version: string,
) {
  const location = `${kernel.addresses.baseUrl}${BASE_PATH}/${resourceType}s/${id}`;
  const [created, lastModified] = [timestamp(created_at), timestamp(updated_at)];
  return { resourceType, created, lastModified, location, version };
}

export function setResourceHeaders(ctx: Context, meta: { location: string; version: string }): void {
  ctx.setHeader('ETag', meta.version);
  if (ctx.declaration.method === 'POST') ctx.setHeader('Location', meta.location);
}
