import { randomInt } from 'node:crypto';
import { canonicalEnvironment } from '../../kernel/authz/environment.ts';
import { couldEverAllow } from '../../kernel/authz/evaluate.ts';
import { timestamp } from '../../kernel/clock.ts';
import type { Context } from '../../kernel/context.ts';
import { type Body, Preserialized } from '../../kernel/endpoint.ts';
import { CofferError, invalidField } from '../../kernel/errors.ts';
import { parseSecretPath } from '../../kernel/http/secret-path.ts';
import { newId } from '../../kernel/ids.ts';
import type { Principal } from '../../kernel/principal.ts';
import { type Tx, UniqueViolation } from '../../kernel/storage/database.ts';
import { DELETED, NAME_PATTERN } from '../../kernel/wire.ts';
import { countSecrets, isLive, lockVault, type VaultRow, vaultNotFound, whatChanged } from '../vaults/index.ts';
import {
  attributesOf,
  authorizedSecret,
  authorOf,
  describedAs,
  lockForChange,
  pathIn,
  refuseDisclosure,
  refuseWhileRotating,
  requireProof,
  requireVersion,
  secretForChange,
  secretNotFound,
  secretResource,
  vaultForSecrets,
} from './access.ts';
import type * as contract from './contract.ts';
import type { Rotation, Secret } from './contract.ts';
import { findDeleted, lockDeleted } from './deleted-store.ts';
import { environmentIn } from './environment-rules.ts';
import type { ReadRow } from './read-store.ts';
import type { SecretReader } from './reading.ts';
import { keptMs } from './retention.ts';
import { lastRotation, newValue, refuseBadRotation } from './rotation.ts';
import { nextRotation } from './schedule.ts';
import { openNow, openValue, type SealedValue, type Sealer, sealerFor } from './sealing.ts';
import * as store from './store.ts';
import { refuseBadValue } from './values.ts';
import { appendVersion, insertFirst, tagPlace } from './versions.ts';
import { mergedMetadata, secretOf, storedMetadata, summaryOf, wordsWithValue } from './wire.ts';

const TYPE_DEFAULT = 'generic';
/** Integer ids are random: writers do not contend for a counter, and ids cannot be enumerated. */
const SECRET_NO_MAX = 2 ** 48 - 1;

export function newSecretNo(): number {
  return randomInt(1, SECRET_NO_MAX);
}

export async function create(
  ctx: Context,
  vaultName: string,
  body: Body<typeof contract.createSecret>,
): Promise<Secret> {
  const path = pathIn(body.path, '/body/path');
  const { metadata, tags } = storedMetadata(body.metadata);
  const asked = body.environment === undefined ? undefined : canonicalEnvironment(body.environment);
  ctx.refuseIfNeverAllowed(secretResource(vaultName, path));
  const vault = await vaultForSecrets(ctx, vaultName, (known) =>
    ctx.authorize(secretResource(vaultName, path), { environment: asked ?? known?.environment, tags }),
  );
  const { environment, isPromoted } = environmentIn(
    canonicalEnvironment(vault.environment),
    asked,
    body.promote === true,
  );
  const type = body.type ?? TYPE_DEFAULT;
  const protection = body.protection ?? 'standard';
  requireProof(ctx, { protection });
  const value = body.value ?? newValue(vault, type, body.generator ?? body.rotation?.generator);
  refuseBadValue(vault, type, value, '/body/value');
  if (body.rotation !== undefined) refuseBadRotation(vault, type, body.rotation, '/body/rotation');

  const sealer = await sealerFor(ctx.kernel, vault);
  const identity = { secret_id: newId('sec', ctx.now), protection };
  const row: store.SecretRow = {
    tenant_id: ctx.tenantId,
    vault_id: vault.vault_id,
    deleted_no: 0,
    path,
    ...identity,
    secret_no: newSecretNo(),
    type,
    environment,
    version: 1,
    metadata,
    tags: JSON.stringify(tags),
    rotation: body.rotation === undefined ? null : JSON.stringify(body.rotation),
    rotation_id: null,
    rotated_at: null,
    next_rotation_at: nextRotation(body.rotation ?? null, ctx.now),
    created_at: ctx.now,
    updated_at: ctx.now,
    deleted_at: null,
    ...sealer.seal(identity, 1, value),
  };
  ctx.describe({ secret: row.secret_id, version: 1, ...whatChanged(vault, { type }) });
  return ctx.change(async (tx) => {
    await lockLive(tx, vault);
    const operation = isPromoted ? 'promote' : 'create';
    await addSecret(tx, row, { operation, reason: body.reason ?? '' }, ctx);
    return secretOf(vaultName, row);
  });
}

