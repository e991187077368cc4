import { canonicalEnvironment, type EnvironmentName } from '../../kernel/authz/environment.ts';
import type { Context } from '../../kernel/context.ts';
import { CofferError } from '../../kernel/errors.ts';
import { newId } from '../../kernel/ids.ts';
import type { Reader, Tx } from '../../kernel/storage/database.ts';
import type { VaultRow } from '../vaults/index.ts';
import { attributesOf, authorOf, refuseWhileRotating, requireProof, secretResource } from './access.ts';
import { environmentIn } from './environment-rules.ts';
import { openValue, type Sealer } from './sealing.ts';
import { addSecret, alreadyExists, newSecretNo } from './service.ts';
import type * as store from './store.ts';
import { refuseBadValue } from './values.ts';
import { appendVersion } from './versions.ts';
import { findSecret, lockSecret } from './write-store.ts';

export interface ImportEntry {
  path: string;
  value: string;
  /** Where the entry came from, for error messages. */
  pointer: string;
}

export interface ImportOptions {
  type: string;
  environment: EnvironmentName | undefined;
  promote: boolean;
  onExisting: 'update' | 'skip' | 'fail';
}

export interface PlannedChange {
  entry: ImportEntry;
  change: 'create' | 'update' | 'unchanged' | 'skip';
  existing: store.SecretRow | undefined;
  version: number;
}

/** Determines what an import would do with one entry, and throws if it could not do it. With `isLocking` the row is locked. */
export async function planImport(
  ctx: Context,
  db: Reader | Tx,
  vault: VaultRow,
  entry: ImportEntry,
  options: ImportOptions,
  isLocking: boolean,
): Promise<PlannedChange> {
  const find = isLocking ? lockSecret(db as Tx, ctx.tenantId, vault.vault_id, entry.path) : undefined;
  const existing = await (find ?? findSecret(db, ctx.tenantId, vault.vault_id, entry.path));
  const resource = secretResource(vault.name, entry.path);
  if (existing === undefined) {
    // Permission is checked before the environment: a caller who may not create here must not learn that the path is free.
    requireMay(ctx, 'secrets:create', resource, { environment: options.environment ?? vault.environment, tags: [] });
    fitted(vault, options);
    refuseUnfit(vault, options.type, entry);
    return { entry, change: 'create', existing, version: 1 };
  }
  requireMay(ctx, 'secrets:update', resource, attributesOf(existing));
  if (options.onExisting === 'fail') throw alreadyExists();
  if (options.onExisting === 'skip') return { entry, change: 'skip', existing, version: existing.version };
  requireProof(ctx, existing);
  refuseWhileRotating(existing);
  refuseUnfit(vault, existing.type, entry);
  // "unchanged" confirms a guessed value, so it is reported only to a caller who may read the secret.
  const mayCompare = ctx.may('secrets:read', resource, attributesOf(existing));
  const isSame = mayCompare && (await openValue(ctx.kernel, ctx.tenantId, vault.vault_id, existing)) === entry.value;
  return isSame
    ? { entry, change: 'unchanged', existing, version: existing.version }
    : { entry, change: 'update', existing, version: existing.version + 1 };
}

/** Plain values in a zero-knowledge vault get an error about the vault, not about the format of one value. */
function refuseUnfit(vault: VaultRow, type: string, { value, pointer }: ImportEntry): void {
  if (vault.is_zero_knowledge === 1 && !value.startsWith('zk:')) {
    throw new CofferError('ZkBoundaryViolation', 'This vault takes sealed values only: seal each of them first.');
  }
  refuseBadValue(vault, type, value, pointer);
}

export async function carryOutImport(
  ctx: Context,
  tx: Tx,
  vault: VaultRow,
  planned: PlannedChange,
  options: ImportOptions,
  sealer: Sealer,
): Promise<void> {
  const { entry, change, existing } = planned;
  const resource = secretResource(vault.name, entry.path);
  if (change === 'update' && existing !== undefined) {
    const next = { operation: 'update' as const, reason: REASON, author: authorOf(ctx), value: entry.value };
    const changed = await appendVersion(tx, existing, next, ctx.now, sealer);
    ctx.alsoRecord('secrets:update', resource, { secret: existing.secret_id, version: changed.version, via: 'import' });
  }
  if (change !== 'create') return;
  const row = newRow(ctx, vault, entry, options, sealer);
  const operation = fitted(vault, options).isPromoted ? 'promote' : 'create';
  await addSecret(tx, row, { operation, reason: REASON }, ctx);
  ctx.alsoRecord('secrets:create', resource, { secret: row.secret_id, version: 1, via: 'import' });
}

const REASON = 'imported';

function newRow(
  ctx: Context,
  vault: VaultRow,
  entry: ImportEntry,
  options: ImportOptions,
  sealer: Sealer,
): store.SecretRow {
  const identity = { secret_id: newId('sec', ctx.now), protection: 'standard' as const };
  return {
    tenant_id: ctx.tenantId,
    vault_id: vault.vault_id,
    deleted_no: 0,
    path: entry.path,
    ...identity,
    secret_no: newSecretNo(),
    type: options.type,
    environment: fitted(vault, options).environment,
    version: 1,
    metadata: '{}',
    tags: '[]',
    rotation: null,
    rotation_id: null,
    rotated_at: null,
    next_rotation_at: null,
    created_at: ctx.now,
    updated_at: ctx.now,
    deleted_at: null,
    ...sealer.seal(identity, 1, entry.value),
  };
}

function fitted(vault: VaultRow, options: ImportOptions) {
  return environmentIn(canonicalEnvironment(vault.environment), options.environment, options.promote);
}

function requireMay(ctx: Context, action: string, resource: string, attributes: Parameters<Context['may']>[2]): void {
  if (ctx.may(action, resource, attributes)) return;
  ctx.describe({ refused: resource });
  // Naming the missing action would reveal whether the secret exists.
  const message = 'Your credential does not permit secrets:create or secrets:update on all of these paths.';
  throw new CofferError('INSUFFICIENT_PRIVILEGE', message, { auditReason: `${action} on ${resource}` });
}
