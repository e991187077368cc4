import { DAY_MS, HOUR_MS } from '../../kernel/base/clock.ts';
import { findTenant } from '../../kernel/integrity/tenant-rows.ts';
import { countedWithin } from '../../kernel/limits/attempt-counters.ts';
import type { Metrics } from '../../kernel/observability/metrics.ts';
import type { Kernel } from '../../kernel/request/kernel.ts';
import type { Tx } from '../../kernel/storage/database.ts';
import type { MailKernel } from './links.ts';
import { mailSettings } from './settings.ts';
import type { MailKind } from './store.ts';

/** Sign-ups and invitations to one mailbox a day, of all tenants together: their recipients may never have heard of Coffer. */
export const STRANGER_MAILS_PER_DAY_MAX = 10;
/** Notices of one kind to one mailbox a day. Anyone who adds an account chooses its address, so these may be strangers too. */
const NOTICES_PER_DAY_MAX: Readonly<Record<NoticeKind, number>> = { approval: 50, expiry: 10, security: 50 };
/** Notices of a tenant in an hour, for each user that its plan allows, and at most. */
const NOTICES_PER_USER = 20;
const NOTICES_PER_HOUR_MAX = 5000;
/** Invitations of a tenant in a day: one for each user that its plan allows, and at most. */
const INVITATIONS_PER_DAY_MAX = 1000;
/** Addresses of one domain get at most this share of the mail of an hour. */
const DOMAIN_SHARE = 5;
/** Providers that ignore dots in the name of a mailbox. */
const WITHOUT_DOTS: Readonly<Record<string, string>> = { 'gmail.com': 'gmail.com', 'googlemail.com': 'gmail.com' };

type NoticeKind = Exclude<MailKind, 'signup' | 'invitation'>;

/** What one more mail is too much for; null if it may leave. */
export type TooMuch = 'mailbox' | 'tenant' | 'domain' | 'installation' | null;

function limitedMails(metrics: Metrics) {
  return metrics.counter(
    'cv_mail_limited_total',
    'Mails that were not sent on this node, because there were too many.',
    ['kind', 'limit'],
  );
}

/** The mailbox in which mail to an address arrives, as far as its form tells. Only limits are counted by it: an account has its exact address. */
export function mailboxOf(email: string): string {
  const [local = '', domain = ''] = splitAddress(email.toLowerCase());
  const [name = ''] = local.split('+', 1);
  const provider = WITHOUT_DOTS[domain];
  return provider === undefined ? `${name}@${domain}` : `${name.replaceAll('.', '')}@${provider}`;
}

function splitAddress(email: string): [local: string, domain: string] {
  const at = email.lastIndexOf('@');
  return [email.slice(0, at), email.slice(at + 1)];
}

/** A mail that is to leave. */
export interface CountedMail {
  tenantId: string;
  kind: MailKind;
  to: string;
}

/** Counts a mail before it is sent, in a transaction of its own, and says whether it is too much. */
export async function countMail(kernel: MailKernel, mail: CountedMail): Promise<TooMuch> {
  const tenant = mail.kind === 'signup' ? undefined : await findTenant(kernel.database.read, mail.tenantId);
  const users = tenant === undefined ? Infinity : kernel.plans.of(tenant.plan).quotas.users;
  const tooMuch = await kernel.database.transaction((tx) => counted(tx, kernel, mail, users));
  if (tooMuch !== null) limitedMails(kernel.metrics).inc({ kind: mail.kind, limit: tooMuch });
  return tooMuch;
}

async function counted(
  tx: Tx,
  kernel: Pick<Kernel, 'clock' | 'config'>,
  { tenantId, kind, to }: CountedMail,
  users: number,
): Promise<TooMuch> {
  const now = kernel.clock.now();
  const isBeyond = async (subject: readonly string[], periodMs: number, max: number) =>
    (await countedWithin(tx, subject, { count: 1, now, periodMs })) > max;
  const mailbox = mailboxOf(to);
  const [, domain] = splitAddress(mailbox);
  if (kind !== 'signup' && kind !== 'invitation') {
    if (await isBeyond([kind, 'mailbox', mailbox], DAY_MS, NOTICES_PER_DAY_MAX[kind])) return 'mailbox';
    const perHour = Math.min(NOTICES_PER_USER * users, NOTICES_PER_HOUR_MAX);
    return (await isBeyond(['notices of', tenantId], HOUR_MS, perHour)) ? 'tenant' : null;
  }
  const toMailbox = await isBeyond(['sign-up mailbox', mailbox], DAY_MS, STRANGER_MAILS_PER_DAY_MAX);
  if (kind === 'invitation') {
    if (toMailbox) return 'mailbox';
    const perDay = Math.min(users, INVITATIONS_PER_DAY_MAX);
    if (await isBeyond(['invitations of', tenantId], DAY_MS, perDay)) return 'tenant';
  }
  const perHour = kernel.config.of(mailSettings).signupMailsPerHour;
  const what = kind === 'signup' ? 'sign-up' : 'invitation';
  const toDomain = await isBeyond([`${what} domain`, domain], HOUR_MS, Math.ceil(perHour / DOMAIN_SHARE));
  const toAll = await isBeyond([`${what}s`], HOUR_MS, perHour);
  if (toDomain || toAll) return toDomain ? 'domain' : 'installation';
  return toMailbox ? 'mailbox' : null;
}
