import { TimeSlice } from '../../kernel/fairness/time-slice.ts';
import type { Context } from '../../kernel/request/context.ts';
import { visibleSecrets } from '../secrets/reading/index.ts';
import { isLive } from '../vaults/index.ts';
import { type VaultRow, vaultsAfter } from '../vaults/storage/index.ts';

const CHUNK = 1000;

/** Names of the vaults of a kind in which the caller may list anything, by id. */
export async function listableVaults(
  ctx: Context,
  isMeant: (vault: VaultRow) => boolean = () => true,
): Promise<Map<string, string>> {
  const names = new Map<string, string>();
  const slice = TimeSlice.of(ctx.tenantId);
  for (let after = ''; ; ) {
    const rows = await vaultsAfter(ctx.database.read, ctx.tenantId, after, CHUNK);
    for (const row of rows) {
      // Policies of many patterns take a while for each vault.
      const pause = slice.pause();
      if (pause !== undefined) await pause;
      if (isLive(row) && isMeant(row) && visibleSecrets.rangesIn(ctx, row.name, visibleSecrets.LISTED).length > 0)
        names.set(row.vault_id, row.name);
    }
    const last = rows.at(-1);
    if (last === undefined || rows.length < CHUNK) return names;
    after = last.name;
  }
}
