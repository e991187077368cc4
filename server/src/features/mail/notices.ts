import { findTenant } from '../../kernel/integrity/tenant-rows.ts';
import type { MailKernel } from './links.ts';
import type { Message } from './message.ts';
import { isMailAddress } from './message.ts';
import { canMail, mailSealer, type PreparedMail } from './outbox.ts';
import type { MailKind } from './store.ts';

/** The occasions on which a tenant can have mail sent to the people concerned. */
export const OCCASIONS = ['invitations', 'approvals', 'expiry', 'security'] as const;
export type Occasion = (typeof OCCASIONS)[number];

const KINDS: Record<Occasion, MailKind> = {
  invitations: 'invitation',
  approvals: 'approval',
  expiry: 'expiry',
  security: 'security',
};
/** People who get a notice of one occasion. */
export const RECIPIENTS_MAX = 50;

/** Seals notices inside a transaction, for those of the addresses that mail can be sent to. */
export type Notices = (messages: readonly Message[]) => PreparedMail[];

/** Null unless the tenant has mail sent on this occasion. Call it before the transaction, because it may create a key. */
export async function noticesOf(kernel: MailKernel, tenantId: string, occasion: Occasion): Promise<Notices | null> {
  if (!canMail(kernel.config)) return null;
  const tenant = await findTenant(kernel.database.read, tenantId);
  if (!occasionsOf(tenant?.mail_notices ?? null).includes(occasion)) return null;
  const seal = await mailSealer(kernel, tenantId);
  return (messages) =>
    messages
      .filter(({ to }) => isMailAddress(to))
      .slice(0, RECIPIENTS_MAX)
      .map((message) => seal(KINDS[occasion], message));
}

export function occasionsOf(stored: string | null): Occasion[] {
  return stored === null ? [] : (JSON.parse(stored) as Occasion[]);
}

export function invitationNotice(to: string, baseUrl: string, token: string): Message {
  return {
    to,
    subject: 'You are invited to Coffer',
    paragraphs: [
      'A colleague invited you to Coffer. Within 72 hours, choose a password of at least 12 characters and send it with this token:',
      { copy: token },
      'For example:',
      {
        copy: `curl -X POST ${baseUrl}/auth/accept-invite \\\n  -H 'Content-Type: application/json' \\\n  -d '{"token": "${token}", "password": "YOUR PASSWORD"}'`,
      },
      'Whoever has the token can accept the invitation, so keep this mail to yourself. If you expected no invitation, ignore it.',
    ],
  };
}

export function approvalNotice(to: string, baseUrl: string, approvalId: string, summary: string): Message {
  return {
    to,
    subject: 'A change waits for your approval in Coffer',
    paragraphs: [
      summary,
      'Read exactly what will happen before you decide:',
      { copy: `GET ${baseUrl}/approvals/${approvalId}` },
    ],
  };
}

export function expiryNotice(to: string, lines: readonly string[]): Message {
  return {
    to,
    subject: 'Secrets in Coffer expire soon',
    paragraphs: [
      'These secrets are in vaults that you manage:',
      { copy: lines.join('\n') },
      'Replace or rotate them before.',
    ],
  };
}

export function recoveryCodeNotice(to: string, left: number): Message {
  return {
    to,
    subject: 'A recovery code of yours was used in Coffer',
    paragraphs: [
      `Somebody signed in to your account with a recovery code. ${left} of your codes are left.`,
      'If it was not you, change your password, end your sessions, and tell an admin of your organization.',
    ],
  };
}

export function linkNotice(to: string, provider: string, isLinked: boolean): Message {
  const what = isLinked ? 'linked with' : 'unlinked from';
  return {
    to,
    subject: `Your Coffer account was ${what} an identity provider`,
    paragraphs: [
      isLinked
        ? `Your account was linked with an identity at ${provider}. Whoever has that identity can sign in as you, and your role and groups follow the provider, unless you are an owner.`
        : `Your account was unlinked from ${provider}, with which you could sign in until now.`,
      'If it was not you, change your password, end your sessions, and tell an admin of your organization.',
    ],
  };
}

export function breakGlassNotice(to: string, who: string, method: string): Message {
  return {
    to,
    subject: 'A break-glass owner signed in to Coffer',
    paragraphs: [
      `The break-glass owner ${who} signed in with a ${method}, without your identity provider.`,
      'If nobody of you expected that, end the sessions of the account; the audit log has it as break_glass:sign_in.',
    ],
  };
}

export function evictionNotice(to: string, who: string, operation: string, resource: string): Message {
  return {
    to,
    subject: 'An owner took rights away in Coffer without approval',
    paragraphs: [
      `The owner ${who} carried out ${operation} on ${resource} at once. Owners can do so to stop an identity provider, or an account that one made.`,
      'If nobody of you expected that, end the sessions of the owner; the audit log has it as break_glass:evict.',
    ],
  };
}
