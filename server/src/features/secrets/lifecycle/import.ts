import type { ResourceAttributes } from '../../../kernel/auth/call.ts';
import { canonicalEnvironment, type EnvironmentName } from '../../../kernel/authz/environment.ts';
import { CofferError } from '../../../kernel/base/errors.ts';
import type { Context } from '../../../kernel/request/context.ts';
import { Overtaken, type Tx } from '../../../kernel/storage/database.ts';
import type { VaultRow } from '../../vaults/storage/index.ts';
import { authorOf } from '../author.ts';
import { attributesOf, requireProof } from '../authorization.ts';
import { secretResource } from '../location.ts';
import { refuseUnresolvable } from '../references/written-template.ts';
import { refuseWhileRotating } from '../rotation/in-progress.ts';
import { newSecretRow } from '../storage/secret-rows.ts';
import { findSecret, lockSecret } from '../storage/secret-store.ts';
import { alreadyExists, appendVersion, countAdded, insertUncounted } from '../storage/secret-writes.ts';
import type { SecretRow } from '../storage/tables.ts';
import { openValue, type Sealer } from '../value/sealing.ts';
import { refuseBadValue } from '../value/value-rules.ts';
import { environmentIn } from './environment-rules.ts';

const REASON = 'imported';

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

/** Where secrets are imported to, and how. */
export interface ImportTarget {
  vault: VaultRow;
  options: ImportOptions;
}

export interface PlannedChange {
  entry: ImportEntry;
  change: 'create' | 'update' | 'unchanged' | 'skip';
  existing: SecretRow | undefined;
  version: number;
}

/** Determines what an import would do with one entry, and throws if it could not do it. In a transaction the row is locked. */
async function plan(
  ctx: Context,
  { vault, options }: ImportTarget,
  entry: ImportEntry,
  tx?: Tx,
): Promise<PlannedChange> {
  const existing = await (tx === undefined
    ? findSecret(ctx.database.read, ctx.tenantId, vault.vault_id, entry.path)
    : lockSecret(tx, ctx.tenantId, vault.vault_id, entry.path));
  const resource = secretResource(vault.name, entry.path);
  if (existing === undefined) {
    // Permission is checked before the environment: a caller who may not create here must not learn that the path is free.
    requireMay(ctx, 'secrets:create', resource, { environment: options.environment ?? vault.environment, tags: [] });
    refuseUnfit(vault, options.type, entry);
    const row = { path: entry.path, type: options.type, environment: fitted(vault, options).environment };
    await refuseUnresolvable(ctx, tx ?? ctx.database.read, { vault, row, ...entry });
    return { entry, change: 'create', existing, version: 1 };
  }
  requireMay(ctx, 'secrets:update', resource, attributesOf(existing));
  if (options.onExisting === 'fail') throw alreadyExists();
  if (options.onExisting === 'skip') return { entry, change: 'skip', existing, version: existing.version };
  requireProof(ctx, existing);
  refuseWhileRotating(existing);
  refuseUnfit(vault, existing.type, entry);
  await refuseUnresolvable(ctx, tx ?? ctx.database.read, { vault, row: existing, ...entry });
  // "unchanged" confirms a guessed value, so it is reported only to a caller who may read the secret.
  const mayCompare = ctx.access.may('secrets:read', resource, attributesOf(existing));
  const isSame = mayCompare && (await openValue(ctx.kernel, ctx.tenantId, vault.vault_id, existing)) === entry.value;
  return isSame
    ? { entry, change: 'unchanged', existing, version: existing.version }
    : { entry, change: 'update', existing, version: existing.version + 1 };
}

/** Plain values in a zero-knowledge vault get an error about the vault, not about the format of one value. */
function refuseUnfit(vault: VaultRow, type: string, { value, pointer }: ImportEntry): void {
  if (vault.is_zero_knowledge === 1 && !value.startsWith('zk:')) {
    throw new CofferError(
      'ZkBoundaryViolation',
      'This is a zero-knowledge vault: encrypt each value on the client first.',
    );
  }
  refuseBadValue(vault, type, value, pointer);
}

async function carryOut(
  ctx: Context,
  tx: Tx,
  { vault, options, sealer }: ImportTarget & { sealer: Sealer },
  { entry, change, existing }: PlannedChange,
): Promise<void> {
  const resource = secretResource(vault.name, entry.path);
  if (change === 'update' && existing !== undefined) {
    const origin = { operation: 'update' as const, reason: REASON, author: authorOf(ctx) };
    const changed = await appendVersion(tx, existing, { ...origin, value: entry.value, sealer, now: ctx.now });
    ctx.record.addEntry('secrets:update', resource, {
      secret: existing.secret_id,
      version: changed.version,
      via: 'import',
    });
  }
  if (change !== 'create') return;
  const { environment, isPromoted } = fitted(vault, options);
  const row = newSecretRow({
    tenant_id: ctx.tenantId,
    vault_id: vault.vault_id,
    path: entry.path,
    type: options.type,
    environment,
    value: entry.value,
    sealer,
    now: ctx.now,
  });
  const operation = isPromoted ? 'promote' : 'create';
  const origin = { operation, reason: REASON, author: authorOf(ctx) } as const;
  await unlessOvertaken(options, () => insertUncounted(tx, { row, origin, value: entry.value }));
  ctx.record.addEntry('secrets:create', resource, { secret: row.secret_id, version: 1, via: 'import' });
}

/** Nothing is locked that would keep others from creating a secret at a path that was free. Unless that is an error, the import plans again. */
async function unlessOvertaken({ onExisting }: ImportOptions, insert: () => Promise<void>): Promise<void> {
  try {
    await insert();
  } catch (error) {
    const isTaken = error instanceof CofferError && error.code === 'SECRET_ALREADY_EXISTS';
    throw isTaken && onExisting !== 'fail' ? new Overtaken() : error;
  }
}

/** The last step, because it locks the vault. */
async function finish(ctx: Context, tx: Tx, vault: VaultRow, planned: readonly PlannedChange[]): Promise<void> {
  await countAdded(ctx, tx, vault, planned.filter(({ change }) => change === 'create').length);
}

function fitted(vault: VaultRow, options: ImportOptions) {
  return environmentIn(canonicalEnvironment(vault.environment), options.environment, options.promote);
}

function requireMay(ctx: Context, action: string, resource: string, attributes: ResourceAttributes): void {
  if (ctx.access.may(action, resource, attributes)) return;
  ctx.record.describe({ refused: resource });
  // Naming the missing action would reveal whether the secret exists.
  const message = 'Your credential does not permit secrets:create or secrets:update on all of these paths.';
  throw new CofferError('INSUFFICIENT_PRIVILEGE', message, { auditReason: `${action} on ${resource}` });
}

export const secretImport = { plan, carryOut, finish };
