import { resolve } from 'node:path';
import { hideSecrets } from '../../kernel/base/hidden-secrets.ts';
import { PLANS, type Plan } from '../../kernel/limits/rate-classes.ts';
import type { ValuesOf } from '../../settings/setting.ts';
import { settingGroup } from '../../settings/setting-group.ts';
import { type Kind, parseBaseUrl, text } from '../../settings/setting-kind.ts';

/** Stripe's webhooks, and where the state of a subscription is fetched. */
export interface StripeConfig {
  readonly secrets: readonly string[] | { readonly file: string };
  readonly plans: ReadonlyMap<string, Plan>;
  readonly apiKey: string | null;
  readonly apiUrl: string;
}

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

const SETTINGS = [
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

type StripeValues = ValuesOf<typeof SETTINGS>;

function build(values: StripeValues): StripeConfig | null {
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

const NEED_A_SECRET = ['CV_STRIPE_PRICES', 'CV_STRIPE_API_KEY', 'CV_STRIPE_API_URL'] as const;

function conflicts(given: ReadonlySet<string>): string[] {
  const problems: string[] = [];
  const check = (isWrong: boolean, problem: string) => isWrong && problems.push(problem);
  const [secret, file] = [given.has('CV_STRIPE_WEBHOOK_SECRET'), given.has('CV_STRIPE_WEBHOOK_SECRET_FILE')];
  check(secret && file, 'CV_STRIPE_WEBHOOK_SECRET and CV_STRIPE_WEBHOOK_SECRET_FILE exclude each other: set one.');
  for (const name of NEED_A_SECRET) {
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

/** Billing by Stripe; null without a signing secret. */
export const stripeSettings = settingGroup({
  settings: SETTINGS,
  conflicts,
  build,
  // The file with the signing secret is read for each event anyway.
  reloads: { CV_STRIPE_API_KEY: (before, next) => (before === null) === (next === null) },
});
