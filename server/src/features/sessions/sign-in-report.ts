import type { Context } from '../../kernel/request/context.ts';
import type { Tx } from '../../kernel/storage/database.ts';
import { recordBreakGlassUse } from '../approvals/index.ts';
import { breakGlassNotice, noticesOf, queueMail, RECIPIENTS_MAX, recoveryCodeNotice } from '../mail/index.ts';
import { countRecoveryCodes, RECOVERY_FACTOR, type ShownFactor } from '../mfa/factors/index.ts';
import type { SessionMethod } from '../tokens/storage/index.ts';
import { listActiveAdmins, type UserRow } from '../users/storage/index.ts';

/** Tells of a sign-in that somebody should hear of, in the transaction that opens the session. */
export type SignInReport = (
  tx: Tx,
  user: UserRow,
  opened: { method?: SessionMethod; shown: ShownFactor },
) => Promise<void>;

/** Call it before the transaction, because mail is sealed with a key that may have to be made first. */
export async function signInReport(ctx: Context, { tenant_id, break_glass }: UserRow): Promise<SignInReport> {
  const notices = await noticesOf(ctx.kernel, tenant_id, 'security');
  const isTold = notices !== null && break_glass === 1;
  const admins = isTold ? await listActiveAdmins(ctx.database.read, tenant_id, RECIPIENTS_MAX) : [];
  return async (tx, user, { method, shown }) => {
    const resource = `user/${user.user_id}`;
    if (shown.factor === RECOVERY_FACTOR) {
      const left = await countRecoveryCodes(tx, tenant_id, user.user_id);
      ctx.record.addEntry('mfa:use_recovery_code', resource, { left });
      if (notices !== null) await queueMail(tx, ...notices([recoveryCodeNotice(user.email, left)]));
    }
    if (user.break_glass === 1 && method !== undefined) {
      ctx.record.addEntry('break_glass:sign_in', resource, { email: user.email, method, address: ctx.call.address });
      await recordBreakGlassUse(tx, { tenant_id, action: 'sign_in', resource, at: ctx.now });
      if (notices !== null)
        await queueMail(tx, ...notices(admins.map(({ email }) => breakGlassNotice(email, user.email, method))));
    }
  };
}
