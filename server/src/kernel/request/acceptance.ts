import type { View } from '../auth/authentication.ts';
import type { Tx } from '../storage/database.ts';
import { heldEpoch } from '../storage/epochs.ts';
import type { Context } from './context.ts';

/**
 * Runs a change so that it commits only if the caller is still accepted at that moment: the credential may have been revoked while the change
 * waited. SQLite runs transactions one after the other, so the check comes first, inside the transaction. On PostgreSQL other transactions commit
 * in between, so the check comes last and locks the epoch until the commit. It reads committed rows outside the transaction, because the change may
 * revoke its own credential.
 */
export async function whileAccepted<T>(ctx: Context, tx: Tx, act: () => Promise<T>): Promise<T> {
  if (ctx.caller.principalOrNull === null) return act();
  if (ctx.database.kind === 'sqlite') {
    await acceptIfMoved(ctx, tx, tx);
    return act();
  }
  const outcome = await act();
  await acceptIfMoved(ctx, tx, ctx.database.read);
  return outcome;
}

async function acceptIfMoved({ caller, access, kernel }: Context, tx: Tx, db: View['db']): Promise<void> {
  const epoch = await heldEpoch(tx, caller.tenantId);
  if (epoch !== caller.epoch) await access.acceptAgain({ db, epochOf: () => epoch });
  if (kernel.regionGate.isOn) await kernel.regionGate.requireHere(tx, db, caller.tenantId, epoch === caller.epoch);
}

/**
 * Called before a long request reads more rows. It refuses a caller who was revoked in the meantime and applies the caller's current rights from
 * here on. Returns whether those rights may have changed.
 */
export async function recheck(ctx: Context): Promise<boolean> {
  const { caller, access, database, kernel } = ctx;
  if (caller.principalOrNull === null) return false;
  const epoch = await kernel.epochs.current(caller.tenantId);
  if (epoch === caller.epoch) return false;
  await access.acceptAgain({ db: database.read, epochOf: () => epoch });
  return true;
}
