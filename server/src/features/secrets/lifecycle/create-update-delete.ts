import { canonicalEnvironment } from '../../../kernel/authz/environment.ts';
import { timestamp } from '../../../kernel/base/clock.ts';
import { invalidField } from '../../../kernel/base/errors.ts';
import type { Body } from '../../../kernel/endpoint/declaration.ts';
import type { Context } from '../../../kernel/request/context.ts';
import { DELETED } from '../../../kernel/wire/wire.ts';
import { whatChanged } from '../../vaults/index.ts';
import { authorOf } from '../author.ts';
import {
  attributesOf,
  describedAs,
  lockForChange,
  refuseDisclosure,
  requireProof,
  secretForChange,
  vaultForSecrets,
} from '../authorization.ts';
import type * as contract from '../contract.ts';
import type { Rotation, Secret } from '../contract.ts';
import { requireVersion } from '../expected-version.ts';
import { parsePath, secretResource } from '../location.ts';
import { secretNotFound, versionNotFound } from '../not-found.ts';
import { shownScore } from '../risk/shown-risk.ts';
import { refuseWhileRotating } from '../rotation/in-progress.ts';
import { newValue, refuseBadRotation } from '../rotation/rotate.ts';
import { nextRotation } from '../rotation/schedule.ts';
import { mergedMetadata, secretOf, storedMetadata } from '../serialization.ts';
import { newSecretRow } from '../storage/secret-rows.ts';
import { addSecret, appendVersion, markDeleted, unmarkDeleted } from '../storage/secret-writes.ts';
import type { SecretRow, SecretVersionRow } from '../storage/tables.ts';
import { findVersion } from '../storage/version-store.ts';
import { openValue, type SealedValue, type Sealer, sealerFor } from '../value/sealing.ts';
import { refuseBadValue } from '../value/value-rules.ts';
import { findDeleted, lockDeleted } from './deleted-store.ts';
import { environmentIn } from './environment-rules.ts';
import { resealAsFortress } from './resealing.ts';
import { retentionMs } from './retention.ts';

const TYPE_DEFAULT = 'generic';

export async function create(
  ctx: Context,
  vaultName: string,
  body: Body<typeof contract.createSecret>,
): Promise<Secret> {
  const path = parsePath(body.path, '/body/path');
  const { metadata, tags } = storedMetadata(body.metadata);
  const requested = body.environment === undefined ? undefined : canonicalEnvironment(body.environment);
  ctx.access.refuseIfNeverAllowed(secretResource(vaultName, path));
  const vault = await vaultForSecrets(ctx, vaultName, (known) =>
    ctx.access.authorize(secretResource(vaultName, path), { environment: requested ?? known?.environment, tags }),
  );
  const { environment, isPromoted } = environmentIn(
    canonicalEnvironment(vault.environment),
    requested,
    body.promote === true,
  );
  const type = body.type ?? TYPE_DEFAULT;
  const protection = body.protection ?? 'standard';
  requireProof(ctx, { protection });
  const value = body.value ?? newValue(vault, type, body.generator ?? body.rotation?.generator);
  refuseBadValue(vault, type, value, '/body/value');
  if (body.rotation !== undefined) refuseBadRotation(vault, type, body.rotation, '/body/rotation');

  const sealer = await sealerFor(ctx.kernel, vault);
  const row = newSecretRow({
    tenant_id: ctx.tenantId,
    vault_id: vault.vault_id,
    path,
    type,
    environment,
    protection,
    metadata,
    tags: JSON.stringify(tags),
    rotation: body.rotation,
    value,
    sealer,
    now: ctx.now,
  });
  ctx.record.describe({ secret: row.secret_id, version: 1, ...whatChanged(vault, { type }) });
  return ctx.change(async (tx) => {
    const operation = isPromoted ? 'promote' : 'create';
    await addSecret(ctx, tx, vault, { row, origin: { operation, reason: body.reason ?? '', author: authorOf(ctx) } });
    return secretOf(vaultName, row, null);
  });
}

export async function update(
  ctx: Context,
  vaultName: string,
  path: string,
  body: Body<typeof contract.updateSecret>,
): Promise<Secret> {
  const { value, metadata, rotation: schedule, protection } = body;
  if ([value, metadata, schedule, protection].every((part) => part === undefined)) {
    // Anyone who may write but not read would learn from a type without a value what the stored value looks like.
    if (body.type !== undefined) throw invalidField('/body/value', 'is required with a type, whose rules it must fit');
    throw invalidField('/body', 'must contain value, protection, metadata or rotation');
  }
  const { vault, secret } = await secretForChange(ctx, vaultName, path);
  const sealer = await sealerFor(ctx.kernel, vault);
  return ctx.change(async (tx) => {
    const row = await lockForChange(ctx, tx, vault, path);
    refuseWhileRotating(row);
    requireVersion(ctx, row, body.expected_version);
    const type = body.type ?? row.type;
    if (type !== row.type && body.value === undefined)
      throw invalidField('/body/value', 'is required with another type, whose rules it must fit');
    if (body.value !== undefined) refuseBadValue(vault, type, body.value, '/body/value');
    const rotation = body.rotation === undefined && type !== row.type ? rotationOf(row) : body.rotation;
    if (rotation != null) refuseBadRotation(vault, type, rotation, '/body/rotation');
    const isRaised = raises(ctx, row, body.protection);
    const resealed = isRaised ? await resealAsFortress(ctx, tx, row, sealer) : undefined;
    const stored = body.metadata === undefined ? undefined : mergedMetadata(row, body.metadata);
    if (stored !== undefined) refuseRetagging(ctx, vaultName, row, stored.tags);
    const changed = await appendVersion(tx, row, {
      operation: 'update',
      reason: body.reason ?? '',
      author: authorOf(ctx),
      ...(resealed !== undefined && { sealed: resealed }),
      ...(body.value !== undefined && { value: body.value }),
      ...stored,
      more: {
        type,
        ...(isRaised && { protection: 'fortress' }),
        ...(body.rotation !== undefined && rotationColumns(body.rotation, row, ctx.now)),
      },
      now: ctx.now,
      sealer,
    });
    const parts = whatChanged(vault, { changed: Object.keys(body).filter(isPart) });
    ctx.record.describe({ secret: row.secret_id, version: changed.version, ...parts });
    return secretOf(vaultName, changed, shownScore(ctx, vaultName, secret));
  });
}

