import { join, resolve } from 'node:path';
import { hideSecrets } from '../kernel/base/hidden-secrets.ts';
import { isOnThisMachine } from '../kernel/base/host-name.ts';
import type { Plan } from '../kernel/limits/rate-classes.ts';
import type { MailSender, SmtpServer } from './saas-settings.ts';
import type { SettingName, Values } from './settings.ts';

/** How mail is sent: by a mail server, as files while the service can be reached from this machine only, or not at all. */
export type MailConfig =
  | { readonly kind: 'smtp'; readonly server: SmtpServer; readonly from: MailSender }
  | { readonly kind: 'files'; readonly folder: string; readonly from: MailSender }
  | { readonly kind: 'off' };

/** Stripe's webhooks, and where the state of a subscription is fetched. */
export interface StripeConfig {
  readonly secrets: readonly string[] | { readonly file: string };
  readonly plans: ReadonlyMap<string, Plan>;
  readonly apiKey: string | null;
  readonly apiUrl: string;
}

const MAIL_FROM_IN_FILES: MailSender = { name: 'Coffer', address: 'coffer@localhost' };

/** Nobody else can reach the service, so it is a development start: its mail goes to files, where the developer finds it. */
function isDevelopment({ CV_HOST: host, CV_BASE_URL: baseUrl }: Partial<Values>): boolean {
  return host !== undefined && isOnThisMachine(host) && baseUrl === null;
}

export function mailOf(values: Values, dataDir: string): MailConfig {
  const { CV_SMTP_URL: server, CV_MAIL_FROM: from } = values;
  if (server !== null && from !== null) {
    const auth = server.auth && Object.freeze(hideSecrets({ ...server.auth }));
    return Object.freeze({ kind: 'smtp', server: Object.freeze({ ...server, auth }), from });
  }
  if (!isDevelopment(values)) return Object.freeze({ kind: 'off' });
  return Object.freeze({ kind: 'files', folder: join(dataDir, 'mail'), from: from ?? MAIL_FROM_IN_FILES });
}

export function stripeOf(values: Values): StripeConfig | null {
  const { CV_STRIPE_WEBHOOK_SECRET: given, CV_STRIPE_WEBHOOK_SECRET_FILE: file } = values;
  const secrets = given ?? (file === null ? null : Object.freeze({ file: resolve(file) }));
  if (secrets === null) return null;
  return Object.freeze(
    hideSecrets({
      secrets,
      plans: values.CV_STRIPE_PRICES ?? new Map<string, Plan>(),
      apiKey: values.CV_STRIPE_API_KEY,
      apiUrl: values.CV_STRIPE_API_URL,
    }),
  );
}

const STRIPE_SETTINGS = ['CV_STRIPE_PRICES', 'CV_STRIPE_API_KEY', 'CV_STRIPE_API_URL'] as const;

export function saasConflicts(
  given: ReadonlySet<SettingName>,
  values: Partial<Record<SettingName, unknown>>,
): string[] {
  const problems: string[] = [];
  const check = (isWrong: boolean, problem: string) => isWrong && problems.push(problem);
  check(given.has('CV_SMTP_URL') && !given.has('CV_MAIL_FROM'), 'CV_MAIL_FROM must be set too, or remove CV_SMTP_URL.');
  check(
    values['CV_SIGNUP'] === true && !given.has('CV_SMTP_URL') && !isDevelopment(values as Partial<Values>),
    'CV_SIGNUP=on requires CV_SMTP_URL and CV_MAIL_FROM, because new owners verify their e-mail address. Only a service that can be reached from this machine alone (CV_HOST=127.0.0.1, no CV_BASE_URL) writes mail to files instead.',
  );
  check(
    given.has('CV_SIGNUP_MAILS_PER_HOUR') && values['CV_SIGNUP'] !== true,
    'CV_SIGNUP_MAILS_PER_HOUR has no effect here: remove it, or set CV_SIGNUP=on.',
  );
  const [secret, file] = [given.has('CV_STRIPE_WEBHOOK_SECRET'), given.has('CV_STRIPE_WEBHOOK_SECRET_FILE')];
  check(secret && file, 'CV_STRIPE_WEBHOOK_SECRET and CV_STRIPE_WEBHOOK_SECRET_FILE exclude each other: set one.');
  for (const name of STRIPE_SETTINGS) {
    check(
      given.has(name) && !secret && !file,
      `${name} has no effect here: remove it, or set CV_STRIPE_WEBHOOK_SECRET or CV_STRIPE_WEBHOOK_SECRET_FILE.`,
    );
  }
  check(
    given.has('CV_STRIPE_API_URL') && !given.has('CV_STRIPE_API_KEY'),
    'CV_STRIPE_API_URL has no effect here: remove it, or set CV_STRIPE_API_KEY.',
  );
  check(
    (secret || file) && !given.has('CV_STRIPE_PRICES'),
    'CV_STRIPE_PRICES must be set too, so that it is known which price is which plan.',
  );
  return problems;
}
