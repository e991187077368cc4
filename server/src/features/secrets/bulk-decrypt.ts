import { recheck } from '../../kernel/acceptance.ts';
import type { Context } from '../../kernel/context.ts';
import { CofferError } from '../../kernel/errors.ts';
import { nextTurn } from '../../kernel/fairness/event-loop-turns.ts';
import { READ_WHOLE } from './read-store.ts';
import { openValue } from './sealing.ts';
import { findVersion, type ListedRow, SECRETS } from './store.ts';

/** Bounds of the values decrypted at once during a bulk read. A stalled reader holds at most this much in memory, or one larger value. */
const HELD_MAX = 16;
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
export function decryptedValues<R extends DecidedRow>(
  ctx: Context,
  vault: { vault_id: string },
  rows: readonly R[],
  mayRead: (row: R) => boolean,
): AsyncGenerator<{ row: R; value: string }> {
  return openedIn(ctx, rows, { vaultIdOf: () => vault.vault_id, mayRead });
}

/** The same for secrets in several vaults. */
export function decryptedAcross<R extends DecidedRow & { vault_id: string }>(
  ctx: Context,
  rows: readonly R[],
  mayRead: (row: R) => boolean,
): AsyncGenerator<{ row: R; value: string }> {
  return openedIn(ctx, rows, { vaultIdOf: (row) => row.vault_id, mayRead });
}

async function* openedIn<R extends DecidedRow>(
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
    if (hasMoved && !held.every(mayRead)) throw takenAway();
    const opened = await Promise.all(held.map((row) => openVersion(ctx, vaultIdOf(row), row)));
    for (const [i, value] of opened.entries()) {
      const row = held[i];
      if (row !== undefined && value !== null) yield { row, value };
    }
  }
}

function takenAway(): CofferError {
  return new CofferError('INSUFFICIENT_PRIVILEGE', 'Your right to read these values was taken away meanwhile.', {
    auditReason: 'secrets:read: taken away meanwhile',
  });
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
async function openVersion(ctx: Context, vaultId: string, decided: DecidedRow): Promise<string | null> {
  if (decided.protection === 'fortress') throw new Error('a fortress secret is opened only by itself');
  const { secret_id: secretId, version } = decided;
  const { read } = ctx.database;
  const [found] = await ctx.database.query(READ_WHOLE, { tenantId: ctx.tenantId, vaultId, secretId });
  const row = await SECRETS.checked(read, found);
  if (row === undefined || row.path !== decided.path || row.protection === 'fortress') return null;
  const shown = row.version === version ? row : await findVersion(read, ctx.tenantId, row, version);
  if (shown === undefined) return null;
  const isAsDecided =
    shown.tags === decided.tags && (row.version !== version || row.environment === decided.environment);
  if (!isAsDecided) throw read.rowKeys.refuse(SECRETS.name, secretId);
  const { sealed, sealed_version } = shown;
  return openValue(ctx.kernel, ctx.tenantId, vaultId, { secret_id: secretId, sealed, sealed_version, data_key: null });
}
