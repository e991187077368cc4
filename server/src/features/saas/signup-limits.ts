import { HOUR_MS, SECOND_MS } from '../../kernel/base/clock.ts';
import { CofferError } from '../../kernel/base/errors.ts';
import type { Context } from '../../kernel/request/context.ts';
import { countMail, mailboxOf } from '../mail/index.ts';
import { beginTry, signupSubjects } from '../sessions/index.ts';

/**
 * Counts a sign-up or resend, and refuses what is too much. Each counts as a mail, whether one is sent or not, so that no limit tells whether an
 * address has an account. Returns false if the mailbox has got its mail of the day: such a sign-up gets the same response, and changes nothing.
 */
export async function countSignup(ctx: Context, email: string): Promise<boolean> {
  const { database, now, kernel, call } = ctx;
  await beginTry(database, signupSubjects(mailboxOf(email), call.address), now, 'sign-ups');
  const tooMuch = await countMail(kernel, { tenantId: kernel.operatorTenantId, kind: 'signup', to: email });
  if (tooMuch === 'domain') throw tooMany('for addresses of this domain');
  if (tooMuch === 'installation') throw tooMany('at this installation');
  return tooMuch === null;
}

function tooMany(where: string): CofferError {
  return new CofferError('RATE_LIMIT_EXCEEDED', `Too many sign-ups ${where} in the last hour: try again in an hour.`, {
    retryAfterSeconds: HOUR_MS / SECOND_MS,
    auditReason: `too many sign-ups ${where}`,
  });
}
