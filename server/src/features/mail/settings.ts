import { join, resolve } from 'node:path';
import { hideSecrets } from '../../kernel/base/hidden-secrets.ts';
import { isOnThisMachine } from '../../kernel/base/host-name.ts';
import type { ValuesOf } from '../../settings/setting.ts';
import { settingGroup } from '../../settings/setting-group.ts';
import { type Kind, onOrOff, whole } from '../../settings/setting-kind.ts';
import type { Values } from '../../settings/settings.ts';

/** A mail server, from a URL such as smtps://user:password@mail.example.com. */
export interface SmtpServer {
  readonly host: string;
  readonly port: number;
  /** TLS from the first byte; otherwise by STARTTLS, if the server offers it. */
  readonly isTls: boolean;
  readonly auth: { readonly user: string; readonly pass: string } | null;
}

const SMTP_PORTS = { 'smtp:': 587, 'smtps:': 465 } as const;

const smtpUrl: Kind<SmtpServer> = {
  expects: 'a URL such as smtps://user:password@mail.example.com or smtp://mail.example.com:587',
  parse: parseSmtpUrl,
};

function parseSmtpUrl(written: string): SmtpServer | undefined {
  if (!/^smtps?:\/\/[^\s/?#]+\/?$/i.test(written) || !URL.canParse(written)) return undefined;
  const { protocol, hostname, port, username, password } = new URL(written);
  const isTls = protocol === 'smtps:';
  if (hostname === '' || (username === '') !== (password === '')) return undefined;
  try {
    const auth = username === '' ? null : { user: decodeURIComponent(username), pass: decodeURIComponent(password) };
    const host = hostname.replace(/^\[|\]$/g, '');
    return { host, port: Number(port || SMTP_PORTS[isTls ? 'smtps:' : 'smtp:']), isTls, auth };
  } catch {
    return undefined;
  }
}

/** Who mail comes from. */
export interface MailSender {
  readonly name: string;
  readonly address: string;
}

const SENDER_NAME = 'Coffer';
const SENDER_NAME_FORM = /^[^\p{C}\p{Zl}\p{Zp}"<>@\\]{1,64}$/u;

/** The address has the form that addresses in requests have, which leaves no room for a second address or header; neither has the name. */
const mailFrom: Kind<MailSender> = {
  expects:
    'an e-mail address such as coffer@example.com, or a name with one such as Secrets of Acme <coffer@example.com>',
  parse: (written) => {
    const isNamed = written.endsWith('>') && written.includes('<');
    const at = written.indexOf('<');
    const address = isNamed ? written.slice(at + 1, -1) : written;
    const name = isNamed
      ? written
          .slice(0, at)
          .trim()
          .replace(/^"(.*)"$/, '$1')
      : SENDER_NAME;
    const isAddress = /^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9.-]{1,189}$/.test(address);
    return isAddress && SENDER_NAME_FORM.test(name) ? { name, address } : undefined;
  },
};

/** How mail is sent: by a mail server, as files while the service can be reached from this machine only, or not at all. */
export type MailConfig =
  | { readonly kind: 'smtp'; readonly server: SmtpServer; readonly from: MailSender }
  | { readonly kind: 'files'; readonly folder: string; readonly from: MailSender }
  | { readonly kind: 'off' };

const SETTINGS = [
  {
    name: 'CV_SMTP_URL',
    kind: smtpUrl,
    default: null,
    fallback: 'none: mail is written to files if the service can be reached from this machine only',
    doc: 'Mail server: `smtps://user:password@host` (TLS) or `smtp://host:587` (STARTTLS if the server offers it, and always with a password). Together with `CV_MAIL_FROM`.',
    secret: true,
  },
  {
    name: 'CV_MAIL_FROM',
    kind: mailFrom,
    default: null,
    fallback: '`coffer@localhost` for mail in files',
    doc: 'Address that mail comes from, also with a name: `Secrets of Acme <coffer@example.com>`. Without one the name is Coffer.',
    secret: false,
  },
  {
    name: 'CV_SIGNUP',
    kind: onOrOff,
    default: 'off',
    doc: '`on`: anyone can create a tenant on the starter plan at `POST /saas/signup`, after verifying an e-mail address.',
    secret: false,
  },
  {
    name: 'CV_SIGNUP_MAILS_PER_HOUR',
    kind: whole(1, 1_000_000),
    default: '1000',
    doc: 'Sign-ups and resends that are accepted in an hour, since each of them sends a mail; a fifth of them for addresses of one domain.',
    secret: false,
  },
] as const;

type MailValues = ValuesOf<typeof SETTINGS>;

const MAIL_FROM_IN_FILES: MailSender = { name: 'Coffer', address: 'coffer@localhost' };

/** Nobody else can reach the service, so it is a development start: its mail goes to files, where the developer finds it. */
function isDevelopment({ CV_HOST: host, CV_BASE_URL: baseUrl }: Partial<Values>): boolean {
  return host !== undefined && isOnThisMachine(host) && baseUrl === null;
}

function mailOf(values: MailValues & Values): MailConfig {
  const { CV_SMTP_URL: server, CV_MAIL_FROM: from } = values;
  if (server !== null && from !== null) {
    const auth = server.auth && Object.freeze(hideSecrets({ ...server.auth }));
    return Object.freeze({ kind: 'smtp', server: Object.freeze({ ...server, auth }), from });
  }
  if (!isDevelopment(values)) return Object.freeze({ kind: 'off' });
  return Object.freeze({
    kind: 'files',
    folder: join(resolve(values.CV_DATA_DIR), 'mail'),
    from: from ?? MAIL_FROM_IN_FILES,
  });
}

function conflicts(given: ReadonlySet<string>, values: Partial<MailValues & Values>): string[] {
  const problems: string[] = [];
  const check = (isWrong: boolean, problem: string) => isWrong && problems.push(problem);
  check(given.has('CV_SMTP_URL') && !given.has('CV_MAIL_FROM'), 'CV_MAIL_FROM must be set too, or remove CV_SMTP_URL.');
  check(
    values['CV_SIGNUP'] === true && !given.has('CV_SMTP_URL') && !isDevelopment(values),
    'CV_SIGNUP=on requires CV_SMTP_URL and CV_MAIL_FROM, because new owners verify their e-mail address. Only a service that can be reached from this machine alone (CV_HOST=127.0.0.1, no CV_BASE_URL) writes mail to files instead.',
  );
  check(
    given.has('CV_SIGNUP_MAILS_PER_HOUR') && values['CV_SIGNUP'] !== true,
    'CV_SIGNUP_MAILS_PER_HOUR has no effect here: remove it, or set CV_SIGNUP=on.',
  );
  return problems;
}

interface MailSettings {
  readonly mail: MailConfig;
  readonly isSignupOn: boolean;
  readonly signupMailsPerHour: number;
}

function build(values: MailValues & Values): MailSettings {
  const { CV_SIGNUP: isSignupOn, CV_SIGNUP_MAILS_PER_HOUR: signupMailsPerHour } = values;
  return Object.freeze({ mail: mailOf(values), isSignupOn, signupMailsPerHour });
}

/** Mail, and the sign-up of strangers, which needs it. */
export const mailSettings = settingGroup({
  settings: SETTINGS,
  conflicts,
  build,
  reloads: { CV_SMTP_URL: (before, next) => before.mail.kind === next.mail.kind },
});
