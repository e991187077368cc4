import { looksRandom } from '../judgement.ts';
import { format, mixed, random, withDigits } from './format.ts';

/** Models and their tools. */
const MODELS = [
  format('openai-key', 'sk-(?:proj|svcacct|admin|service)-', '[A-Za-z0-9_-]{20,300}', { check: random(3.5) }),
  format('openai-key', 'sk-', '[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}'),
  format('openai-key', 'sk-None-', '[A-Za-z0-9_-]{40,160}'),
  format('anthropic-key', 'sk-ant-', '[a-z]{3,10}\\d{2}-[A-Za-z0-9_-]{60,200}'),
  format('openrouter-key', 'sk-or-v1-', '[a-f0-9]{64}'),
  format('deepseek-key', 'sk-', '[a-f0-9]{32}', { check: random(3) }),
  format('huggingface-token', '(?:hf|api_org)_', '[A-Za-z]{34}', { check: random(4) }),
  format('replicate-token', 'r8_', '[A-Za-z0-9]{37}'),
  format('groq-key', 'gsk_', '[A-Za-z0-9]{52}'),
  format('perplexity-key', 'pplx-', '[A-Za-z0-9]{48}'),
  format('xai-key', 'xai-', '[A-Za-z0-9]{80}'),
  format('nvidia-key', 'nvapi-', '[A-Za-z0-9_-]{60,80}'),
  format('langsmith-key', 'ls(?:v2_(?:pt|sk)|__)_', '[a-f0-9]{32}(?:_[a-f0-9]{10})?'),
  format('langfuse-key', 'sk-lf-', '[a-f0-9-]{36}'),
  format('pinecone-key', 'pcsk_', '[A-Za-z0-9_]{60,90}'),
  format('tavily-key', 'tvly-', '(?:[a-z]{3,8}-)?[A-Za-z0-9]{32}'),
  format('firecrawl-key', 'fc-', '[a-f0-9]{32}'),
  format('elevenlabs-key', 'sk_', '[a-f0-9]{48}'),
  format('jina-key', 'jina_', '[A-Za-z0-9_-]{50,70}'),
  format('voyage-key', 'pa-', '[A-Za-z0-9_-]{43}', { check: mixed }),
  format('cerebras-key', 'csk-', '[a-z0-9]{48}'),
  format('fireworks-key', 'fw_', '[A-Za-z0-9]{22,24}', { check: mixed }),
];

/** Payments and shops. */
const MONEY = [
  format('stripe-key', '(?:sk|rk)_(?:live|test|prod)_', '[A-Za-z0-9]{10,247}', { check: random(2.5) }),
  format('webhook-secret', 'whsec_', '[A-Za-z0-9+/=_-]{16,256}', { check: random(3) }),
  format('square-token', 'EAAA', '[A-Za-z0-9_-]{22,60}', { check: mixed }),
  format('square-token', 'sq0(?:atp|csp)-', '[A-Za-z0-9_-]{22,60}'),
  format('paypal-token', 'access_token', '\\$(?:production|sandbox)\\$[a-z0-9]{16}\\$[a-f0-9]{32}'),
  format('shopify-token', 'shp(?:at|ca|pa|ss|tka|ua)_', '[a-fA-F0-9]{32}'),
  format('plaid-token', 'access-(?:sandbox|development|production)-', '[0-9a-f-]{36}'),
  format('flutterwave-key', 'FLW(?:SECK|PUBK)(?:_TEST)?-', '[A-Za-z0-9]{12,48}(?:-X)?'),
  format('flutterwave-key', 'FLWSECK_TEST', '[a-f0-9]{12}', { isCaseless: true }),
  format('razorpay-key', 'rzp_(?:live|test)_', '[A-Za-z0-9]{14,24}'),
  format('easypost-token', 'EZ[AT]K', '[A-Za-z0-9]{54}'),
  format('duffel-token', 'duffel_(?:test|live)_', '[A-Za-z0-9_=-]{43}'),
  format('gocardless-token', 'live_', '[A-Za-z0-9_=-]{40}', { check: random(3.5) }),
  format('lob-key', '(?:live|test)_(?:pub_)?', '[a-f0-9]{31,35}', { check: random(3) }),
  format('shippo-token', 'shippo_(?:live|test)_', '[a-f0-9]{40}'),
  format('paystack-key', 'sk_(?:live|test)_', '[a-f0-9]{40}'),
  format('adyen-key', 'AQE[a-z]h', '[A-Za-z0-9+/]{60,300}\\$?[A-Za-z0-9+/=$^*(){}<>,.|;:~@-]{0,64}', { check: mixed }),
  format('checkout-key', 'sk_(?:sbox_)?', '[a-z0-9]{26}[*#$=a-z0-9]{1,2}', { check: withDigits, confidence: 'medium' }),
  format('mollie-key', '(?:live|test)_', '[A-Za-z0-9]{30,36}', { check: mixed }),
  format('coinbase-key', 'organizations/', '[a-f0-9-]{36}/apiKeys/[a-f0-9-]{36}'),
];

