import { PLANS, type Plan } from '../kernel/limits/rate-classes.ts';
import { type Kind, onOrOff, parseBaseUrl, text, whole } from './setting-kind.ts';

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

const SIGNING_SECRETS_MAX = 2;
export const signingSecrets: Kind<readonly string[]> = {
  expects: `one or ${SIGNING_SECRETS_MAX} secrets of whsec_ and 16 to 256 characters, separated by a comma`,
  parse: (written) => {
    const secrets = written.split(',').map((secret) => secret.trim());
    const isValid = secrets.length <= SIGNING_SECRETS_MAX && secrets.every((one) => /^whsec_[!-~]{16,256}$/.test(one));
    return isValid ? secrets : undefined;
  },
};

const PRICES_MAX = 64;
const prices: Kind<ReadonlyMap<string, Plan>> = {
  expects: `a comma-separated list of at most ${PRICES_MAX} prices with their plans, such as price_1Abc=professional,price_1Def=enterprise`,
  parse: (written) => {
    const entries = written.split(',', PRICES_MAX + 1).map((entry) => entry.trim().split('='));
    const known = new Map<string, Plan>();
    for (const [price = '', name, ...more] of entries) {
      const plan = PLANS.find((one) => one === name);
      if (!/^[A-Za-z0-9_]{1,128}$/.test(price) || plan === undefined || more.length > 0 || known.has(price))
        return undefined;
      known.set(price, plan);
    }
    return known.size <= PRICES_MAX ? known : undefined;
  },
};

const apiUrl: Kind<string> = { expects: 'an https:// URL without user, path or query', parse: parseBaseUrl };

/** Settings of an installation that offers Coffer to others: mail, sign-up, billing. */
export const SAAS_SETTINGS = [
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
  {
    name: 'CV_STRIPE_WEBHOOK_SECRET',
    kind: signingSecrets,
    default: null,
    fallback: 'none: `POST /billing/webhook` does not exist',
    doc: 'Signing secret of the Stripe webhook endpoint, `whsec_…`. Two, separated by a comma, while it is rotated.',
    secret: true,
  },
  {
    name: 'CV_STRIPE_WEBHOOK_SECRET_FILE',
    kind: text,
    default: null,
    doc: 'File that contains the signing secret or secrets instead.',
    secret: false,
  },
  {
    name: 'CV_STRIPE_PRICES',
    kind: prices,
    default: null,
    doc: 'Which Stripe price is which plan: `price_1Abc=professional,price_1Def=enterprise`. Together with a signing secret.',
    secret: false,
  },
  {
    name: 'CV_STRIPE_API_KEY',
    kind: text,
    default: null,
    fallback: 'none: the state in the events is used',
    doc: 'Restricted Stripe key that may read subscriptions. With it, the current state of a subscription is fetched after each event.',
    secret: true,
  },
  {
    name: 'CV_STRIPE_API_URL',
    kind: apiUrl,
    default: 'https://api.stripe.com',
    doc: 'Where that state is fetched from.',
    secret: false,
  },
] as const;
