import { entropyOf } from '../../../kernel/crypto/entropy.ts';
import type { Finding, Kind } from './finding.ts';
import { NextMatch } from './next-match.ts';

/**
 * Credentials with a format that their issuer documents. Every quantifier is bounded and no two neighbours can match the same text, so that a
 * search takes linear time, whatever the text is.
 */
interface Format {
  readonly rule: string;
  readonly kind: Kind;
  readonly form: RegExp;
  /** Rejects text that has the form by chance. */
  readonly check?: (text: string) => boolean;
}

const START = '(?<![A-Za-z0-9_])';
const END = '(?![A-Za-z0-9_])';

function format(rule: string, form: string, kind: Kind = 'secret', check?: (text: string) => boolean): Format {
  return { rule, kind, form: new RegExp(`${START}(?:${form})${END}`, 'g'), ...(check && { check }) };
}

const random = (least: number) => (text: string) => entropyOf(text) >= least;
const mixed = (text: string) => /[a-z]/.test(text) && /[A-Z]/.test(text) && /\d/.test(text) && entropyOf(text) >= 4.2;

/** Those that Coffer issues come first. */
const FORMATS: readonly Format[] = [
  format('coffer-token', 'cv_pat_[A-Za-z0-9_.-]{16,4096}', 'token'),
  format('coffer-invitation', 'cv_inv_[A-Za-z0-9_.-]{16,512}', 'token'),
  format('coffer-cluster-token', 'cv_cluster_[A-Za-z0-9_.-]{16,512}', 'token'),
  format('coffer-scim-token', 'cv_scim_[A-Za-z0-9_.-]{16,512}', 'token'),
  format('coffer-client-secret', 'Svc_[A-Za-z0-9_-]{16,256}', 'secret', random(3)),
  format('webhook-secret', 'whsec_[A-Za-z0-9+/=_-]{16,256}'),

  format('aws-access-key-id', '(?:AKIA|ASIA|ABIA|ACCA|AROA|AIDA)[A-Z2-7]{16}'),
  format('aws-bedrock-key', 'ABSK[A-Za-z0-9+/]{100,200}={0,2}'),
  format('gcp-api-key', 'AIza[A-Za-z0-9_-]{35}'),
  format('gcp-oauth', 'GOCSPX-[A-Za-z0-9_-]{28}'),
  format('gcp-access-token', 'ya29\\.[A-Za-z0-9_-]{20,2048}', 'token'),
  format('azure-client-secret', '[A-Za-z0-9_~.-]{3}\\dQ~[A-Za-z0-9_~.-]{31,34}'),
  format('azure-storage-key', '[A-Za-z0-9+/]{86}==', 'secret', mixed),
  format('digitalocean-token', 'do[opr]_v1_[a-f0-9]{64}', 'token'),
  format('alibaba-key', 'LTAI[A-Za-z0-9]{16,22}'),
  format('cloudflare-origin-key', 'v1\\.0-[a-f0-9]{24}-[a-f0-9]{146}'),
  format('fly-token', 'fo1_[A-Za-z0-9_-]{43}|fm2_[A-Za-z0-9+/=_-]{100,2048}', 'token'),
  format('heroku-key', 'HRKU-[A-Za-z0-9_-]{36,64}'),
  format('scaleway-key', 'SCW[A-Z0-9]{17}'),

  format('github-token', 'gh[pousr]_[A-Za-z0-9]{36,255}', 'token'),
  format('github-fine-grained-token', 'github_pat_[A-Za-z0-9_]{36,255}', 'token'),
  format('gitlab-token', 'gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|oas|soat)-[A-Za-z0-9_.-]{20,300}', 'token'),
  format('bitbucket-token', 'ATBB[A-Za-z0-9]{28,40}', 'token'),
  format('atlassian-token', 'ATATT3[A-Za-z0-9_=-]{60,300}', 'token'),
  format('npm-token', 'npm_[A-Za-z0-9]{36}', 'token'),
  format('pypi-token', 'pypi-AgEI[A-Za-z0-9_-]{50,1000}', 'token'),
  format('rubygems-key', 'rubygems_[a-f0-9]{48}'),
  format('crates-token', 'cio[A-Za-z0-9]{32}', 'token', mixed),
  format('docker-token', 'dckr_(?:pat|oat)_[A-Za-z0-9_-]{27,64}', 'token'),
  format('artifactory-key', 'AKC[a-zA-Z0-9]{69,73}'),
  format('circleci-token', 'CCIPAT_[A-Za-z0-9]{22}_[a-f0-9]{40}', 'token'),
  format('buildkite-token', 'bkua_[a-f0-9]{40}', 'token'),
  format('sonar-token', 'sq[upa]_[a-f0-9]{40}', 'token'),

  format('openai-key', 'sk-(?:proj|svcacct|admin)-[A-Za-z0-9_-]{20,300}|sk-[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}'),
  format('anthropic-key', 'sk-ant-[a-z]{3,10}\\d{2}-[A-Za-z0-9_-]{60,200}'),
  format('openrouter-key', 'sk-or-v1-[a-f0-9]{64}'),
  format('huggingface-token', '(?:hf|api_org)_[A-Za-z]{34}', 'token'),
  format('replicate-token', 'r8_[A-Za-z0-9]{37}', 'token'),
  format('groq-key', 'gsk_[A-Za-z0-9]{52}'),
  format('perplexity-key', 'pplx-[A-Za-z0-9]{48}'),

  format('stripe-key', '(?:sk|rk)_(?:live|test|prod)_[A-Za-z0-9]{10,247}'),
  format('square-token', 'EAAA[A-Za-z0-9_-]{60}|sq0(?:atp|csp)-[A-Za-z0-9_-]{22,60}', 'token'),
  format('paypal-token', 'access_token\\$(?:production|sandbox)\\$[a-z0-9]{16}\\$[a-f0-9]{32}', 'token'),
  format('shopify-token', 'shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}', 'token'),
  format('plaid-token', 'access-(?:sandbox|development|production)-[0-9a-f-]{36}', 'token'),
  format('flutterwave-key', 'FLWSECK(?:_TEST)?-[A-Za-z0-9]{12,48}(?:-X)?'),
  format('razorpay-key', 'rzp_(?:live|test)_[A-Za-z0-9]{14,24}'),

  format(
    'slack-token',
    'xox[abeoprs]-[A-Za-z0-9-]{10,250}|xapp-\\d-[A-Z0-9]{8,16}-\\d{10,16}-[a-f0-9]{40,80}',
    'token',
  ),
  format('slack-webhook', 'https://hooks\\.slack\\.com/(?:services|workflows|triggers)/[A-Za-z0-9+/]{20,120}'),
  format('discord-token', '[MNO][A-Za-z0-9_-]{22,28}\\.[A-Za-z0-9_-]{6}\\.[A-Za-z0-9_-]{27,40}', 'token'),
  format(
    'discord-webhook',
    'https://(?:ptb\\.|canary\\.)?discord(?:app)?\\.com/api/webhooks/\\d{15,22}/[A-Za-z0-9_-]{50,90}',
  ),
  format('teams-webhook', 'https://[a-z0-9-]{1,63}\\.webhook\\.office\\.com/webhookb2/[A-Za-z0-9@/_-]{60,200}'),
  format('telegram-token', '\\d{8,10}:AA[A-Za-z0-9_-]{33}', 'token'),
  format('twilio-key', 'SK[a-f0-9]{32}'),
  format('sendgrid-key', 'SG\\.[A-Za-z0-9_-]{16,32}\\.[A-Za-z0-9_-]{32,64}'),
  format('mailgun-key', '(?:key|pubkey)-[a-f0-9]{32}|[a-f0-9]{32}-[a-f0-9]{8}-[a-f0-9]{8}'),
  format('mailchimp-key', '[a-f0-9]{32}-us\\d{1,2}'),
  format('brevo-key', 'xkeysib-[a-f0-9]{64}-[A-Za-z0-9]{16}'),
  format('facebook-token', 'EAA[A-Za-z0-9]{100,400}', 'token'),

  format(
    'vault-token',
    '(?:hv[sbr]|[sbr])\\.[A-Za-z0-9_-]{24,300}',
    'token',
    (text) => text.startsWith('hv') || mixed(text),
  ),
  format('terraform-token', '[A-Za-z0-9]{14}\\.atlasv1\\.[A-Za-z0-9_=-]{60,90}', 'token'),
  format('doppler-token', 'dp\\.(?:pt|st|sa|ct|scim|audit)\\.(?:[a-z0-9_-]{2,35}\\.)?[A-Za-z0-9]{40,44}', 'token'),
  format('infisical-token', 'st\\.[a-f0-9]{24}\\.[a-f0-9]{32}\\.[a-f0-9]{32}', 'token'),
  format(
    'onepassword-key',
    'A3-[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})-[A-Z0-9]{5}-[A-Z0-9]{5}-[A-Z0-9]{5}|ops_eyJ[A-Za-z0-9+/=_-]{100,4096}',
  ),
  format('pulumi-token', 'pul-[a-f0-9]{40}', 'token'),
  format('databricks-token', 'dapi[a-f0-9]{32}(?:-\\d)?', 'token'),
  format('planetscale-token', 'pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.=-]{32,64}', 'token'),
  format('supabase-key', 'sbp_[a-f0-9]{40}|sb_secret_[A-Za-z0-9_-]{20,60}'),
  format('neon-key', 'napi_[a-z0-9]{64}'),
  format('snyk-token', 'snyk_(?:uat|sat)\\.[a-f0-9]{8}\\.[A-Za-z0-9_.-]{60,200}', 'token'),

  format('newrelic-key', 'NRAK-[A-Z0-9]{27}|NRII-[A-Za-z0-9_-]{32}|NRJS-[a-f0-9]{19}'),
  format('grafana-token', 'gl(?:sa|c)_[A-Za-z0-9+/=_]{32,400}', 'token'),
  format('sentry-token', 'sntry[su]_[A-Za-z0-9+/=_]{60,400}', 'token'),
  format('dynatrace-token', 'dt0[a-z]\\d{2}\\.[A-Z0-9]{24}\\.[A-Z0-9]{64}', 'token'),
  format('posthog-key', 'ph[xs]_[A-Za-z0-9]{40,60}'),
  format('honeycomb-key', 'hc[abx]ik_[a-z0-9]{58}'),
  format('postman-key', 'PMAK-[a-f0-9]{24}-[a-f0-9]{34}'),
  format('linear-key', 'lin_(?:api|oauth)_[A-Za-z0-9]{32,64}'),
  format('notion-token', '(?:ntn_|secret_)[A-Za-z0-9]{43,50}', 'token'),
  format('figma-token', 'figd_[A-Za-z0-9_-]{38,44}', 'token'),
  format('airtable-token', 'pat[A-Za-z0-9]{14}\\.[a-f0-9]{64}', 'token'),
  format('asana-token', '[12]/\\d{13,20}(?:/\\d{13,20})?:[a-f0-9]{32}', 'token'),
  format('typeform-token', 'tfp_[A-Za-z0-9_.=-]{40,60}', 'token'),
  format('okta-token', '00[A-Za-z0-9_-]{40}', 'token', mixed),
  format('tailscale-key', 'tskey-[a-z]{3,10}-[A-Za-z0-9]{8,20}(?:-[A-Za-z0-9]{20,40})?'),
  format('age-key', 'AGE-SECRET-KEY-1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}', 'private_key'),
  format('totp-seed', 'otpauth://[ht]otp/[^\\s"\'<>]{1,300}'),
  format('wireguard-key', '(?<=(?:PrivateKey|PresharedKey) {0,2}= {0,2})[A-Za-z0-9+/]{43}=', 'private_key'),
  format('bitcoin-key', '[5KL][1-9A-HJ-NP-Za-km-z]{50,51}', 'private_key', mixed),
];

