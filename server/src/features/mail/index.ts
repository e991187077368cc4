export { countMail, mailboxOf, STRANGER_MAILS_PER_DAY_MAX } from './limits.ts';
export type { Message } from './message.ts';
export {
  approvalNotice,
  breakGlassNotice,
  evictionNotice,
  expiryNotice,
  invitationNotice,
  linkNotice,
  noticesOf,
  OCCASIONS,
  occasionsOf,
  RECIPIENTS_MAX,
  recoveryCodeNotice,
} from './notices.ts';
export { canMail, type PreparedMail, prepareMail, queueMail } from './outbox.ts';
export { mailSettings } from './settings.ts';
