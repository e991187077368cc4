import { DAY_MS, HOUR_MS, SECOND_MS } from '../../kernel/platform/clock.ts';
import { CofferError } from '../../kernel/platform/errors.ts';
import type { Context } from '../../kernel/request/context.ts';
import { beginTry, countedWithin, signupSubjects } from '../sessions/index.ts';

/** Mail to one mailbox a day. Beyond that a sign-up gets the same response, and changes nothing. */
export const MAILS_PER_DAY_MAX = 10;
/** Addresses of one domain get at most this share of the mail of an hour. */
const DOMAIN_SHARE = 5;
/** Providers that ignore dots in the name of a mailbox. */
const WITHOUT_DOTS: Readonly<Record<string, string>> = { 'gmail.com': 'gmail.com', 'googlemail.com': 'gmail.com' };

/** The mailbox in which mail to an address arrives, as far as its form tells. Only limits are counted by it: an account has its exact address. */
export function mailboxOf(email: string): string {
  const [local = '', domain = ''] = splitAddress(email);
  const [name = ''] = local.split('+', 1);
  const provider = WITHOUT_DOTS[domain];
  return provider === undefined ? `${name}@${domain}` : `${name.replaceAll('.', '')}@${provider}`;
}

function splitAddress(email: string): [local: string, domain: string] {
  const at = email.lastIndexOf('@');
  return [email.slice(0, at), email.slice(at + 1)];
}

/**
 * Counts a sign-up or resend, and refuses what is too much. Each counts as a mail, whether one is sent or not, so that no limit tells whether an
 * address has an account. Returns false if the mailbox has got its mail of the day.
 */
export async function countSignup(ctx: Context, email: string): Promise<boolean> {
  const { database, now, kernel, call } = ctx;
  const mailbox = mailboxOf(email);
  await beginTry(database, signupSubjects(mailbox, call.address), now, 'sign-ups');
  const perHour = kernel.config.signupMailsPerHour;
  const perDomain = Math.ceil(perHour / DOMAIN_SHARE);
  const [, domain] = splitAddress(mailbox);
  const counted = await database.transaction(async (tx) => {
    const hourly = { count: 1, now, periodMs: HOUR_MS };
    return {
      toMailbox: await countedWithin(tx, ['sign-up mailbox', mailbox], { count: 1, now, periodMs: DAY_MS }),
      toDomain: await countedWithin(tx, ['sign-up domain', domain], hourly),
      toAll: await countedWithin(tx, ['sign-ups'], hourly),
    };
  });
  if (counted.toDomain > perDomain) throw tooMany('for addresses of this domain');
  if (counted.toAll > perHour) throw tooMany('at this installation');
  return counted.toMailbox <= MAILS_PER_DAY_MAX;
}

function tooMany(where: string): CofferError {
  return new CofferError('RATE_LIMIT_EXCEEDED', `Too many sign-ups ${where} in the last hour: try again in an hour.`, {
    retryAfterSeconds: HOUR_MS / SECOND_MS,
    auditReason: `too many sign-ups ${where}`,
  });
}
