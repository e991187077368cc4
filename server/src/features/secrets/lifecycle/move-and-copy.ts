import type { ResourceAttributes } from '../../../kernel/auth/call.ts';
import { canonicalEnvironment, type EnvironmentName } from '../../../kernel/authz/environment.ts';
import { CofferError, invalidField } from '../../../kernel/base/errors.ts';
import type { Body } from '../../../kernel/endpoint/declaration.ts';
import type { Context } from '../../../kernel/request/context.ts';
import type { Tx } from '../../../kernel/storage/database.ts';
import { isLive, vaultNotFound } from '../../vaults/index.ts';
import { findVault, type VaultRow } from '../../vaults/storage/index.ts';
import { authorOf } from '../author.ts';
import { attributesOf, describedAs, lockForChange, refuseDisclosure, secretForChange } from '../authorization.ts';
import type * as contract from '../contract.ts';
import type { Referred, Secret } from '../contract.ts';
import { requireVersion } from '../expected-version.ts';
import { takesGivenEnd } from '../expiry/given-end.ts';
import { parsePath, secretResource } from '../location.ts';
import { knownReferrers } from '../references/referrers.ts';
import { awaitReview, refuseReviewed } from '../review/change-review.ts';
import { shownScore } from '../risk/shown-risk.ts';
import { refuseWhileRotating } from '../rotation/in-progress.ts';
import { secretOf } from '../serialization.ts';
import { newSecretRow, type VersionContent } from '../storage/secret-rows.ts';
import { lockSecret } from '../storage/secret-store.ts';
import { addSecret, appendVersion, relocate } from '../storage/secret-writes.ts';
import type { SecretRow } from '../storage/tables.ts';
import { tagsOfVersions } from '../storage/version-store.ts';
import { openValue, type Sealer, sealerFor } from '../value/sealing.ts';
import { refuseBadValue } from '../value/value-rules.ts';
import { environmentIn } from './environment-rules.ts';
import { resealForVault } from './resealing.ts';

interface Relocation {
  from: VaultRow;
  to: VaultRow;
  toPath: string;
  /** The risk of the secret, as the caller sees it. */
  score: number | null;
  sealer: Sealer;
}

/** Requires permission at both ends before revealing whether either exists. */
async function relocationOf(
  ctx: Context,
  vaultName: string,
  path: string,
  body: Body<typeof contract.moveSecret>,
): Promise<Relocation> {
  const toPath = parsePath(body.to_path, '/body/to_path');
  const toName = body.to_vault ?? vaultName;
  if (toName === vaultName && toPath === path) throw invalidField('/body/to_path', 'is the current path of the secret');
  const { vault: from, secret } = await secretForChange(ctx, vaultName, path);
  const found = toName === vaultName ? from : await findVault(ctx.database.read, ctx.tenantId, toName);
  const to = isLive(found) ? found : undefined;
  if (to === undefined) {
    requireCreate(ctx, toName, toPath, {});
    throw vaultNotFound();
  }
  permittedEnvironment(ctx, { from, to, toPath }, secret, body.promote);
  if (from.is_zero_knowledge !== to.is_zero_knowledge) {
    throw new CofferError(
      'ZkBoundaryViolation',
      'A secret cannot be moved or copied between a zero-knowledge vault and an ordinary one: create it at the destination instead.',
    );
  }
  refuseBadReplacement(to, secret, body.value);
  return { from, to, toPath, score: shownScore(ctx, vaultName, secret), sealer: await sealerFor(ctx.kernel, to) };
}

/** An envelope opens only at the location it was sealed for, so in a zero-knowledge vault the caller must send one for the new path. */
function refuseBadReplacement(to: VaultRow, { type }: SecretRow, value: string | undefined): void {
  if (to.is_zero_knowledge !== 1) {
    if (value !== undefined)
      throw invalidField(
        '/body/value',
        'is only allowed in zero-knowledge vaults: change the value after the move or copy',
      );
    return;
  }
  if (value === undefined) {
    const message =
      'An envelope can be decrypted only at the vault and path it was sealed for: decrypt it, seal it for the destination, and send the new envelope as `value`.';
    throw new CofferError('ZkBoundaryViolation', message);
  }
  refuseBadValue(to, type, value, '/body/value');
}

function requireCreate(ctx: Context, vault: string, path: string, attributes: ResourceAttributes): void {
  const resource = secretResource(vault, path);
  if (ctx.access.may('secrets:create', resource, attributes)) return;
  ctx.record.describe({ to: resource });
  throw new CofferError(
    'INSUFFICIENT_PRIVILEGE',
    'Your credential does not permit secrets:create at the destination.',
    {
      auditReason: 'secrets:create at the destination',
    },
  );
}

/**
 * Returns the environment the secret will have at the destination, if the caller may create it there. A caller who may not create anything there does
 * not learn that the environment conflicts.
 */
function permittedEnvironment(
  ctx: Context,
  { from, to, toPath }: Omit<Relocation, 'sealer' | 'score'>,
  row: SecretRow,
  promote: boolean | undefined,
): EnvironmentName {
  const { tags } = attributesOf(row);
  try {
    const environment = fittedEnvironment(from, to, row, promote);
    requireCreate(ctx, to.name, toPath, { environment, tags });
    refuseMoving(ctx, { from, to, toPath }, row, environment);
    return environment;
  } catch (error) {
    requireCreate(ctx, to.name, toPath, { environment: to.environment, tags });
    throw error;
  }
}

