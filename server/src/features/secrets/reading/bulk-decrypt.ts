import { CofferError } from '../../../kernel/base/errors.ts';
import type { MacKey } from '../../../kernel/crypto/mac-key.ts';
import { nextTurn } from '../../../kernel/fairness/event-loop-turns.ts';
import { someInSlices } from '../../../kernel/fairness/time-slice.ts';
import { recheck } from '../../../kernel/request/acceptance.ts';
import type { Context } from '../../../kernel/request/context.ts';
import { type ListedRow, SECRETS, type SecretRow } from '../storage/tables.ts';
import { findVersion } from '../storage/version-store.ts';
import { openNow, openValue } from '../value/sealing.ts';
import { readWhole } from './read-store.ts';

/** Bounds of the values decrypted at once during a bulk read. A stalled reader holds at most this much in memory, or one larger value. */
const HELD_MAX = 32;
const HELD_BYTES_MAX = 256 * 1024;

/** A secret as the policy decided on it. It comes from a list, whose rows are not authenticated one by one. */
export type DecidedRow = Pick<
  ListedRow,
  'secret_id' | 'version' | 'protection' | 'path' | 'environment' | 'tags' | 'sealed_bytes'
>;

export interface Opened<R> {
  row: R;
  value: string;
}

/**
 * Decrypts the values of ordinary secrets, some at a time, in the versions that were authorized: the policy decision stays valid even if the secret
 * changes meanwhile. A version that was deleted or moved meanwhile is left out. A caller revoked meanwhile is refused; if their rights may have
 * changed, `mayRead` decides again.
 */
function inVault<R extends DecidedRow>(
  ctx: Context,
  vault: { vault_id: string },
  rows: readonly R[],
  mayRead: (row: R) => boolean,
): AsyncGenerator<Opened<R>[]> {
  return decryptedIn(ctx, rows, { vaultIdOf: () => vault.vault_id, mayRead });
}

/** The same for secrets in several vaults. */
function acrossVaults<R extends DecidedRow & { vault_id: string }>(
  ctx: Context,
  rows: readonly R[],
  mayRead: (row: R) => boolean,
): AsyncGenerator<Opened<R>[]> {
  return decryptedIn(ctx, rows, { vaultIdOf: (row) => row.vault_id, mayRead });
}

async function* decryptedIn<R extends DecidedRow>(
  ctx: Context,
  rows: readonly R[],
  { vaultIdOf, mayRead }: { vaultIdOf(row: R): string; mayRead(row: R): boolean },
): AsyncGenerator<Opened<R>[]> {
  let hasMoved = false;
  for (let at = 0; at < rows.length; ) {
    const held = rows.slice(at, at + heldFrom(rows, at));
    at += held.length;
    await nextTurn(ctx.tenantId);
    // Reading may take minutes, and the caller may be revoked even before the first value is read.
    if (await recheck(ctx)) hasMoved = true;
    if (hasMoved && (await someInSlices(ctx.tenantId, held, (row) => !mayRead(row)))) throw revokedMeanwhile();
    const found = await readWhole(
      ctx.database,
      ctx.tenantId,
      held.map(({ secret_id }) => secret_id),
    );
    const key = await ctx.database.read.rowKeys.keyForCheck(ctx.tenantId);
    const opened: Opened<R>[] = [];
    for (const row of held) {
      const stored = checkedWith(ctx, key, found.get(row.secret_id));
      if (stored === undefined || !isWhereDecided(stored, vaultIdOf(row), row)) continue;
      const at = { ctx, vaultId: vaultIdOf(row) };
      const value = openedNow(at, row, stored) ?? (await openVersion(at, row, stored, mayRead));
      if (value !== null) opened.push({ row, value });
    }
    yield opened;
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

type StoredRow = SecretRow & { row_mac: Uint8Array | null };

function checkedWith(ctx: Context, key: MacKey | null, row: StoredRow | undefined): SecretRow | undefined {
  if (row === undefined || (key !== null && SECRETS.isAuthenticWith(key, row))) return row;
  throw ctx.database.read.rowKeys.refuse(SECRETS.name, SECRETS.keyText(row));
}

interface At {
  ctx: Context;
  vaultId: string;
}

/** Opens the value without waiting, in the usual case: the version is the newest, and the key of its vault is cached. */
function openedNow({ ctx, vaultId }: At, decided: DecidedRow, row: SecretRow): string | null {
  if (row.version !== decided.version) return null;
  refuseUnlessAsDecided(ctx, decided, row);
  return openNow(ctx.kernel, ctx.tenantId, vaultId, row);
}

async function openVersion<R extends DecidedRow>(
  { ctx, vaultId }: At,
  decided: R,
  row: SecretRow,
  mayRead: (row: R) => boolean,
): Promise<string | null> {
  const { secret_id: secretId, version } = decided;
  const shown = row.version === version ? row : await findVersion(ctx.database.read, ctx.tenantId, row, version);
  if (shown === undefined) return null;
  if (shown === row) refuseUnlessAsDecided(ctx, decided, row);
  // As for a read of an older version: both the current tags and those of the version decide.
  else if (![row, shown].every(({ tags }) => mayRead({ ...decided, environment: row.environment, tags }))) return null;
  const { sealed, sealed_version } = shown;
  return openValue(ctx.kernel, ctx.tenantId, vaultId, { secret_id: secretId, sealed, sealed_version, data_key: null });
}

/** The value of a secret that was moved to another vault is under that vault's key. */
function isWhereDecided(row: SecretRow, vaultId: string, { path, protection }: DecidedRow): boolean {
  if (protection === 'fortress') throw new Error('fortress secrets cannot be decrypted in bulk');
  return row.vault_id === vaultId && row.path === path && row.protection !== 'fortress';
}

/**
 * The attributes that were authorized are compared with the authenticated row before its value is decrypted. If its version is another one, the
 * secret was changed after the decision, or somebody edited the listed row: then the decision is made again.
 */
function refuseUnlessAsDecided(ctx: Context, decided: DecidedRow, row: SecretRow): void {
  if (row.tags === decided.tags && row.environment === decided.environment) return;
  throw ctx.database.read.rowKeys.refuse(SECRETS.name, decided.secret_id);
}

export const bulkDecrypt = { inVault, acrossVaults };