/** Text that only looks random: letters of both cases and digits, in no order. Hashes in hexadecimal have one case, and names are made of words. */
const BY_LOOKS: readonly [rule: string, form: RegExp][] = [
  ['aws-secret-access-key', /(?<![A-Za-z0-9+/_.-])[A-Za-z0-9+/]{40}(?![A-Za-z0-9+/=_-])/g],
  ['random-text', /(?<![A-Za-z0-9+/_.@:-])[A-Za-z0-9_+/-]{32,128}={0,2}(?![A-Za-z0-9+/=_-])/g],
];
/** What publishes itself: digests of packages and images, public keys, fragments of a certificate. */
const PUBLIC_BEFORE =
  /(?:sha(?:1|224|256|384|512)[-:]|ssh-(?:rsa|ed25519|dss) |ecdsa-sha2-nistp\d{3} |sk-ssh-ed25519@openssh\.com |integrity[="': ]{1,6}|data:[a-z]+\/[a-z0-9.+-]+;base64,|SHA256:|"(?:n|x|y|kid)": ?")$/i;

/** Certificates and public keys, whose lines look as random as a secret. */
const PUBLIC_BEGIN =
  /-----BEGIN (?:[A-Z0-9]{2,12} ){0,3}(?:PUBLIC KEY(?: BLOCK)?|CERTIFICATE(?: REQUEST)?|CRL|PKCS7|CMS|SIGNATURE|DH PARAMETERS)-----/g;
const PUBLIC_END = /-----END /g;
const NOT_IN_BLOCK = /[^A-Za-z0-9+/=\s:.\\-]/g;
const BLOCK_LENGTH_MAX = 16 * 1024;

function publicBlocksIn(text: string): { start: number; end: number }[] {
  const blocks: { start: number; end: number }[] = [];
  const [ends, others] = [new NextMatch(text, PUBLIC_END), new NextMatch(text, NOT_IN_BLOCK)];
  for (const { index, 0: begin } of text.matchAll(PUBLIC_BEGIN)) {
    const bodyStart = index + begin.length;
    const end = ends.from(bodyStart);
    if (end === null) return blocks;
    const other = others.from(bodyStart)?.index ?? text.length;
    if (other < end.index || end.index - bodyStart > BLOCK_LENGTH_MAX) continue;
    blocks.push({ start: index, end: end.index + end[0].length });
  }
  return blocks;
}

export function formatFindings(text: string): Finding[] {
  const findings: Finding[] = [];
  const publicBlocks = publicBlocksIn(text);
  const isPublic = (start: number) =>
    PUBLIC_BEFORE.test(text.slice(Math.max(0, start - 48), start)) ||
    publicBlocks.some((block) => start >= block.start && start < block.end);
  for (const { rule, kind, form, check } of FORMATS) {
    for (const match of text.matchAll(form)) {
      if (check !== undefined && (!check(match[0]) || isPublic(match.index))) continue;
      findings.push({ start: match.index, end: match.index + match[0].length, kind, rule });
    }
  }
  for (const [rule, form] of BY_LOOKS) {
    for (const match of text.matchAll(form)) {
      const digits = match[0].match(/\d/g)?.length ?? 0;
      const isLong = match[0].length > 40;
      if (!mixed(match[0]) || (isLong && digits < 3) || isPublic(match.index) || isMadeOfWords(match[0])) continue;
      findings.push({ start: match.index, end: match.index + match[0].length, kind: 'secret', rule });
    }
  }
  return findings;
}

/** Paths, names in camel case and slugs have letters in runs of one case, with few changes between letters and digits. */
function isMadeOfWords(text: string): boolean {
  const words = text.match(/[A-Z]?[a-z]{3,}|[A-Z]{3,}(?![a-z])/g) ?? [];
  const letters = words.reduce((sum, word) => sum + word.length, 0);
  return letters >= text.length * 0.6;
}
