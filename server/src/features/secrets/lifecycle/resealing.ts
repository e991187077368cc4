import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Context } from '../../../kernel/request/context.ts';
import type { Tx } from '../../../kernel/storage/database.ts';
import type { SecretRow } from '../storage/tables.ts';
import { replaceSealed, versionsFrom } from '../storage/version-store.ts';
import { openDataKey, openValue, type SealedValue, type Sealer } from '../value/sealing.ts';

const VERSIONS_AT_ONCE = 50;

/** A value where it is sealed now: in the row of the secret, or in that of a version. */
type SealedAt = Pick<SecretRow, 'secret_id' | 'sealed' | 'sealed_version' | 'data_key'>;
type Resealed = Pick<SecretRow, 'sealed' | 'data_key'>;

async function replaceVersions(tx: Tx, row: SecretRow, reseal: (at: SealedAt) => Promise<Resealed>): Promise<void> {
  for (let after = 0; ; ) {
    const versions = await versionsFrom(tx, row, { after, limit: VERSIONS_AT_ONCE });
    for (const version of versions) {
      const { sealed, data_key } = await reseal(version);
      await replaceSealed(tx, version, { sealed, data_key });
      // On SQLite nothing else in this loop yields to the event loop, and a history may be long.
      await nextTurn();
    }
    const last = versions.at(-1);
    if (last === undefined) return;
    after = last.version;
  }
}

/** Seals all versions under the destination vault's key: under the old one they would be lost when that vault is purged. */
export async function resealForVault(ctx: Context, tx: Tx, row: SecretRow, sealer: Sealer): Promise<Resealed> {
  const { tenantId, kernel } = ctx;
  const reseal = async (at: SealedAt): Promise<Resealed> => {
    const dataKey = await openDataKey(kernel, tenantId, row.vault_id, at);
    // Each value of a fortress secret has its own data key, and only that key is wrapped by the vault's.
    if (dataKey !== null) return { sealed: at.sealed, data_key: sealer.wrapDataKey(row.secret_id, dataKey) };
    const value = await openValue(kernel, tenantId, row.vault_id, at);
    return { sealed: sealer.seal(row, at.sealed_version, value).sealed, data_key: null };
  };
  await replaceVersions(tx, row, reseal);
  return reseal(row);
}

/** Gives each value of an ordinary secret, older ones too, a data key of its own, as the values of a fortress secret have. */
export async function resealAsFortress(ctx: Context, tx: Tx, row: SecretRow, sealer: Sealer): Promise<SealedValue> {
  const reseal = async (at: SealedAt): Promise<SealedValue> => {
    const value = await openValue(ctx.kernel, ctx.tenantId, row.vault_id, at);
    return sealer.seal({ ...row, protection: 'fortress' }, at.sealed_version, value);
  };
  await replaceVersions(tx, row, reseal);
  return reseal(row);
}
