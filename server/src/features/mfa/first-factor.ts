import type { Context } from '../../kernel/request/context.ts';
import type { Tx } from '../../kernel/storage/database.ts';
import type { UserRow } from '../users/storage/index.ts';
import { type Factors, hasAny, type ShownFactor } from './factors/factors.ts';
import type { MfaParts } from './links.ts';
import type { ContinuedSession } from './schemas.ts';

/** Stores the new session in the transaction of a change. The caller has locked the person's row. */
export type Continue = (
  tx: Tx,
  user: UserRow | undefined,
  show: (user: UserRow) => Promise<ShownFactor>,
) => Promise<ContinuedSession>;

/** Null if the person wants no new session, or has none that could continue. */
export async function continuation(
  ctx: Context,
  isWanted: boolean | undefined,
  { continueSession }: Pick<MfaParts, 'continueSession'>,
): Promise<Continue | null> {
  return isWanted === true && ctx.principal.credential === 'session' ? continueSession(ctx) : null;
}

/**
 * Anyone who adds their first factor has it at hand, so it can count as shown. Anyone who had one before has just shown that: the new one neither prolongs
 * nor replaces this proof, which may open fortress secrets.
 */
export async function shownByAdding(
  tx: Tx,
  proceed: Continue | null,
  { user, before, factor }: { user: UserRow | undefined; before: Factors; factor: string },
): Promise<ContinuedSession | null> {
  if (proceed === null || hasAny(before)) return null;
  return proceed(tx, user, async () => ({ factor, factor_trusted_from: null }));
}
