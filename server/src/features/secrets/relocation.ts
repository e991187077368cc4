import { setImmediate as nextTurn } from 'node:timers/promises';
import { canonicalEnvironment, type EnvironmentName } from '../../kernel/authz/environment.ts';
import type { Context } from '../../kernel/context.ts';
import type { Body } from '../../kernel/endpoint.ts';
import { CofferError, invalidField } from '../../kernel/errors.ts';
import { newId } from '../../kernel/ids.ts';
import { type Tx, UniqueViolation } from '../../kernel/storage/database.ts';
import { countSecrets, findVault, isLive, type VaultRow, vaultNotFound } from '../vaults/index.ts';
import {
  attributesOf,
  authorOf,
  describedAs,
  lockForChange,
  pathIn,
  refuseDisclosure,
  refuseWhileRotating,
  requireVersion,
  secretForChange,
  secretResource,
} from './access.ts';
import type * as contract from './contract.ts';
import type { Secret } from './contract.ts';
import { environmentIn } from './environment-rules.ts';
import { openDataKey, openValue, type Sealer, sealerFor } from './sealing.ts';
import { addSecret, alreadyExists, lockLive, newSecretNo } from './service.ts';
import * as store from './store.ts';
import { refuseBadValue } from './values.ts';
import { appendVersion, tagPlace } from './versions.ts';
import { secretOf } from './wire.ts';

const VERSIONS_AT_ONCE = 50;

interface Relocation {
  from: VaultRow;
  to: VaultRow;
  toPath: string;
  sealer: Sealer;
}

/** Requires permission at both ends before revealing whether either exists. */
async function relocationOf(
  ctx: Context,
  vaultName: string,
  path: string,
  body: Body<typeof contract.moveSecret>,
): Promise<Relocation> {
  const toPath = pathIn(body.to_path, '/body/to_path');
  const toName = body.to_vault ?? vaultName;
  if (toName === vaultName && toPath === path) throw invalidField('/body/to_path', 'is where the secret is already');
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
      'A value cannot cross into or out of a zero-knowledge vault by itself.',
    );
  }
  refuseBadReplacement(to, secret, body.value);
  return { from, to, toPath, sealer: await sealerFor(ctx.kernel, to) };
}

/** An envelope opens only at the location it was sealed for, so in a zero-knowledge vault the caller must send one for the new path. */
function refuseBadReplacement(to: VaultRow, { type }: store.SecretRow, value: string | undefined): void {
  if (to.is_zero_knowledge !== 1) {
    if (value !== undefined)
      throw invalidField('/body/value', 'is only for zero-knowledge vaults: change the value afterwards');
    return;
  }
  if (value === undefined) {
    const message =
      'An envelope opens only at the vault and path it was sealed for: open it, seal it for the new one, and send that as `value`.';
    throw new CofferError('ZkBoundaryViolation', message);
  }
  refuseBadValue(to, type, value, '/body/value');
}

function requireCreate(ctx: Context, vault: string, path: string, attributes: Parameters<Context['may']>[2]): void {
  const resource = secretResource(vault, path);
  if (ctx.may('secrets:create', resource, attributes)) return;
  ctx.describe({ to: resource });
  throw new CofferError('INSUFFICIENT_PRIVILEGE', 'Your credential does not permit secrets:create where it is to go.', {
    auditReason: 'secrets:create at the destination',
  });
}

/**
 * Returns the environment the secret will have at the destination, if the caller may create it there. A caller who may not create anything there does
 * not learn that the environment conflicts.
 */
function permittedEnvironment(
  ctx: Context,
  { from, to, toPath }: Omit<Relocation, 'sealer'>,
  row: store.SecretRow,
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
  { from, to, toPath }: Omit<Relocation, 'sealer'>,
  row: store.SecretRow,
  environment: EnvironmentName,
): void {
  refuseDisclosure(ctx, describedAs(from.name, row), describedAs(to.name, { ...row, path: toPath, environment }));
}

/** The secret keeps its environment if the destination accepts it. One it inherited from its vault can become that of the destination. */
function fittedEnvironment(
  from: VaultRow,
  to: VaultRow,
  row: store.SecretRow,
  promote: boolean | undefined,
): EnvironmentName {
  const own = canonicalEnvironment(row.environment);
  const asked = own === from.environment && own !== 'production' && promote === true ? undefined : own;
  return environmentIn(canonicalEnvironment(to.environment), asked, promote === true).environment;
}

/** Two vaults are locked in order of their names, whichever way the secret moves: otherwise two moves could deadlock. */
async function lockBoth(tx: Tx, { from, to }: Relocation): Promise<void> {
  const vaults = from.vault_id === to.vault_id ? [from] : [from, to].toSorted((a, b) => (a.name < b.name ? -1 : 1));
  for (const vault of vaults) await lockLive(tx, vault);
}