/** Messages, mail, maps and social networks. */
const MESSAGES = [
  format('slack-token', 'xox[a-z]-', '[A-Za-z0-9-]{10,250}', { check: random(2.5), isCaseless: true }),
  format('slack-token', 'xoxe\\.xox[bp]-', '\\d-[A-Za-z0-9]{100,200}', { isCaseless: true }),
  format('slack-token', 'xapp-', '\\d-[A-Za-z0-9]{8,16}-\\d{8,16}-[a-z0-9]{40,80}', { isCaseless: true }),
  format('twilio-key', 'SK', '[a-fA-F0-9]{32}', { check: random(3) }),
  format('sendgrid-key', 'SG\\.', '[A-Za-z0-9_=-]{16,32}\\.[A-Za-z0-9_=-]{32,64}'),
  format('sendgrid-key', 'SG\\.', '[A-Za-z0-9=_.-]{66}', { check: mixed, isCaseless: true }),
  format('mailgun-key', '(?:pub)?key-', '[a-f0-9]{32}'),
  format('brevo-key', 'xkeysib-', '[a-f0-9]{64}-[A-Za-z0-9]{16}'),
  format('brevo-key', 'xsmtpsib-', '[a-f0-9]{64}-[A-Za-z0-9]{16}'),
  format('resend-key', 're_', '[A-Za-z0-9]{8}_[A-Za-z0-9]{24}'),
  format('mailersend-token', 'mlsn\\.', '[a-f0-9]{64}'),
  format('facebook-token', 'EAA(?:[A-Z]|[A-Za-z0-9]{2})', '[A-Za-z0-9]{20,400}', { check: mixed }),
  format('mapbox-token', '[ps]k\\.', '[A-Za-z0-9]{60}\\.[A-Za-z0-9]{22}'),
  format('mapbox-token', '[st]k\\.eyJ', '[A-Za-z0-9_-]{40,200}\\.[A-Za-z0-9_-]{20,30}'),
  format('dropbox-token', 'sl\\.(?:u\\.)?', '[A-Za-z0-9_=-]{130,2000}'),
  format('line-token', 'line_', '[A-Za-z0-9+/]{100,200}', { check: mixed }),
];

/** Watching and analysis. */
const WATCHING = [
  format('newrelic-key', 'NR(?:AK|II|RA|AL)-', '[A-Za-z0-9_-]{27,42}'),
  format('newrelic-key', 'NRJS-', '[a-f0-9]{19}'),
  format('grafana-token', 'gl(?:sa|c)_', '[A-Za-z0-9+/=_]{32,400}', { check: random(3.5) }),
  format('grafana-key', 'eyJrIjoi', '[A-Za-z0-9+/]{60,400}={0,3}'),
  format('sentry-token', 'sntry[sua]_', '[A-Za-z0-9+/=_]{60,400}', { check: random(3.2) }),
  format('dynatrace-token', 'dt0[a-z]\\d{2}\\.', '[A-Z0-9]{24}\\.[A-Z0-9]{64}', { isCaseless: true }),
  format('posthog-key', 'ph[xs]_', '[A-Za-z0-9]{40,60}'),
  format('honeycomb-key', 'hc[abx]ik_', '[a-z0-9]{58}'),
  format('datadog-key', 'ddapp_', '[A-Za-z0-9]{34}'),
  format('contentful-token', 'CF(?:PAT|TOK)-', '[A-Za-z0-9_-]{43}'),
  format('mixpanel-secret', 'mpsa_', '[A-Za-z0-9]{32,64}', { check: mixed }),
];

/** Office, tickets, drawings and customers. */
const OFFICE = [
  format('linear-key', 'lin_(?:api|oauth)_', '[A-Za-z0-9]{32,64}'),
  format('notion-token', 'ntn_', '[A-Za-z0-9]{43,50}'),
  format('notion-token', 'secret_', '[A-Za-z0-9]{43}', { check: mixed }),
  format('figma-token', 'fig[dou]r?_', '[A-Za-z0-9_-]{38,44}'),
  format('airtable-token', 'pat', '[A-Za-z0-9]{14}\\.[a-f0-9]{64}'),
  format('typeform-token', 'tfp_', '[A-Za-z0-9_.=-]{40,60}'),
  format('adobe-secret', 'p8e-', '[A-Za-z0-9]{32}', { isCaseless: true }),
  format('frameio-token', 'fio-u-', '[A-Za-z0-9_=-]{64}'),
  format('hubspot-token', 'pat-(?:na|eu)\\d-', '[a-f0-9-]{36}', { isCaseless: true }),
  format('trello-token', 'ATTA', '[a-f0-9]{64}'),
  format('clickup-token', 'pk_', '\\d{6,10}_[A-Z0-9]{32}'),
  format('maxmind-key', '_mmk', '[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk', { before: 36 }),
  format('riot-key', 'RGAPI-', '[a-f0-9-]{36}', { isCaseless: true }),
  format('salesforce-token', '00D', '[A-Za-z0-9]{12,15}![A-Za-z0-9_.]{90,130}'),
  format('zoho-token', '1000\\.', '[a-f0-9]{32}\\.[a-f0-9]{32}'),
  format('canva-secret', 'cnvca', '[A-Za-z0-9_-]{40,70}', { check: mixed }),
  format('monday-token', 'eyJhbGciOiJIUzI1NiJ9\\.', '[A-Za-z0-9_-]{60,1000}\\.[A-Za-z0-9_-]{43}'),
  format('calendly-token', 'eyJraWQiOi', '[A-Za-z0-9_-]{40,400}\\.[A-Za-z0-9_-]{60,1000}\\.[A-Za-z0-9_-]{40,120}'),
];

/** Beginnings that many issuers use: what follows decides. */
const GENERAL = [
  format('prefixed-key', '(?:sk|pat|token|secret|api_?key)[_-]', '(?:[A-Za-z0-9]{2,12}[_-]){0,3}[A-Za-z0-9]{24,128}', {
    kind: 'secret',
    confidence: 'medium',
    check: hasRandomEnd,
  }),
  format('adafruit-key', 'aio_', '[A-Za-z0-9]{28}'),
];

function hasRandomEnd(text: string): boolean {
  return looksRandom(text.slice(Math.max(text.lastIndexOf('_'), text.lastIndexOf('-')) + 1));
}

export const SERVICES = [...MODELS, ...MONEY, ...MESSAGES, ...WATCHING, ...OFFICE, ...GENERAL];