function refuseMoving(
  ctx: Context,
  { from, to, toPath }: Omit<Relocation, 'sealer' | 'score'>,
  row: SecretRow,
  environment: EnvironmentName,
): void {
  refuseDisclosure(ctx, describedAs(from.name, row), describedAs(to.name, { ...row, path: toPath, environment }));
}

/** The secret keeps its environment if the destination accepts it. One it inherited from its vault can become that of the destination. */
function fittedEnvironment(
  from: VaultRow,
  to: VaultRow,
  row: SecretRow,
  promote: boolean | undefined,
): EnvironmentName {
  const own = canonicalEnvironment(row.environment);
  const requested = own === from.environment && own !== 'production' && promote === true ? undefined : own;
  return environmentIn(canonicalEnvironment(to.environment), requested, promote === true).environment;
}

/**
 * Locks what is at the old and at the new path, whichever comes first. Two moves that exchange paths would otherwise wait for each other; one that finds
 * its new path taken is refused by the update.
 */
async function lockPaths(tx: Tx, path: string, { from, to, toPath }: Relocation): Promise<void> {
  const places = [
    { vault: from, path },
    { vault: to, path: toPath },
  ].toSorted((a, b) => (a.vault.name === b.vault.name ? order(a.path, b.path) : order(a.vault.name, b.vault.name)));
  for (const at of places) await lockSecret(tx, at.vault.tenant_id, at.vault.vault_id, at.path);
}

function order(a: string, b: string): number {
  return a < b ? -1 : 1;
}

export async function move(
  ctx: Context,
  vaultName: string,
  path: string,
  body: Body<typeof contract.moveSecret>,
): Promise<Secret & Referred> {
  const relocation = await relocationOf(ctx, vaultName, path, body);
  const { from, to, toPath, score, sealer } = relocation;
  if (from.vault_id !== to.vault_id) refuseReviewed(ctx, to, 'a move from another vault');
  return ctx.change(async (tx) => {
    await lockPaths(tx, path, relocation);
    const row = await lockForChange(ctx, tx, from, path);
    refuseWhileRotating(row);
    await requireVersion(ctx, tx, row, undefined);
    const environment = permittedEnvironment(ctx, relocation, row, body.promote);
    for (const tags of await tagsOfVersions(tx, ctx.tenantId, row.secret_id)) {
      // The history moves too, so the check covers the tags of each version.
      refuseMoving(ctx, relocation, { ...row, tags }, environment);
    }
    const resealed = from.vault_id !== to.vault_id ? await resealForVault(ctx, tx, row, sealer) : {};
    const placed = { ...resealed, vault_id: to.vault_id, path: toPath, environment, updated_at: ctx.now };
    const arrived = await relocate(tx, relocation, row, placed);
    const moved =
      body.value === undefined ? arrived : await replaceValue(ctx, tx, arrived, { value: body.value, sealer });
    ctx.record.describe({ secret: row.secret_id, to: secretResource(to.name, toPath) });
    ctx.record.addEntry('secrets:create', secretResource(to.name, toPath), {
      secret: row.secret_id,
      moved_from: secretResource(vaultName, path),
    });
    const change = { before: row, after: moved, value: body.value, to: secretResource(to.name, toPath) };
    await awaitReview(ctx, tx, { vault: from, sealer }, change);
    const referred_by = await knownReferrers(ctx, tx, { vault: vaultName, path });
    return { ...secretOf(to.name, moved, score), referred_by };
  });
}

/** The value sealed for the new path becomes the next version. Older versions stay sealed for the old path. */
async function replaceValue(ctx: Context, tx: Tx, row: SecretRow, content: Pick<VersionContent, 'value' | 'sealer'>) {
  const reason = `moved from ${ctx.record.resource}`;
  const expiresAt = row.expires_at;
  return appendVersion(tx, row, {
    operation: 'update',
    reason,
    author: authorOf(ctx),
    ...content,
    expiresAt,
    now: ctx.now,
  });
}

export async function copy(
  ctx: Context,
  vaultName: string,
  path: string,
  body: Body<typeof contract.copySecret>,
): Promise<Secret> {
  const relocation = await relocationOf(ctx, vaultName, path, body);
  const { from, to, toPath, sealer } = relocation;
  refuseReviewed(ctx, to, 'a copy');
  return ctx.change(async (tx) => {
    const row = await lockForChange(ctx, tx, from, path);
    refuseWhileRotating(row);
    const environment = permittedEnvironment(ctx, relocation, row, body.promote);
    const value = body.value ?? (await openValue(ctx.kernel, ctx.tenantId, from.vault_id, row));
    // The copy does not rotate: two secrets that rotate the same external credential would undo each other.
    const made = newSecretRow({
      tenant_id: row.tenant_id,
      vault_id: to.vault_id,
      path: toPath,
      type: row.type,
      environment,
      protection: row.protection,
      metadata: row.metadata,
      tags: row.tags,
      expiresAt: takesGivenEnd(from, row.type) ? row.expires_at : undefined,
      value,
      sealer,
      now: ctx.now,
    });
    const reason = `copied from ${secretResource(vaultName, path)}`;
    await addSecret(ctx, tx, to, { row: made, origin: { operation: 'copy', reason, author: authorOf(ctx) }, value });
    ctx.record.describe({ secret: row.secret_id, to: secretResource(to.name, toPath), copy: made.secret_id });
    ctx.record.addEntry('secrets:create', secretResource(to.name, toPath), {
      secret: made.secret_id,
      copied_from: secretResource(vaultName, path),
    });
    return secretOf(to.name, made, null);
  });
}
