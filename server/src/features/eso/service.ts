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
 * The operator takes a 404 to mean that the secret was deleted and may remove it from a cluster. Only a deleted secret that the caller may read is
 * therefore a 404. An id that never existed is refused like an id of somebody else.
 */
export async function readById(ctx: Context, reader: SecretReader, query: Query<typeof contract.operatorSecretById>) {
  try {
    return await secretMeant(ctx, reader, query);
  } catch (error) {
    // The message is the same for an id that does not exist and for one that belongs to others.
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
    // A policy on everything allows even this, but nothing shows that such a secret ever existed.
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
  // The secret was moved meanwhile, and another one was put in its place.
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

/** A 404 would make the operator remove a secret that exists. */
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

/** Callers with access to the vault itself are refused too, because the operator takes an empty list to mean that the secrets were deleted. */
function refuseEmptyReach(ctx: Context, vault: string): never {
  ctx.authorize(vaultResource(vault));
  throw new CofferError('INSUFFICIENT_PRIVILEGE', 'Your credential permits eso:read on nothing in this vault.', {
    auditReason: 'eso:read: nothing in the vault',
  });
}

function listed(vault: string, { secret_id: id, path, type, version, updated_at }: SummaryRow) {
  return { id, name: path, vault, path, type, version, updated_at: timestamp(updated_at) };
}
