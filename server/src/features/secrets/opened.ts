import type { Context } from '../../kernel/context.ts';
import { READ_VERSION } from './read-store.ts';
import { openValue } from './sealing.ts';
import type { SummaryRow } from './store.ts';

/** Values held at once while many are read: a value may be a mebibyte. */
const HELD_MAX = 16;

/** A secret as it was decided on. */
export type DecidedRow = Pick<SummaryRow, 'secret_id' | 'version' | 'protection'>;

/**
 * The values of ordinary secrets, in the versions that were decided on: what the policy saw is what is read, whatever changed since. A
 * version that is gone by then, or moved elsewhere, is left out.
 */
export function openedValues<R extends DecidedRow>(
  ctx: Context,
  vault: { vault_id: string },
  rows: readonly R[],
): AsyncGenerator<{ row: R; value: string }> {
  return openedIn(ctx, rows, () => vault.vault_id);
}

/** The same, of secrets in several vaults. */
export function openedAcross<R extends DecidedRow & { vault_id: string }>(
  ctx: Context,
  rows: readonly R[],
): AsyncGenerator<{ row: R; value: string }> {
  return openedIn(ctx, rows, (row) => row.vault_id);
}

async function* openedIn<R extends DecidedRow>(
  ctx: Context,
  rows: readonly R[],
  vaultIdOf: (row: R) => string,
): AsyncGenerator<{ row: R; value: string }> {
  for (let at = 0; at < rows.length; at += HELD_MAX) {
    const held = rows.slice(at, at + HELD_MAX);
    const opened = await Promise.all(held.map((row) => openVersion(ctx, vaultIdOf(row), row)));
    for (const [i, value] of opened.entries()) {
      const row = held[i];
      if (row !== undefined && value !== null) yield { row, value };
    }
  }
}

async function openVersion(ctx: Context, vaultId: string, row: DecidedRow): Promise<string | null> {
  if (row.protection === 'fortress') throw new Error('a fortress secret is opened only by itself');
  const { secret_id, version } = row;
  const [found] = await ctx.database.query(READ_VERSION, {
    tenantId: ctx.tenantId,
    vaultId,
    secretId: secret_id,
    version,
  });
  return found === undefined
    ? null
    : openValue(ctx.kernel, ctx.tenantId, vaultId, { ...found, secret_id, data_key: null });
}