/** Also used for secrets copied or imported into a vault. The caller has locked the vault. */
export async function addSecret(
  tx: Tx,
  row: store.SecretRow,
  how: { operation: 'create' | 'promote' | 'copy'; reason: string },
  ctx: Context,
): Promise<void> {
  try {
    await insertFirst(tx, row, { ...how, author: authorOf(ctx) }, ctx.now);
  } catch (error) {
    throw error instanceof UniqueViolation ? alreadyExists() : error;
  }
  await countSecrets(tx, row.tenant_id, row.vault_id, 1);
}

export function alreadyExists(): CofferError {
  return new CofferError('SECRET_ALREADY_EXISTS', 'There is a secret at this path: change it with PUT.');
}

/** Locks the vault and refuses one that was deleted, or purged and recreated under the same name, since the caller was authorized on it. */
export async function lockLive(tx: Tx, vault: VaultRow): Promise<void> {
  const now = await lockVault(tx, vault.tenant_id, vault.name);
  if (!isLive(now) || now.vault_id !== vault.vault_id) throw vaultNotFound();
}

const VAULT_NAME = new RegExp(NAME_PATTERN);

/**
 * Sends no query for a caller who could never be allowed (see `Context.refuseIfNeverAllowed`), nor for a malformed vault name or path, which is
 * refused later: a single NUL would make PostgreSQL reject the query of the whole batch.
 */
export function prefetchRead(ctx: Context, reader: SecretReader, known: Principal): Promise<number | null> | null {
  if (!reader.gainsByForesight) return null;
  const { vault = '', path = '' } = ctx.call.params;
  if (!VAULT_NAME.test(vault) || !parseSecretPath(path).ok) return null;
  if (!couldEverAllow(known.policies, ctx.declaration.permission, secretResource(vault, path))) return null;
  return reader.prefetch(ctx, { tenantId: known.tenantId, vault, path });
}

export async function read(
  ctx: Context,
  reader: SecretReader,
  vault: string,
  path: string,
  version: number | undefined,
) {
  const row = await authorizedSecret(ctx, reader, vault, path);
  if (row.log_reads === 0 && row.protection === 'standard') ctx.leaveUnrecorded(vault, 1);
  const { shown, value } = await opened(ctx, vault, row, version);
  ctx.replyHeaders['ETag'] = `"v${shown.version}"`;
  if (row.rotation === null) return new Preserialized(wordsWithValue(vault, shown, value));
  return { ...secretOf(vault, shown, await lastRotation(ctx, row)), value };
}

/** For other response formats. Every read is recorded in the audit log, even if the vault does not log reads. */
export async function readRecorded(
  ctx: Context,
  reader: SecretReader,
  vault: string,
  path: string,
  version: number | undefined,
) {
  const { shown, value } = await opened(ctx, vault, await authorizedSecret(ctx, reader, vault, path), version);
  return { ...summaryOf(shown), value };
}

