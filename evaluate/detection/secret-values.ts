import { generateKeyPairSync } from 'node:crypto';
import type { Draws } from '../anomalies/random.ts';

/**
 * Secrets as their issuers describe them: prefixes, alphabets and lengths from the documentation of each, put together at run time so that no file
 * has one. Nothing here comes from the rules of the redactor.
 */

const LOWER = 'abcdefghijklmnopqrstuvwxyz';
const UPPER = LOWER.toUpperCase();
const DIGITS = '0123456789';
const HEX = '0123456789abcdef';
const ALNUM = LOWER + UPPER + DIGITS;
const BASE64 = `${ALNUM}+/`;
const BASE64URL = `${ALNUM}-_`;

export function text(draws: Draws, alphabet: string, length: number): string {
  return Array.from({ length }, () => draws.pick([...alphabet])).join('');
}

const base64url = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');

export interface Planted {
  /** The text that must not leave. */
  readonly value: string;
  /** What a file or a person writes around it; the value itself unless given. */
  readonly written?: string;
}

/** A kind of secret: how it is made, and the names by which files and people call it. */
export interface SecretKind {
  readonly name: string;
  readonly make: (draws: Draws) => Planted;
  readonly variable: string;
  readonly noun: string;
}

const kind = (name: string, variable: string, noun: string, make: (draws: Draws) => string | Planted): SecretKind => ({
  name,
  variable,
  noun,
  make: (draws) => {
    const made = make(draws);
    return typeof made === 'string' ? { value: made } : made;
  },
});

const WORDS = [
  'otter',
  'Granite',
  'velvet',
  'Comet',
  'harbor',
  'Pepper',
  'saffron',
  'Walnut',
  'ember',
  'Quartz',
  'tulip',
];

/** As people choose one: a word or two, a number, a sign. */
function chosenPassword(draws: Draws): string {
  const number = String(draws.whole(10, 2029));
  const sign = draws.pick(['!', '#', '$', '?', '*', '&', '%']);
  return draws.pick([
    () => `${draws.pick(WORDS)}${number}${sign}`,
    () => `${draws.pick(WORDS)}-${draws.pick(WORDS)}-${number}`,
    () => `${draws.pick(WORDS)}${sign}${draws.pick(WORDS)}${number}`,
    () => text(draws, `${ALNUM}!#$*_-`, draws.whole(12, 24)),
  ])();
}

function jwt(draws: Draws): string {
  const payload = { sub: text(draws, DIGITS, 8), iat: draws.whole(1_700_000_000, 1_790_000_000), scope: 'read' };
  return `${base64url({ alg: 'HS256', typ: 'JWT' })}.${base64url(payload)}.${text(draws, BASE64URL, 43)}`;
}

/** Making a key takes time, and the redactor does not look at its numbers: a few are enough. */
const pems = new Map<string, string>();
function pem(draws: Draws, label: string): string {
  const known = pems.get(label) ?? freshPem(label);
  pems.set(label, known);
  const lines = known.split('\n');
  // Different text for each prompt, of the same alphabet.
  return lines.map((line) => (/^[A-Za-z0-9+/]{64}$/.test(line) ? text(draws, BASE64, 64) : line)).join('\n');
}

function freshPem(label: string): string {
  if (label === 'PRIVATE') {
    return generateKeyPairSync('rsa', { modulusLength: 2048 })
      .privateKey.export({ type: 'pkcs8', format: 'pem' })
      .toString()
      .trim();
  }
  return generateKeyPairSync('ec', { namedCurve: 'P-256' })
    .privateKey.export({ type: 'sec1', format: 'pem' })
    .toString()
    .trim();
}

function openssh(draws: Draws): string {
  const head = Buffer.from('openssh-key-v1\0').toString('base64').slice(0, 16);
  const lines = [
    head + text(draws, BASE64, 54),
    ...Array.from({ length: 4 }, () => text(draws, BASE64, 70)),
    `${text(draws, BASE64, 30)}==`,
  ];
  const mark = (edge: string) => `-----${edge} OPENSSH PRIVATE KEY-----`;
  return [mark('BEGIN'), ...lines, mark('END')].join('\n');
}

