import { CofferError } from '../../../kernel/platform/errors.ts';
import type { Context } from '../../../kernel/request/context.ts';
import { type Tx, UniqueViolation } from '../../../kernel/storage/database.ts';
import { countSecrets, requireRoomForSecrets } from '../../vaults/index.ts';
import { nextRotation } from '../rotation/schedule.ts';
import type { Rotation } from '../schemas.ts';
import { nextSecretRow, type VersionContent, type VersionOrigin, versionRow } from './secret-rows.ts';
import * as store from './secret-store.ts';
import type { SecretRow } from './tables.ts';
import { insertVersion } from './version-store.ts';

/**
 * The changes of a secret's row. Each also writes what depends on the row: its versions, the index of tags, and the number of secrets in the vault.
 * The caller has locked the row, and the vault if the secret enters or leaves it.
 */

/** Inserts a secret with its first version. */
export async function addSecret(ctx: Context, tx: Tx, row: SecretRow, origin: VersionOrigin): Promise<void> {
  await insertUncounted(tx, row, origin);
  await countAdded(ctx, tx, row, 1);
}

/** For many secrets: the vault's row, which every change of its secrets needs, is locked only by `countAdded` at the end. */
export async function insertUncounted(tx: Tx, row: SecretRow, origin: VersionOrigin): Promise<void> {
  await refusingTakenPath(async () => {
    await store.insertSecret(tx, row);
    await insertVersion(tx, versionRow(row, origin));
    await store.replaceTags(tx, row, [], tagsOf(row));
  });
}

/** Counts secrets that were inserted into a vault, and refuses more than the plan of the tenant allows. */
export async function countAdded(
  ctx: Context,
  tx: Tx,
  vault: Pick<SecretRow, 'tenant_id' | 'vault_id'>,
  added: number,
): Promise<void> {
  await countSecrets(tx, vault.tenant_id, vault.vault_id, added);
  await requireRoomForSecrets(ctx, tx, added);
}

/** Every change of a secret's content goes through here: it inserts the next version and copies it into the secret's row. */
export async function appendVersion(tx: Tx, row: SecretRow, next: VersionOrigin & VersionContent): Promise<SecretRow> {
  const changed = nextSecretRow(row, next);
  await insertVersion(tx, versionRow(changed, next));
  await store.replaceSecret(tx, row, changed);
  if (next.tags !== undefined) await store.replaceTags(tx, row, tagsOf(row), next.tags);
  return changed;
}

export async function markDeleted(tx: Tx, row: SecretRow, now: number): Promise<void> {
  await store.updateSecret(tx, row, { deleted_no: row.secret_no, deleted_at: now, next_rotation_at: null });
  await store.replaceTags(tx, row, tagsOf(row), []);
  await countSecrets(tx, row.tenant_id, row.vault_id, -1);
}

/** Undoes `markDeleted`. The schedule of rotations starts again. */
export async function unmarkDeleted(ctx: Context, tx: Tx, row: SecretRow): Promise<SecretRow> {
  const rotation = row.rotation === null ? null : (JSON.parse(row.rotation) as Rotation);
  const change = { deleted_no: 0, deleted_at: null, next_rotation_at: nextRotation(rotation, ctx.now) };
  await refusingTakenPath(() => store.updateSecret(tx, row, change));
  await store.replaceTags(tx, row, [], tagsOf(row));
  await countSecrets(tx, row.tenant_id, row.vault_id, 1);
  await requireRoomForSecrets(ctx, tx, 1);
  return { ...row, ...change };
}

/** In another vault the value is sealed under another key, so `change` then has it resealed. */
export async function relocate(
  tx: Tx,
  row: SecretRow,
  change: Pick<SecretRow, 'vault_id' | 'path' | 'environment' | 'updated_at'> &
    Partial<Pick<SecretRow, 'sealed' | 'data_key'>>,
): Promise<SecretRow> {
  const moved = { ...row, ...change };
  await store.replaceTags(tx, row, tagsOf(row), []);
  await refusingTakenPath(() => store.updateSecret(tx, row, change));
  await store.replaceTags(tx, moved, [], tagsOf(moved));
  if (moved.vault_id !== row.vault_id) {
    await countSecrets(tx, row.tenant_id, row.vault_id, -1);
    await countSecrets(tx, row.tenant_id, moved.vault_id, 1);
  }
  return moved;
}

function tagsOf(row: SecretRow): string[] {
  return JSON.parse(row.tags) as string[];
}

export function alreadyExists(): CofferError {
  return new CofferError('SECRET_ALREADY_EXISTS', 'A secret already exists at this path: use PUT to change it.');
}

async function refusingTakenPath(write: () => Promise<void>): Promise<void> {
  try {
    await write();
  } catch (error) {
    throw error instanceof UniqueViolation ? alreadyExists() : error;
  }
}