async function opened(ctx: Context, vault: string, row: ReadRow & { vault_id: string }, version: number | undefined) {
  requireProof(ctx, row);
  // Without `version` the entry stands for the newest one at that time, and the most common request skips building details.
  if (version !== undefined) ctx.describe({ secret: row.secret_id, version });
  const shown = version === undefined || version === row.version ? row : await atVersion(ctx, vault, row, version);
  const now = openNow(ctx.kernel, ctx.tenantId, row.vault_id, shown);
  return { shown, value: now ?? (await openValue(ctx.kernel, ctx.tenantId, row.vault_id, shown)) };
}

/** Authorizes on the tags of that version, besides the current ones: a tag removed since still protects what was written under it. */
async function atVersion(
  ctx: Context,
  vault: string,
  row: ReadRow & { vault_id: string },
  version: number,
): Promise<ReadRow> {
  const older = await store.findVersion(ctx.database.read, ctx.tenantId, row, version);
  if (older === undefined) throw versionNotFound();
  const { metadata, tags, data_key, sealed, sealed_version, created_at: updated_at } = older;
  const shown = { ...row, version, metadata, tags, data_key, sealed, sealed_version, updated_at };
  ctx.authorize(secretResource(vault, row.path), attributesOf(shown));
  return shown;
}

function versionNotFound(): CofferError {
  return new CofferError('VERSION_NOT_FOUND', 'The secret has no such version, or it is no longer kept.');
}

export async function update(
  ctx: Context,
  vaultName: string,
  path: string,
  body: Body<typeof contract.updateSecret>,
): Promise<Secret> {
  if (body.value === undefined && body.metadata === undefined && body.rotation === undefined) {
    throw invalidField('/body', 'needs value, metadata or rotation');
  }
  const { vault } = await secretForChange(ctx, vaultName, path);
  const sealer = await sealerFor(ctx.kernel, vault);
  return ctx.change(async (tx) => {
    const row = await lockForChange(ctx, tx, vault, path);
    refuseWhileRotating(row);
    requireVersion(ctx, row, body.expected_version);
    if (body.value !== undefined) refuseBadValue(vault, row.type, body.value, '/body/value');
    if (body.rotation != null) refuseBadRotation(vault, row.type, body.rotation, '/body/rotation');
    const stored = body.metadata === undefined ? undefined : mergedMetadata(row, body.metadata);
    if (stored !== undefined) refuseRetagging(ctx, vaultName, row, stored.tags);
    const changed = await appendVersion(
      tx,
      row,
      {
        operation: 'update',
        reason: body.reason ?? '',
        author: authorOf(ctx),
        ...(body.value !== undefined && { value: body.value }),
        ...stored,
        ...(body.rotation !== undefined && { more: rotationColumns(body.rotation, row, ctx.now) }),
      },
      ctx.now,
      sealer,
    );
    const parts = whatChanged(vault, { changed: Object.keys(body).filter(isPart) });
    ctx.describe({ secret: row.secret_id, version: changed.version, ...parts });
    return secretOf(vaultName, changed);
  });
}

function refuseRetagging(ctx: Context, vaultName: string, row: store.SecretRow, tags: string[]): void {
  refuseDisclosure(ctx, describedAs(vaultName, row), describedAs(vaultName, { ...row, tags: JSON.stringify(tags) }));
}

function isPart(name: string): boolean {
  return name === 'value' || name === 'metadata' || name === 'rotation';
}

function rotationColumns(rotation: Rotation | null, row: store.SecretRow, now: number) {
  return {
    rotation: rotation === null ? null : JSON.stringify(rotation),
    next_rotation_at: nextRotation(rotation, row.rotated_at ?? now),
  };
}

