import { entropyOf, isDummy, isMixed } from './judgement.ts';

/**
 * Credentials whose issuer documents their form. Each begins with something that is rare elsewhere, so that all other text of a file costs one
 * look. Every quantifier is bounded, and no two neighbours can match the same text.
 */
interface Format {
  kind: string;
  /** What it begins with, as a pattern. */
  begins: string;
  form: RegExp;
  /** How many characters stand before `begins`. */
  before: number;
  /** Rejects text that has the form by chance. */
  check: ((text: string) => boolean) | null;
}

function format(
  kind: string,
  begins: string,
  rest: string,
  more: Partial<Pick<Format, 'before' | 'check'>> = {},
): Format {
  const { before = 0, check = null } = more;
  const form = before === 0 ? `${begins}${rest}` : rest;
  return { kind, begins, form: new RegExp(`(?:${form})(?![A-Za-z0-9_])`, 'y'), before, check };
}

const random = (least: number) => (text: string) => entropyOf(text) >= least;

export const FORMATS: readonly Format[] = [
  format('coffer-token', 'cv_pat_', '[A-Za-z0-9_.-]{16,4096}'),
  format('coffer-invitation', 'cv_inv_', '[A-Za-z0-9_.-]{16,512}'),
  format('coffer-cluster-token', 'cv_cluster_', '[A-Za-z0-9_.-]{16,512}'),
  format('coffer-scim-token', 'cv_scim_', '[A-Za-z0-9_.-]{16,512}'),
  format('coffer-client-secret', 'Svc_', '[A-Za-z0-9_-]{16,256}', { check: random(3) }),
  format('webhook-secret', 'whsec_', '[A-Za-z0-9+/=_-]{16,256}', { check: random(3) }),

  format('aws-access-key-id', '(?:AKIA|ASIA|ABIA|ACCA)', '[A-Z2-7]{16}'),
  format('aws-bedrock-key', 'ABSK', '[A-Za-z0-9+/]{100,200}={0,2}'),
  format('gcp-api-key', 'AIza', '[A-Za-z0-9_-]{35}'),
  format('gcp-oauth-secret', 'GOCSPX-', '[A-Za-z0-9_-]{28}'),
  format('gcp-access-token', 'ya29\\.', '[A-Za-z0-9_-]{20,2048}'),
  format('azure-client-secret', 'Q~', '[A-Za-z0-9_~.-]{3}\\dQ~[A-Za-z0-9_~.-]{31,34}', { before: 4 }),
  format('digitalocean-token', 'do[opr]_v1_', '[a-f0-9]{64}'),
  format('alibaba-key', 'LTAI', '[A-Za-z0-9]{16,22}', { check: isMixed }),
  format('fly-token', '(?:fo1|fm2)_', '[A-Za-z0-9+/=_-]{43,2048}'),
  format('heroku-key', 'HRKU-', '[A-Za-z0-9_-]{36,64}'),
  format('scaleway-key', 'SCW', '[A-Z0-9]{17}', { check: random(3) }),

  format('github-token', 'gh[pousr]_', '[A-Za-z0-9]{36,255}'),
  format('github-token', 'github_pat_', '[A-Za-z0-9_]{36,255}'),
  format('gitlab-token', 'gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|oas|soat)-', '[A-Za-z0-9_.-]{20,300}', {
    check: random(3),
  }),
  format('bitbucket-token', 'ATBB', '[A-Za-z0-9]{28,40}'),
  format('atlassian-token', 'ATATT3', '[A-Za-z0-9_=-]{60,300}'),
  format('npm-token', 'npm_', '[A-Za-z0-9]{36}'),
  format('pypi-token', 'pypi-AgEI', '[A-Za-z0-9_-]{50,1000}'),
  format('rubygems-key', 'rubygems_', '[a-f0-9]{48}'),
  format('docker-token', 'dckr_(?:pat|oat)_', '[A-Za-z0-9_-]{27,64}'),
  format('artifactory-key', 'AKC', '[a-zA-Z0-9]{69,73}', { check: isMixed }),
  format('circleci-token', 'CCIPAT_', '[A-Za-z0-9]{22}_[a-f0-9]{40}'),
  format('buildkite-token', 'bkua_', '[a-f0-9]{40}'),
  format('sonar-token', 'sq[upa]_', '[a-f0-9]{40}'),

  format('openai-key', 'sk-(?:proj|svcacct|admin)-', '[A-Za-z0-9_-]{20,300}', { check: random(3.5) }),
  format('openai-key', 'sk-', '[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}'),
  format('anthropic-key', 'sk-ant-', '[a-z]{3,10}\\d{2}-[A-Za-z0-9_-]{60,200}'),
  format('openrouter-key', 'sk-or-v1-', '[a-f0-9]{64}'),
  format('huggingface-token', '(?:hf|api_org)_', '[A-Za-z]{34}', { check: random(4) }),
  format('replicate-token', 'r8_', '[A-Za-z0-9]{37}'),
  format('groq-key', 'gsk_', '[A-Za-z0-9]{52}'),

  format('stripe-key', '(?:sk|rk)_(?:live|test|prod)_', '[A-Za-z0-9]{10,247}', { check: random(2.5) }),
  format('square-token', '(?:EAAA|sq0(?:atp|csp)-)', '[A-Za-z0-9_-]{22,60}', { check: isMixed }),
  format('shopify-token', 'shp(?:at|ca|pa|ss)_', '[a-fA-F0-9]{32}'),
  format('plaid-token', 'access-(?:sandbox|development|production)-', '[0-9a-f-]{36}'),
  format('razorpay-key', 'rzp_(?:live|test)_', '[A-Za-z0-9]{14,24}'),

  format('slack-token', 'xox[abeoprs]-', '[A-Za-z0-9-]{10,250}', { check: random(2.5) }),
  format('slack-token', 'xapp-', '\\d-[A-Z0-9]{8,16}-\\d{10,16}-[a-f0-9]{40,80}'),
  format('slack-webhook', 'hooks\\.slack\\.com/(?:services|workflows|triggers)/', '[A-Za-z0-9+/]{20,120}'),
  format('discord-webhook', 'discord(?:app)?\\.com/api/webhooks/', '\\d{15,22}/[A-Za-z0-9_-]{50,90}'),
  format('teams-webhook', 'webhook\\.office\\.com/webhookb2/', '[A-Za-z0-9@/_-]{60,200}'),
  format('twilio-key', 'SK', '[a-f0-9]{32}'),
  format('sendgrid-key', 'SG\\.', '[A-Za-z0-9_-]{16,32}\\.[A-Za-z0-9_-]{32,64}'),
  format('mailgun-key', 'key-', '[a-f0-9]{32}'),
  format('brevo-key', 'xkeysib-', '[a-f0-9]{64}-[A-Za-z0-9]{16}'),

  format('vault-token', 'hv[sbr]\\.', '[A-Za-z0-9_-]{24,300}'),
  format('terraform-token', '\\.atlasv1\\.', '[A-Za-z0-9]{14}\\.atlasv1\\.[A-Za-z0-9_=-]{60,90}', { before: 14 }),
  format('doppler-token', 'dp\\.(?:pt|st|sa|ct|scim|audit)\\.', '(?:[a-z0-9_-]{2,35}\\.)?[A-Za-z0-9]{40,44}'),
  format('infisical-token', 'st\\.', '[a-f0-9]{24}\\.[a-f0-9]{32}\\.[a-f0-9]{32}'),
  format('onepassword-token', 'ops_eyJ', '[A-Za-z0-9+/=_-]{100,4096}'),
  format('pulumi-token', 'pul-', '[a-f0-9]{40}'),
  format('databricks-token', 'dapi', '[a-f0-9]{32}(?:-\\d)?'),
  format('planetscale-token', 'pscale_(?:tkn|pw|oauth)_', '[A-Za-z0-9_.=-]{32,64}'),
  format('supabase-key', '(?:sbp_|sb_secret_)', '[A-Za-z0-9_-]{20,60}', { check: random(3) }),
  format('neon-key', 'napi_', '[a-z0-9]{64}'),
  format('snyk-token', 'snyk_(?:uat|sat)\\.', '[a-f0-9]{8}\\.[A-Za-z0-9_.-]{60,200}'),

  format('newrelic-key', '(?:NRAK|NRII)-', '[A-Za-z0-9_-]{27,32}'),
  format('grafana-token', 'gl(?:sa|c)_', '[A-Za-z0-9+/=_]{32,400}', { check: random(3.5) }),
  format('sentry-token', 'sntry[su]_', '[A-Za-z0-9+/=_]{60,400}'),
  format('dynatrace-token', 'dt0[a-z]\\d{2}\\.', '[A-Z0-9]{24}\\.[A-Z0-9]{64}'),
  format('posthog-key', 'ph[xs]_', '[A-Za-z0-9]{40,60}'),
  format('postman-key', 'PMAK-', '[a-f0-9]{24}-[a-f0-9]{34}'),
  format('linear-key', 'lin_(?:api|oauth)_', '[A-Za-z0-9]{32,64}'),
  format('notion-token', 'ntn_', '[A-Za-z0-9]{43,50}'),
  format('figma-token', 'figd_', '[A-Za-z0-9_-]{38,44}'),
  format('airtable-token', 'pat', '[A-Za-z0-9]{14}\\.[a-f0-9]{64}'),
  format('tailscale-key', 'tskey-', '[a-z]{3,10}-[A-Za-z0-9]{8,20}(?:-[A-Za-z0-9]{20,40})?'),
  format('age-key', 'AGE-SECRET-KEY-1', '[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}'),
  format('jwt', 'eyJ', '[A-Za-z0-9_-]{8,1024}\\.eyJ[A-Za-z0-9_-]{8,8192}\\.[A-Za-z0-9_-]{16,8192}', { check: isToken }),
];

