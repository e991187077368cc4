import { nextTurn } from '../../../kernel/fairness/event-loop-turns.ts';
import { CofferError } from '../../../kernel/platform/errors.ts';
import { recheck } from '../../../kernel/request/acceptance.ts';
import type { Context } from '../../../kernel/request/context.ts';
import { type ListedRow, SECRETS, type SecretRow } from '../storage/tables.ts';
import { findVersion } from '../storage/version-store.ts';
import { openValue } from '../value/sealing.ts';
import { readWhole, WHOLE_AT_ONCE } from './read-store.ts';

/** Bounds of the values decrypted at once during a bulk read. A stalled reader holds at most this much in memory, or one larger value. */
const HELD_MAX = WHOLE_AT_ONCE;
const HELD_BYTES_MAX = 256 * 1024;

/** A secret as the policy decided on it. It comes from a list, whose rows are not authenticated one by one. */
export type DecidedRow = Pick<
  ListedRow,
  'secret_id' | 'version' | 'protection' | 'path' | 'environment' | 'tags' | 'sealed_bytes'
>;

/**
 * Decrypts the values of ordinary secrets in the versions that were authorized: the policy decision stays valid even if the secret changes meanwhile.
 * A version that was deleted or moved meanwhile is left out. A caller revoked meanwhile is refused; if their rights may have changed, `mayRead`
 * decides again.
 */
function inVault<R extends DecidedRow>(
  ctx: Context,
  vault: { vault_id: string },
  rows: readonly R[],
  mayRead: (row: R) => boolean,
): AsyncGenerator<{ row: R; value: string }> {
  return decryptedIn(ctx, rows, { vaultIdOf: () => vault.vault_id, mayRead });
}

/** The same for secrets in several vaults. */
function acrossVaults<R extends DecidedRow & { vault_id: string }>(
  ctx: Context,
  rows: readonly R[],
  mayRead: (row: R) => boolean,
): AsyncGenerator<{ row: R; value: string }> {
  return decryptedIn(ctx, rows, { vaultIdOf: (row) => row.vault_id, mayRead });
}

async function* decryptedIn<R extends DecidedRow>(
  ctx: Context,
  rows: readonly R[],
  { vaultIdOf, mayRead }: { vaultIdOf(row: R): string; mayRead(row: R): boolean },
): AsyncGenerator<{ row: R; value: string }> {
  let hasMoved = false;
  for (let at = 0; at < rows.length; ) {
    const held = rows.slice(at, at + heldFrom(rows, at));
    at += held.length;
    await nextTurn(ctx.tenantId);
    // Reading may take minutes, and the caller may be revoked even before the first value is read.
    if (await recheck(ctx)) hasMoved = true;
    if (hasMoved && !held.every(mayRead)) throw revokedMeanwhile();
    const found = await readWhole(
      ctx.database,
      ctx.tenantId,
      held.map(({ secret_id }) => secret_id),
    );
    const opened = await Promise.all(
      held.map((row) => openVersion(ctx, vaultIdOf(row), row, found.get(row.secret_id))),
    );
    for (const [i, value] of opened.entries()) {
      const row = held[i];
      if (row !== undefined && value !== null) yield { row, value };
    }
  }
}

function revokedMeanwhile(): CofferError {
  return new CofferError(
    'INSUFFICIENT_PRIVILEGE',
    'Your permission to read these secrets was revoked while they were being read.',
    {
      auditReason: 'secrets:read: revoked during the read',
    },
  );
}

/** How many rows can be held from this position: at least one, whatever its size. */
function heldFrom(rows: readonly DecidedRow[], at: number): number {
  let bytes = 0;
  let count = 0;
  for (; count < HELD_MAX && at + count < rows.length; count++) {
    bytes += rows[at + count]?.sealed_bytes ?? 0;
    if (bytes > HELD_BYTES_MAX && count > 0) break;
  }
  return count;
}

/** The attributes that were authorized are compared with the authenticated row before its value is decrypted. */
async function openVersion(
  ctx: Context,
  vaultId: string,
  decided: DecidedRow,
  found: (SecretRow & { row_mac: Uint8Array | null }) | undefined,
): Promise<string | null> {
  if (decided.protection === 'fortress') throw new Error('fortress secrets cannot be decrypted in bulk');
  const { secret_id: secretId, version } = decided;
  const { read } = ctx.database;
  const row = await SECRETS.checked(read, found);
  // The value of a secret that was moved to another vault is under that vault's key.
  if (row?.vault_id !== vaultId || row.path !== decided.path || row.protection === 'fortress') return null;
  const shown = row.version === version ? row : await findVersion(read, ctx.tenantId, row, version);
  if (shown === undefined) return null;
  const isAsDecided =
    shown.tags === decided.tags && (row.version !== version || row.environment === decided.environment);
  if (!isAsDecided) throw read.rowKeys.refuse(SECRETS.name, secretId);
  const { sealed, sealed_version } = shown;
  return openValue(ctx.kernel, ctx.tenantId, vaultId, { secret_id: secretId, sealed, sealed_version, data_key: null });
}

export const bulkDecrypt = { inVault, acrossVaults };