/** A soft delete: the secret can be restored for as long as the plan retains old versions, and its path is free at once. */
export async function remove(ctx: Context, vaultName: string, path: string) {
  const { vault } = await secretForChange(ctx, vaultName, path);
  return ctx.change(async (tx) => {
    await lockLive(tx, vault);
    const row = await lockForChange(ctx, tx, vault, path);
    refuseWhileRotating(row);
    requireVersion(ctx, row, undefined);
    await store.updateSecret(tx, row, { deleted_no: row.secret_no, deleted_at: ctx.now, next_rotation_at: null });
    await store.replaceTags(tx, tagPlace(row), JSON.parse(row.tags) as string[], []);
    await countSecrets(tx, ctx.tenantId, vault.vault_id, -1);
    ctx.describe({ secret: row.secret_id, version: row.version });
    const purge_at = timestamp(ctx.now + keptMs(ctx.principal.plan));
    return { ...DELETED, id: row.secret_id, path, deleted_at: timestamp(ctx.now), purge_at };
  });
}

export async function restore(
  ctx: Context,
  vaultName: string,
  path: string,
  body: Body<typeof contract.restoreSecret>,
): Promise<Secret> {
  const { vault } = await secretForChange(ctx, vaultName, path, (db, tenantId, vaultId) =>
    findDeleted(db, tenantId, vaultId, path, body.secret_id),
  );
  return ctx.change(async (tx) => {
    await lockLive(tx, vault);
    const row = await lockDeleted(tx, ctx.tenantId, vault.vault_id, path, body.secret_id);
    if (row === undefined) throw secretNotFound();
    ctx.authorize(secretResource(vaultName, path), attributesOf(row));
    requireProof(ctx, row);
    const rotation = row.rotation === null ? null : (JSON.parse(row.rotation) as Rotation);
    const change = { deleted_no: 0, deleted_at: null, next_rotation_at: nextRotation(rotation, ctx.now) };
    try {
      await store.updateSecret(tx, row, change);
    } catch (error) {
      throw error instanceof UniqueViolation ? alreadyExists() : error;
    }
    await store.replaceTags(tx, tagPlace(row), [], JSON.parse(row.tags) as string[]);
    await countSecrets(tx, ctx.tenantId, vault.vault_id, 1);
    ctx.describe({ secret: row.secret_id, version: row.version });
    return secretOf(vaultName, { ...row, ...change });
  });
}

/** The older value stays sealed for its own version. It is copied as it is, together with its metadata and tags. */
export async function rollback(
  ctx: Context,
  vaultName: string,
  path: string,
  body: Body<typeof contract.rollbackSecret>,
) {
  const { vault } = await secretForChange(ctx, vaultName, path);
  const sealer = await sealerFor(ctx.kernel, vault);
  return ctx.change(async (tx) => {
    const row = await lockForChange(ctx, tx, vault, path);
    refuseWhileRotating(row);
    requireVersion(ctx, row, body.expected_version);
    const older = await store.findVersion(tx, ctx.tenantId, row, body.to_version);
    if (older === undefined) throw versionNotFound();
    const tags = JSON.parse(older.tags) as string[];
    refuseRetagging(ctx, vaultName, row, tags);
    const next = {
      operation: 'rollback' as const,
      reason: body.reason ?? '',
      author: authorOf(ctx),
      restoredFrom: older.version,
      sealed: await sealedAgain(ctx, vault, row, older, sealer),
      metadata: older.metadata,
      tags,
    };
    const changed = await appendVersion(tx, row, next, ctx.now, sealer);
    const basis = whatChanged(vault, { restored_from: older.version });
    ctx.describe({ secret: row.secret_id, version: changed.version, ...basis });
    return { ...secretOf(vaultName, changed), restored_from: older.version };
  });
}

async function sealedAgain(
  ctx: Context,
  vault: VaultRow,
  row: store.SecretRow,
  older: store.SecretVersionRow,
  sealer: Sealer,
): Promise<SealedValue> {
  const { sealed, sealed_version, data_key } = older;
  const at = { ...row, sealed, sealed_version, data_key };
  const value = await openValue(ctx.kernel, ctx.tenantId, vault.vault_id, at);
  return { sealed, sealed_version, data_key, ...sealer.fingerprint(row, value) };
}
