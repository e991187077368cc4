import { CofferError } from '../../../kernel/base/errors.ts';
import type { Context } from '../../../kernel/request/context.ts';
import { type Tx, UniqueViolation } from '../../../kernel/storage/database.ts';
import { isLive, requireRoomForSecrets, vaultNotFound } from '../../vaults/index.ts';
import { countSecrets, lockVault, type VaultRow } from '../../vaults/storage/index.ts';
import { nextRotation } from '../rotation/schedule.ts';
import type { Rotation } from '../schemas.ts';
import { TEMPLATE } from '../value/reference-text.ts';
import { deleteReferences, insertReferences } from './reference-store.ts';
import { nextSecretRow, type VersionContent, type VersionOrigin, versionRow } from './secret-rows.ts';
import * as store from './secret-store.ts';
import type { SecretRow } from './tables.ts';
import { insertVersion } from './version-store.ts';

/**
 * The changes of a secret's row. Each also writes what depends on the row: its versions, the index of tags, and the number of secrets in the vault.
 * The caller has locked the row. Every transaction locks secrets first, in order of their paths, and then vaults, in order of their names: an import
 * of many secrets would otherwise hold up its vault, and two transactions that lock in another order could deadlock.
 */

/** Locks the vault and refuses one that was deleted, or purged and recreated under the same name, since the caller was authorized on it. */
async function lockLive(tx: Tx, vault: VaultRow): Promise<void> {
  const now = await lockVault(tx, vault.tenant_id, vault.name);
  if (!isLive(now) || now.vault_id !== vault.vault_id) throw vaultNotFound();
}

interface NewRow {
  row: SecretRow;
  origin: VersionOrigin;
  /** The value that is sealed in the row. */
  value: string;
}

/** Inserts a secret with its first version. */
export async function addSecret(ctx: Context, tx: Tx, vault: VaultRow, { row, origin, value }: NewRow): Promise<void> {
  await insertUncounted(tx, { row, origin, value });
  await countAdded(ctx, tx, vault, 1);
}

/** For many secrets: the vault's row, which every change of its secrets needs, is locked only by `countAdded` at the end. */
export async function insertUncounted(tx: Tx, { row, origin, value }: NewRow): Promise<void> {
  await refusingTakenPath(async () => {
    await store.insertSecret(tx, row);
    await insertVersion(tx, versionRow(row, origin));
    await store.replaceTags(tx, row, [], tagsOf(row));
  });
  if (row.type === TEMPLATE) await insertReferences(tx, row, value);
}

/** Counts secrets that were inserted into a vault, and refuses more than the plan of the tenant allows. Others wait for the vault from here on. */
export async function countAdded(ctx: Context, tx: Tx, vault: VaultRow, added: number): Promise<void> {
  await lockLive(tx, vault);
  if (added === 0) return;
  await countSecrets(tx, vault.tenant_id, vault.vault_id, added);
  await requireRoomForSecrets(ctx, tx, added);
}

/** Every change of a secret's content goes through here: it inserts the next version and copies it into the secret's row. */
export async function appendVersion(tx: Tx, row: SecretRow, next: VersionOrigin & VersionContent): Promise<SecretRow> {
  const changed = nextSecretRow(row, next);
  await insertVersion(tx, versionRow(changed, next));
  await store.replaceSecret(tx, row, changed);
  if (next.tags !== undefined) await store.replaceTags(tx, row, tagsOf(row), next.tags);
  const value = next.value ?? next.restoredValue;
  if (value === undefined) return changed;
  if (row.type === TEMPLATE) await deleteReferences(tx, row.tenant_id, [row.secret_id]);
  if (changed.type === TEMPLATE) await insertReferences(tx, changed, value);
  return changed;
}

export async function markDeleted(tx: Tx, vault: VaultRow, row: SecretRow, now: number): Promise<void> {
  await store.updateSecret(tx, row, { deleted_no: row.secret_no, deleted_at: now, next_rotation_at: null });
  await store.replaceTags(tx, row, tagsOf(row), []);
  await lockLive(tx, vault);
  await countSecrets(tx, row.tenant_id, row.vault_id, -1);
}

/** Undoes `markDeleted`. The schedule of rotations starts again. */
export async function unmarkDeleted(ctx: Context, tx: Tx, vault: VaultRow, row: SecretRow): Promise<SecretRow> {
  const rotation = row.rotation === null ? null : (JSON.parse(row.rotation) as Rotation);
  const change = { deleted_no: 0, deleted_at: null, next_rotation_at: nextRotation(rotation, ctx.now) };
  await refusingTakenPath(() => store.updateSecret(tx, row, change));
  await store.replaceTags(tx, row, [], tagsOf(row));
  await countAdded(ctx, tx, vault, 1);
  return { ...row, ...change };
}

/** In another vault the value is sealed under another key, so `change` then has it resealed. */
export async function relocate(
  tx: Tx,
  { from, to }: { from: VaultRow; to: VaultRow },
  row: SecretRow,
  change: Pick<SecretRow, 'vault_id' | 'path' | 'environment' | 'updated_at'> &
    Partial<Pick<SecretRow, 'sealed' | 'data_key'>>,
): Promise<SecretRow> {
  const moved = { ...row, ...change };
  await store.replaceTags(tx, row, tagsOf(row), []);
  await refusingTakenPath(() => store.updateSecret(tx, row, change));
  await store.replaceTags(tx, moved, [], tagsOf(moved));
  const vaults = from.vault_id === to.vault_id ? [from] : [from, to].toSorted((a, b) => (a.name < b.name ? -1 : 1));
  for (const vault of vaults) await lockLive(tx, vault);
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
