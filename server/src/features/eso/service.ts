import { literalResource, vaultResource } from '../../kernel/authz/pattern.ts';
import { timestamp } from '../../kernel/base/clock.ts';
import { CofferError, invalidField } from '../../kernel/base/errors.ts';
import type { Query } from '../../kernel/endpoint/declaration.ts';
import type { Context } from '../../kernel/request/context.ts';
import { LIST_LIMIT_DEFAULT } from '../../kernel/wire/wire.ts';
import { parsePath, secretNotFound, secretResource } from '../secrets/index.ts';
import { type SecretReader, secretById, visibleSecrets } from '../secrets/reading/index.ts';
import type { SummaryRow } from '../secrets/storage/index.ts';
import { refuseInZeroKnowledge } from '../secrets/value/index.ts';
import { isLive, vaultNotFound } from '../vaults/index.ts';
import { findVault } from '../vaults/storage/index.ts';
import type * as contract from './contract.ts';

const READABLE = ['eso:read'];

/**
 * The operator takes a 404 to mean that the secret was deleted and may remove it from a cluster. Only a deleted secret that the caller may read is
 * therefore a 404. An id that never existed is refused like an id of somebody else.
 */
export async function readById(ctx: Context, reader: SecretReader, query: Query<typeof contract.operatorSecretById>) {
  try {
    return await secretMeant(ctx, reader, query);
  } catch (error) {
    // The message is the same for an id that does not exist and for one that belongs to others.
    if (!(error instanceof CofferError) || error.code !== 'INSUFFICIENT_PRIVILEGE' || ctx.access.isAuthorized)
      throw error;
    throw noSuchId(error.auditReason ?? error.code);
  }
}

function noSuchId(auditReason: string): CofferError {
  const message = 'No secret has this id, or you may not read it.';
  return new CofferError('INSUFFICIENT_PRIVILEGE', message, { auditReason });
}

async function secretMeant(ctx: Context, reader: SecretReader, query: Query<typeof contract.operatorSecretById>) {
  const found = await secretById(ctx.database.read, ctx.tenantId, query.id);
  if (found === undefined) {
    ctx.access.authorize(literalResource('secret', query.id));
    // A policy on everything allows even this, but nothing shows that such a secret ever existed.
    throw noSuchId('an id that no secret has');
  }
  if (found.isDeleted) {
    ctx.access.authorize(secretResource(found.vault, found.path), found);
    throw secretNotFound();
  }
  return read(ctx, reader, found, query);
}

export async function readByName(
  ctx: Context,
  reader: SecretReader,
  query: Query<typeof contract.operatorSecretByName>,
) {
  return read(ctx, reader, { vault: query.vault, path: parsePath(query.name, '/query/name') }, query);
}

async function read(
  ctx: Context,
  reader: SecretReader,
  { vault: vaultName, path, secretId }: { vault: string; path: string; secretId?: string },
  { version, property }: Pick<Query<typeof contract.operatorSecretById>, 'version' | 'property'>,
) {
  const { id, type, value, protection, ...shown } = await reader
    .readRecorded(ctx, { vault: vaultName, path }, version)
    .catch(refuseAbsentVersion);
  // The secret was moved meanwhile, and another one is at its path now.
  if (secretId !== undefined && secretId !== id) throw secretNotFound();
  if (protection === 'fortress') {
    throw new CofferError(
      'INSUFFICIENT_PRIVILEGE',
      'Fortress secrets are not served here: read this one with GET /v1/vaults/<vault>/secrets/<path>.',
      {
        auditReason: 'a fortress secret',
      },
    );
  }
  const vault = await findVault(ctx.database.read, ctx.tenantId, vaultName);
  if (!isLive(vault)) throw vaultNotFound();
  refuseInZeroKnowledge(vault, 'Serving a value to a cluster');
  const given = property === undefined ? value : memberOf(value, property);
  const { version: current, updated_at, parts } = shown;
  const served = { id, name: path, vault: vaultName, path, type, value: given, version: current, updated_at };
  return parts === undefined ? served : { ...served, parts };
}

/** A 404 would make the operator remove a secret that exists, and the whole value in place of a member would reach programs that expect the member. */
function memberOf(value: string, property: string): string {
  const whole = objectIn(value);
  if (whole === null) throw invalidField('/query/property', 'needs a secret whose value is a JSON object');
  const member = ownMember(whole, property) ?? property.split('.').reduce<unknown>(ownMember, whole);
  if (member === undefined) throw invalidField('/query/property', 'is not in the value of the secret');
  return typeof member === 'string' ? member : JSON.stringify(member);
}

function ownMember(value: unknown, name: string): unknown {
  const isObject = typeof value === 'object' && value !== null && Object.hasOwn(value, name);
  return isObject ? (value as Record<string, unknown>)[name] : undefined;
}

function objectIn(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null;
  } catch {
    return null;
  }
}

/** A 404 would make the operator remove a secret that exists. */
function refuseAbsentVersion(error: unknown): never {
  if (error instanceof CofferError && error.code === 'VERSION_NOT_FOUND')
    throw invalidField('/query/version', 'is not a version of the secret');
  throw error;
}

export async function list(ctx: Context, vaultName: string, query: Query<typeof contract.operatorVault>) {
  if (visibleSecrets.rangesIn(ctx, vaultName, READABLE).length === 0) refuseEmptyReach(ctx, vaultName);
  const { vault, ranges } = await visibleSecrets.vault(ctx, vaultName, READABLE);
  const isAllowed = visibleSecrets.isAllowedIn(ctx, vaultName, READABLE);
  const page = await visibleSecrets.page(ctx, {
    vault,
    ranges,
    filter: {},
    cursor: query.cursor,
    limit: query.limit ?? LIST_LIMIT_DEFAULT,
    isShown: (row) => row.protection === 'standard' && isAllowed(row),
  });
  ctx.record.describe({ secrets: page.rows.length });
  return { vault: vaultName, secrets: page.rows.map((row) => listed(vaultName, row)), next_cursor: page.next_cursor };
}

/** Callers with access to the vault itself are refused too, because the operator takes an empty list to mean that the secrets were deleted. */
function refuseEmptyReach(ctx: Context, vault: string): never {
  ctx.access.authorize(vaultResource(vault));
  throw new CofferError(
    'INSUFFICIENT_PRIVILEGE',
    'Your credential has no eso:read permission on any secret in this vault.',
    {
      auditReason: 'eso:read: nothing in the vault',
    },
  );
}

function listed(vault: string, { secret_id: id, path, type, version, updated_at }: SummaryRow) {
  return { id, name: path, vault, path, type, version, updated_at: timestamp(updated_at) };
}