/** The header of a JWT names its algorithm. The sample that documentation copies from jwt.io is about John Doe. */
function isToken(text: string): boolean {
  const [header = '', payload = ''] = text.split('.').map((part) => Buffer.from(part, 'base64url').toString('latin1'));
  return header.includes('"alg"') && !payload.includes('John Doe');
}

/** Finds in a word where a format may begin. */
const BEGINNINGS = new RegExp(
  `(?<![A-Za-z0-9_])(?:${FORMATS.filter(({ before }) => before === 0)
    .map(({ begins }) => begins)
    .join('|')})|${FORMATS.filter(({ before }) => before > 0)
    .map(({ begins }) => begins)
    .join('|')}`,
  'g',
);
const BY_BEGINNING = FORMATS.map((one) => ({ ...one, begins: new RegExp(one.begins, 'y') }));
const ENTROPY_MIN = 2.2;

export interface Match {
  kind: string;
  start: number;
  end: number;
}

/** The credentials that begin between two positions of a text. */
export function formatsIn(text: string, from: number, to: number): Match[] {
  const word = text.slice(from, to);
  const matches: Match[] = [];
  let last = 0;
  for (const { index } of word.matchAll(BEGINNINGS)) {
    if (index < last) continue;
    const found = formatAt(text, from + index);
    if (found === null) continue;
    matches.push(found);
    last = found.end - from;
  }
  return matches;
}

function formatAt(text: string, at: number): Match | null {
  for (const { kind, begins, form, before, check } of BY_BEGINNING) {
    begins.lastIndex = at;
    if (!begins.test(text)) continue;
    form.lastIndex = at - before;
    const value = at < before ? undefined : form.exec(text)?.[0];
    if (value === undefined || (check !== null && !check(value)) || isDummy(value) || entropyOf(value) < ENTROPY_MIN)
      continue;
    return { kind, start: at - before, end: at - before + value.length };
  }
  return null;
}