/**
 * Whether an ordinary secret becomes a fortress secret, which takes the proof that it will take from then on. The way back is closed: it would let
 * anyone who stole one proof open the secret to every token.
 */
function raises(ctx: Context, row: SecretRow, protection: SecretRow['protection'] | undefined): boolean {
  if (protection === undefined || protection === row.protection) return false;
  if (protection === 'standard') {
    throw invalidField('/body/protection', 'cannot be lowered: write the value to a new secret, and delete this one');
  }
  requireProof(ctx, { protection });
  return true;
}

function refuseRetagging(ctx: Context, vaultName: string, row: SecretRow, tags: string[]): void {
  refuseDisclosure(ctx, describedAs(vaultName, row), describedAs(vaultName, { ...row, tags: JSON.stringify(tags) }));
}

const PARTS: readonly string[] = ['value', 'type', 'protection', 'metadata', 'rotation'];

function isPart(name: string): boolean {
  return PARTS.includes(name);
}

function rotationOf(row: SecretRow): Rotation | null {
  return row.rotation === null ? null : (JSON.parse(row.rotation) as Rotation);
}

function rotationColumns(rotation: Rotation | null, row: SecretRow, now: number) {
  return {
    rotation: rotation === null ? null : JSON.stringify(rotation),
    next_rotation_at: nextRotation(rotation, row.rotated_at ?? now),
  };
}

/** A soft delete: the secret can be restored for as long as the plan retains old versions, and its path is free at once. */
export async function remove(ctx: Context, vaultName: string, path: string) {
  const { vault } = await secretForChange(ctx, vaultName, path);
  return ctx.change(async (tx) => {
    const row = await lockForChange(ctx, tx, vault, path);
    refuseWhileRotating(row);
    requireVersion(ctx, row, undefined);
    await markDeleted(tx, vault, row, ctx.now);
    ctx.record.describe({ secret: row.secret_id, version: row.version });
    const purge_at = timestamp(ctx.now + retentionMs(ctx.principal.plan));
    return { ...DELETED, id: row.secret_id, path, deleted_at: timestamp(ctx.now), purge_at };
  });
}

export async function restore(
  ctx: Context,
  vaultName: string,
  path: string,
  body: Body<typeof contract.restoreSecret>,
): Promise<Secret> {
  const { vault, secret } = await secretForChange(ctx, vaultName, path, (db, tenantId, vaultId) =>
    findDeleted(db, { tenantId, vaultId, path }, body.secret_id),
  );
  return ctx.change(async (tx) => {
    const row = await lockDeleted(tx, { tenantId: ctx.tenantId, vaultId: vault.vault_id, path }, body.secret_id);
    if (row === undefined) throw secretNotFound();
    ctx.access.authorize(secretResource(vaultName, path), attributesOf(row));
    requireProof(ctx, row);
    const restored = await unmarkDeleted(ctx, tx, vault, row);
    ctx.record.describe({ secret: row.secret_id, version: row.version });
    return secretOf(vaultName, restored, shownScore(ctx, vaultName, secret));
  });
}

/** The older value stays sealed for its own version. It is copied as it is, together with its metadata and tags. */
export async function rollback(
  ctx: Context,
  vaultName: string,
  path: string,
  body: Body<typeof contract.rollbackSecret>,
) {
  const { vault, secret } = await secretForChange(ctx, vaultName, path);
  const sealer = await sealerFor(ctx.kernel, vault);
  return ctx.change(async (tx) => {
    const row = await lockForChange(ctx, tx, vault, path);
    refuseWhileRotating(row);
    requireVersion(ctx, row, body.expected_version);
    const older = await findVersion(tx, ctx.tenantId, row, body.to_version);
    if (older === undefined) throw versionNotFound();
    const tags = JSON.parse(older.tags) as string[];
    refuseRetagging(ctx, vaultName, row, tags);
    const { type } = older;
    const rotation = type === row.type ? null : rotationOf(row);
    if (rotation !== null) refuseBadRotation(vault, type, rotation, '/body/to_version');
    const changed = await appendVersion(tx, row, {
      operation: 'rollback',
      reason: body.reason ?? '',
      author: authorOf(ctx),
      restoredFrom: older.version,
      sealed: await olderValue(ctx, { ...row, type }, older, sealer),
      more: { type },
      metadata: older.metadata,
      tags,
      now: ctx.now,
      sealer,
    });
    const basis = whatChanged(vault, { restored_from: older.version });
    ctx.record.describe({ secret: row.secret_id, version: changed.version, ...basis });
    return { ...secretOf(vaultName, changed, shownScore(ctx, vaultName, secret)), restored_from: older.version };
  });
}

async function olderValue(ctx: Context, row: SecretRow, older: SecretVersionRow, sealer: Sealer): Promise<SealedValue> {
  const { sealed, sealed_version, data_key } = older;
  const at = { ...row, sealed, sealed_version, data_key };
  const value = await openValue(ctx.kernel, ctx.tenantId, row.vault_id, at);
  return { sealed, sealed_version, data_key, ...sealer.clearColumns(row, value) };
}