export const SECRET_KINDS: readonly SecretKind[] = [
  kind(
    'AWS access key id',
    'AWS_ACCESS_KEY_ID',
    'AWS access key',
    (d) => d.pick(['AKIA', 'ASIA']) + text(d, `${UPPER}234567`, 16),
  ),
  kind('AWS secret access key', 'AWS_SECRET_ACCESS_KEY', 'AWS secret access key', (d) => text(d, BASE64, 40)),
  kind('Google API key', 'GOOGLE_MAPS_API_KEY', 'Google API key', (d) => `AIza${text(d, BASE64URL, 35)}`),
  kind(
    'Google OAuth client secret',
    'GOOGLE_CLIENT_SECRET',
    'Google client secret',
    (d) => `GOCSPX-${text(d, BASE64URL, 28)}`,
  ),
  kind(
    'Azure client secret',
    'AZURE_CLIENT_SECRET',
    'Azure client secret',
    (d) => `${text(d, ALNUM, 3)}8Q~${text(d, `${ALNUM}_.-`, 34)}`,
  ),
  kind('Azure storage key', 'AZURE_STORAGE_KEY', 'storage account key', (d) => {
    const value = `${text(d, BASE64, 86)}==`;
    return {
      value,
      written: d.chance(0.5)
        ? value
        : `DefaultEndpointsProtocol=https;AccountName=media;AccountKey=${value};EndpointSuffix=core.windows.net`,
    };
  }),
  kind('Azure SAS', 'BLOB_SAS_URL', 'SAS URL', (d) => {
    const value = encodeURIComponent(`${text(d, BASE64, 43)}=`);
    return {
      value,
      written: `https://media.blob.core.windows.net/in?sv=2025-01-05&se=2027-01-01&sr=c&sp=rl&sig=${value}`,
    };
  }),
  kind(
    'GitHub token',
    'GITHUB_TOKEN',
    'GitHub token',
    (d) => `gh${d.pick(['p', 'o', 's', 'u', 'r'])}_${text(d, ALNUM, 36)}`,
  ),
  kind(
    'GitHub fine-grained token',
    'GH_TOKEN',
    'GitHub token',
    (d) => `github_pat_${text(d, ALNUM, 22)}_${text(d, ALNUM, 59)}`,
  ),
  kind('GitLab token', 'GITLAB_TOKEN', 'GitLab token', (d) => `glpat-${text(d, BASE64URL, 20)}`),
  kind(
    'Slack token',
    'SLACK_BOT_TOKEN',
    'Slack token',
    (d) => `xox${d.pick(['b', 'p'])}-${text(d, DIGITS, 12)}-${text(d, DIGITS, 12)}-${text(d, ALNUM, 24)}`,
  ),
  kind(
    'Slack webhook',
    'SLACK_WEBHOOK_URL',
    'Slack webhook',
    (d) =>
      `https://hooks.slack.com/services/T${text(d, UPPER + DIGITS, 8)}/B${text(d, UPPER + DIGITS, 10)}/${text(d, ALNUM, 24)}`,
  ),
  kind(
    'Stripe key',
    'STRIPE_SECRET_KEY',
    'Stripe key',
    (d) => `${d.pick(['sk', 'rk'])}_live_${text(d, ALNUM, d.pick([24, 99]))}`,
  ),
  kind('Twilio key', 'TWILIO_API_KEY', 'Twilio key', (d) => `SK${text(d, HEX, 32)}`),
  kind('Twilio auth token', 'TWILIO_AUTH_TOKEN', 'Twilio auth token', (d) => text(d, HEX, 32)),
  kind(
    'SendGrid key',
    'SENDGRID_API_KEY',
    'SendGrid key',
    (d) => `SG.${text(d, BASE64URL, 22)}.${text(d, BASE64URL, 43)}`,
  ),
  kind('Mailchimp key', 'MAILCHIMP_API_KEY', 'Mailchimp key', (d) => `${text(d, HEX, 32)}-us${d.whole(1, 21)}`),
  kind('npm token', 'NPM_TOKEN', 'npm token', (d) => `npm_${text(d, ALNUM, 36)}`),
  kind('PyPI token', 'TWINE_PASSWORD', 'PyPI token', (d) => `pypi-AgEIcHlwaS5vcmc${text(d, BASE64URL, 140)}`),
  kind('Docker Hub token', 'DOCKERHUB_TOKEN', 'Docker Hub token', (d) => `dckr_pat_${text(d, BASE64URL, 27)}`),
  kind(
    'OpenAI key',
    'OPENAI_API_KEY',
    'OpenAI key',
    (d) => `sk-proj-${text(d, BASE64URL, 74)}T3BlbkFJ${text(d, BASE64URL, 74)}`,
  ),
  kind('Anthropic key', 'ANTHROPIC_API_KEY', 'Anthropic key', (d) => `sk-ant-api03-${text(d, BASE64URL, 93)}AA`),
  kind('Hugging Face token', 'HF_TOKEN', 'Hugging Face token', (d) => `hf_${text(d, LOWER + UPPER, 34)}`),
  kind('Vault token', 'VAULT_TOKEN', 'Vault token', (d) => `hvs.${text(d, BASE64URL, d.pick([24, 90]))}`),
  kind(
    'Terraform Cloud token',
    'TFE_TOKEN',
    'Terraform token',
    (d) => `${text(d, ALNUM, 14)}.atlasv1.${text(d, ALNUM, 67)}`,
  ),
  kind('DigitalOcean token', 'DIGITALOCEAN_TOKEN', 'DigitalOcean token', (d) => `dop_v1_${text(d, HEX, 64)}`),
  kind('Shopify token', 'SHOPIFY_TOKEN', 'Shopify token', (d) => `shpat_${text(d, HEX, 32)}`),
  kind(
    'Telegram bot token',
    'TELEGRAM_TOKEN',
    'Telegram token',
    (d) => `${text(d, '123456789', 10)}:AA${text(d, BASE64URL, 33)}`,
  ),
  kind('Databricks token', 'DATABRICKS_TOKEN', 'Databricks token', (d) => `dapi${text(d, HEX, 32)}`),
  kind('Datadog key', 'DD_API_KEY', 'Datadog API key', (d) => text(d, HEX, 32)),
  kind(
    'age identity',
    'SOPS_AGE_KEY',
    'age key',
    (d) => `AGE-SECRET-KEY-1${text(d, 'QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L', 58)}`,
  ),
  kind('JWT', 'SESSION_TOKEN', 'JWT', jwt),
  kind('bearer token', 'API_AUTHORIZATION', 'header', (d) => {
    const value = text(d, BASE64URL, d.whole(28, 60));
    return { value, written: `Authorization: Bearer ${value}` };
  }),
  kind('basic credentials', 'BASIC_AUTH', 'header', (d) => {
    const value = Buffer.from(`deploy:${chosenPassword(d)}`).toString('base64');
    return { value, written: `Authorization: Basic ${value}` };
  }),
  kind('private key', 'TLS_KEY', 'private key', (d) => pem(d, d.pick(['PRIVATE', 'EC']))),
  kind('OpenSSH key', 'DEPLOY_KEY', 'SSH key', openssh),
  kind('database URL', 'DATABASE_URL', 'database URL', (d) => {
    const value = text(d, ALNUM, d.whole(8, 20));
    const scheme = d.pick(['postgres', 'mysql', 'mongodb+srv', 'redis', 'amqp']);
    return { value, written: `${scheme}://app:${value}@db${d.whole(1, 9)}.example.com:5432/shop` };
  }),
  kind('password', 'DB_PASSWORD', 'password', chosenPassword),
  kind('Coffer token', 'COFFER_TOKEN', 'Coffer token', (d) => `cv_pat_${jwt(d)}`),
  kind('Coffer client secret', 'COFFER_CLIENT_SECRET', 'client secret', (d) => `Svc_${text(d, BASE64URL, 43)}`),
  kind('webhook signing secret', 'WEBHOOK_SECRET', 'signing secret', (d) => `whsec_${text(d, BASE64, 43)}=`),
  kind('random application key', 'APP_ENCRYPTION_KEY', 'encryption key', (d) =>
    text(d, d.pick([BASE64, HEX, ALNUM]), 44),
  ),
];