export async function move(
  ctx: Context,
  vaultName: string,
  path: string,
  body: Body<typeof contract.moveSecret>,
): Promise<Secret> {
  const relocation = await relocationOf(ctx, vaultName, path, body);
  const { from, to, toPath } = relocation;
  return ctx.change(async (tx) => {
    await lockBoth(tx, relocation);
    const row = await lockForChange(ctx, tx, from, path);
    refuseWhileRotating(row);
    requireVersion(ctx, row, undefined);
    const environment = permittedEnvironment(ctx, relocation, row, body.promote);
    for (const tags of await store.tagsOfVersions(tx, ctx.tenantId, row.secret_id)) {
      // The history moves too, so the check covers the tags of each version.
      refuseMoving(ctx, relocation, { ...row, tags }, environment);
    }
    const isElsewhere = from.vault_id !== to.vault_id;
    const resealed = isElsewhere ? await resealAll(ctx, tx, relocation, row) : {};
    const change = { ...resealed, vault_id: to.vault_id, path: toPath, environment, updated_at: ctx.now };
    const tags = JSON.parse(row.tags) as string[];
    await store.replaceTags(tx, tagPlace(row), tags, []);
    try {
      await store.updateSecret(tx, row, change);
    } catch (error) {
      throw error instanceof UniqueViolation ? alreadyExists() : error;
    }
    const arrived = { ...row, ...change };
    await store.replaceTags(tx, tagPlace(arrived), [], tags);
    const moved = body.value === undefined ? arrived : await replaceValue(ctx, tx, relocation, arrived, body.value);
    if (isElsewhere) {
      await countSecrets(tx, ctx.tenantId, from.vault_id, -1);
      await countSecrets(tx, ctx.tenantId, to.vault_id, 1);
    }
    ctx.describe({ secret: row.secret_id, to: secretResource(to.name, toPath) });
    ctx.alsoRecord('secrets:create', secretResource(to.name, toPath), {
      secret: row.secret_id,
      moved_from: secretResource(vaultName, path),
    });
    return secretOf(to.name, moved);
  });
}

/** The value sealed for the new path becomes the next version. Older versions stay sealed for the old path. */
async function replaceValue(ctx: Context, tx: Tx, { sealer }: Relocation, row: store.SecretRow, value: string) {
  const next = { operation: 'update' as const, reason: `moved from ${ctx.resource}`, author: authorOf(ctx), value };
  return appendVersion(tx, row, next, ctx.now, sealer);
}

/** Seals all versions under the destination vault's key: under the old one they would be lost when that vault is purged. */
async function resealAll(ctx: Context, tx: Tx, { from, sealer }: Relocation, row: store.SecretRow) {
  const reseal = async (at: Pick<store.SecretRow, 'sealed' | 'sealed_version' | 'data_key'>) => {
    const { sealed, sealed_version, data_key } = at;
    const version = { ...row, sealed, sealed_version, data_key };
    const dataKey = await openDataKey(ctx.kernel, ctx.tenantId, from.vault_id, version);
    // Each value of a fortress secret has its own data key, and only that key is wrapped by the vault's.
    if (dataKey !== null) return { sealed, data_key: sealer.wrapDataKey(row.secret_id, dataKey) };
    const value = await openValue(ctx.kernel, ctx.tenantId, from.vault_id, version);
    return { sealed: sealer.seal(row, sealed_version, value).sealed, data_key };
  };
  for (let after = 0; ; ) {
    const versions = await store.versionsFrom(tx, ctx.tenantId, row.secret_id, after, VERSIONS_AT_ONCE);
    for (const version of versions) {
      await store.replaceSealed(tx, version, await reseal(version));
      // On SQLite nothing else in this loop yields to the event loop, and a history may be long.
      await nextTurn();
    }
    const last = versions.at(-1);
    if (last === undefined) return reseal(row);
    after = last.version;
  }
}

export async function copy(
  ctx: Context,
  vaultName: string,
  path: string,
  body: Body<typeof contract.copySecret>,
): Promise<Secret> {
  const relocation = await relocationOf(ctx, vaultName, path, body);
  const { from, to, toPath, sealer } = relocation;
  return ctx.change(async (tx) => {
    await lockLive(tx, to);
    const row = await lockForChange(ctx, tx, from, path);
    refuseWhileRotating(row);
    const environment = permittedEnvironment(ctx, relocation, row, body.promote);
    const value = body.value ?? (await openValue(ctx.kernel, ctx.tenantId, from.vault_id, row));
    const identity = { secret_id: newId('sec', ctx.now), protection: row.protection };
    const made: store.SecretRow = {
      ...row,
      ...identity,
      vault_id: to.vault_id,
      path: toPath,
      secret_no: newSecretNo(),
      environment,
      version: 1,
      // Two secrets that rotate the same external credential would undo each other.
      rotation: null,
      rotation_id: null,
      rotated_at: null,
      next_rotation_at: null,
      created_at: ctx.now,
      updated_at: ctx.now,
      ...sealer.seal(identity, 1, value),
    };
    await addSecret(tx, made, { operation: 'copy', reason: `copied from ${secretResource(vaultName, path)}` }, ctx);
    ctx.describe({ secret: row.secret_id, to: secretResource(to.name, toPath), copy: made.secret_id });
    ctx.alsoRecord('secrets:create', secretResource(to.name, toPath), {
      secret: made.secret_id,
      copied_from: secretResource(vaultName, path),
    });
    return secretOf(to.name, made);
  });
}
