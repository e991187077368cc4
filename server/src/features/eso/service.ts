import { literalResource, vaultResource } from '../../kernel/authz/pattern.ts';
import { timestamp } from '../../kernel/clock.ts';
import type { Context } from '../../kernel/context.ts';
import type { Query } from '../../kernel/endpoint.ts';
import { CofferError, invalidField } from '../../kernel/errors.ts';
import { LIST_LIMIT_DEFAULT } from '../../kernel/wire.ts';
import {
  isWithin,
  pathIn,
  reachOf,
  readRecorded,
  refuseInZeroKnowledge,
  type SecretById,
  type SecretReader,
  type SummaryRow,
  secretById,
  secretNotFound,
  secretResource,
  vaultWithin,
  visiblePage,
  type Wanted,
} from '../secrets/index.ts';
import { findVault, isLive, vaultNotFound } from '../vaults/index.ts';
import type * as contract from './contract.ts';

const READABLE: Wanted = ['eso:read'];

/**
 * The operator takes a 404 for "the secret is gone" and may remove it from a cluster: only what is deleted, where the caller may read, is one.
 * An id that nobody ever had is refused like one of somebody else's.
 */
export async function readById(ctx: Context, reader: SecretReader, query: Query<typeof contract.operatorSecretById>) {
  try {
    return await secretMeant(ctx, reader, query);
  } catch (error) {
    // In the same words for an id that nobody has and for one that others have.
    if (!(error instanceof CofferError) || error.code !== 'INSUFFICIENT_PRIVILEGE' || ctx.isAuthorized) throw error;
    throw noSuchId(error.auditReason ?? error.code);
  }
}

function noSuchId(auditReason: string): CofferError {
  const message = 'There is no secret with this id that you may read.';
  return new CofferError('INSUFFICIENT_PRIVILEGE', message, { auditReason });
}

async function secretMeant(ctx: Context, reader: SecretReader, query: Query<typeof contract.operatorSecretById>) {
  const place = await secretById(ctx.database.read, ctx.tenantId, query.id);
  if (place === undefined) {
    ctx.authorize(literalResource('secret', query.id));
    // A policy on everything allows even this: still nobody knows that there was such a secret.
    throw noSuchId('an id that no secret has');
  }
  if (place.isDeleted) {
    ctx.authorize(secretResource(place.vault, place.path), place);
    throw secretNotFound();
  }
  return read(ctx, reader, place.vault, place.path, query.version, place);
}

export async function readByName(
  ctx: Context,
  reader: SecretReader,
  query: Query<typeof contract.operatorSecretByName>,
) {
  return read(ctx, reader, query.vault, pathIn(query.name, '/query/name'), query.version);
}

async function read(
  ctx: Context,
  reader: SecretReader,
  vaultName: string,
  path: string,
  version: number | undefined,
  expected?: SecretById,
) {
  const { id, type, value, protection, ...shown } = await readRecorded(ctx, reader, vaultName, path, version).catch(
    refuseAbsentVersion,
  );
  // It was moved away, and another one put in its place, in between.
  if (expected !== undefined && expected.secretId !== id) throw secretNotFound();
  if (protection === 'fortress') {
    throw new CofferError('INSUFFICIENT_PRIVILEGE', 'A fortress secret is not served here: read it itself.', {
      auditReason: 'a fortress secret',
    });
  }
  const vault = await findVault(ctx.database.read, ctx.tenantId, vaultName);
  if (!isLive(vault)) throw vaultNotFound();
  refuseInZeroKnowledge(vault, 'Serving a value to a cluster');
  return { id, name: path, vault: vaultName, path, type, value, version: shown.version, updated_at: shown.updated_at };
}

/** Not a 404, on which the operator would remove a secret that is there. */
function refuseAbsentVersion(error: unknown): never {
  if (error instanceof CofferError && error.code === 'VERSION_NOT_FOUND')
    throw invalidField('/query/version', 'names a version that the secret does not have');
  throw error;
}

export async function list(ctx: Context, vaultName: string, query: Query<typeof contract.operatorVault>) {
  if (reachOf(ctx, vaultName, READABLE).length === 0) refuseEmptyReach(ctx, vaultName);
  const { vault, ranges } = await vaultWithin(ctx, vaultName, READABLE);
  const page = await visiblePage(ctx, {
    vault,
    ranges,
    filter: {},
    cursor: query.cursor,
    limit: query.limit ?? LIST_LIMIT_DEFAULT,
    isShown: (row) => row.protection === 'standard' && isWithin(ctx, vaultName, row, READABLE),
  });
  ctx.describe({ secrets: page.rows.length });
  return { vault: vaultName, secrets: page.rows.map((row) => listed(vaultName, row)), next_cursor: page.next_cursor };
}

/** Also who may ask about the vault itself: the operator takes an empty list for secrets that are gone. */
function refuseEmptyReach(ctx: Context, vault: string): never {
  ctx.authorize(vaultResource(vault));
  throw new CofferError('INSUFFICIENT_PRIVILEGE', 'Your credential permits eso:read on nothing in this vault.', {
    auditReason: 'eso:read: nothing in the vault',
  });
}

function listed(vault: string, { secret_id: id, path, type, version, updated_at }: SummaryRow) {
  return { id, name: path, vault, path, type, version, updated_at: timestamp(updated_at) };
}
