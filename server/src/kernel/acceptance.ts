import type { View } from './auth/authentication.ts';
import type { Context } from './context.ts';
import type { Tx } from './storage/database.ts';
import { heldEpoch } from './storage/epochs.ts';

/**
 * Runs a change so that it commits only for a caller who is accepted at that moment: they may have been revoked while it waited. On SQLite one
 * transaction runs after the other, so it is asked first, in the transaction. On PostgreSQL others commit meanwhile, so it is asked last, with
 * the epoch held until the commit; and of what is committed, since the change may be revoking its own credential.
 */
export async function whileAccepted<T>(ctx: Context, tx: Tx, act: () => Promise<T>): Promise<T> {
  if (ctx.principalOrNull === null) return act();
  if (ctx.database.kind === 'sqlite') {
    await acceptIfMoved(ctx, tx, tx);
    return act();
  }
  const outcome = await act();
  await acceptIfMoved(ctx, tx, ctx.database.read);
  return outcome;
}

async function acceptIfMoved(ctx: Context, tx: Tx, db: View['db']): Promise<void> {
  const epoch = await heldEpoch(tx, ctx.tenantId);
  if (epoch !== ctx.epoch) await ctx.acceptAgain({ db, epochOf: () => epoch });
}

/**
 * Before more is read for a request that takes long. Who was revoked since is refused, and from here on the rights count that the caller has
 * now; says whether they may be others.
 */
export async function recheck(ctx: Context): Promise<boolean> {
  if (ctx.principalOrNull === null) return false;
  const epoch = await ctx.kernel.epochs.current(ctx.tenantId);
  if (epoch === ctx.epoch) return false;
  await ctx.acceptAgain({ db: ctx.database.read, epochOf: () => epoch });
  return true;
}
