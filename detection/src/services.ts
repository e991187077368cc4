import { UUID } from './judgement.ts';

/**
 * Services whose credentials have no beginning of their own: the name beside the value says which service, and the value has the form that the
 * service documents. So digits, ids and short values count beside such a name, and nowhere else.
 */
interface Service {
  /** As names have it, in lower-case letters. */
  readonly name: string;
  readonly form: RegExp;
}

const alphanumeric = (least: number, most = least) => new RegExp(`^[A-Za-z0-9]{${least},${most}}$`);
const hex = (least: number, most = least) => new RegExp(`^[A-Fa-f0-9]{${least},${most}}$`);
const open = (least: number, most = least) => new RegExp(`^[A-Za-z0-9_=-]{${least},${most}}$`);
const digits = (least: number, most = least) => new RegExp(`^\\d{${least},${most}}$`);

const SERVICES: readonly Service[] = [
  ...[
    'heroku',
    'snyk',
    'hubspot',
    'algolia',
    'postmark',
    'kucoin',
    'launchdarkly',
    'sumologic',
    'sendbird',
    'messagebird',
    'message_bird',
    'message-bird',
    'rollbar',
    'plaid',
    'azure',
    'confluent',
    'statuspage',
    'detectify',
    'browserless',
    'customerio',
    'uptimerobot',
  ].map((name) => ({ name, form: UUID })),
  { name: 'adafruit', form: open(32) },
  { name: 'adobe', form: hex(32) },
  { name: 'airtable', form: alphanumeric(17) },
  { name: 'algolia', form: alphanumeric(32) },
  { name: 'alibaba', form: alphanumeric(30) },
  { name: 'asana', form: digits(16) },
  { name: 'asana', form: alphanumeric(32) },
  { name: 'atlassian', form: alphanumeric(24) },
  { name: 'confluence', form: alphanumeric(24) },
  { name: 'jira', form: alphanumeric(24) },
  { name: 'beamer', form: open(44) },
  { name: 'bitbucket', form: open(32, 64) },
  { name: 'bittrex', form: alphanumeric(32) },
  { name: 'cloudflare', form: open(37, 40) },
  { name: 'codecov', form: alphanumeric(32) },
  { name: 'cohere', form: alphanumeric(40) },
  { name: 'coinbase', form: open(64) },
  // Bundler takes the credentials of a private gem server from a variable of this name.
  { name: 'contribsys', form: /^[a-f0-9]{8}:[a-f0-9]{8}$/ },
  { name: 'confluent', form: alphanumeric(16) },
  { name: 'confluent', form: alphanumeric(64) },
  { name: 'contentful', form: open(43) },
  { name: 'datadog', form: alphanumeric(40) },
  { name: 'discord', form: digits(17, 20) },
  { name: 'discord', form: open(32) },
  { name: 'droneci', form: alphanumeric(32) },
  { name: 'dropbox', form: alphanumeric(15) },
  { name: 'etsy', form: alphanumeric(24) },
  { name: 'facebook', form: hex(32) },
  { name: 'fastly', form: open(32) },
  { name: 'finicity', form: alphanumeric(20, 32) },
  { name: 'finnhub', form: alphanumeric(20) },
  { name: 'flickr', form: alphanumeric(32) },
  { name: 'freshbooks', form: alphanumeric(64) },
  { name: 'gitter', form: open(40) },
  { name: 'intercom', form: open(60) },
  { name: 'jfrog', form: alphanumeric(64, 73) },
  { name: 'artifactory', form: alphanumeric(64, 73) },
  { name: 'kraken', form: /^[A-Za-z0-9/=_+-]{80,90}$/ },
  { name: 'kucoin', form: hex(24) },
  { name: 'launchdarkly', form: open(40) },
  { name: 'linear', form: hex(32) },
  { name: 'linkedin', form: alphanumeric(14, 16) },
  { name: 'lob', form: /^(?:live|test)_(?:pub_)?[a-f0-9]{31,35}$/ },
  { name: 'looker', form: alphanumeric(20, 24) },
  { name: 'mattermost', form: alphanumeric(26) },
  { name: 'meraki', form: hex(40) },
  { name: 'messagebird', form: alphanumeric(25) },
  { name: 'message_bird', form: alphanumeric(25) },
  { name: 'message-bird', form: alphanumeric(25) },
  { name: 'netlify', form: open(40, 46) },
  { name: 'newrelic', form: alphanumeric(64) },
  { name: 'new-relic', form: alphanumeric(64) },
  { name: 'new_relic', form: alphanumeric(64) },
  { name: 'nytimes', form: open(32) },
  { name: 'okta', form: /^00[\w=-]{40}$/ },
  { name: 'plaid', form: alphanumeric(24, 30) },
  { name: 'rapidapi', form: open(50) },
  { name: 'sendbird', form: hex(40) },
  { name: 'sentry', form: hex(64) },
  { name: 'shopify', form: hex(32) },
  { name: 'squarespace', form: UUID },
  { name: 'sumo', form: /^su[A-Za-z0-9]{12}$/ },
  { name: 'sumo', form: alphanumeric(64) },
  { name: 'telegram', form: /^\d{5,16}:A[\w-]{34}$/ },
  { name: 'travis', form: alphanumeric(22) },
  { name: 'trello', form: alphanumeric(32, 64) },
  { name: 'twilio', form: hex(32) },
  { name: 'twitch', form: alphanumeric(30) },
  { name: 'twitter', form: alphanumeric(25, 50) },
  { name: 'twitter', form: /^(?:\d{15,25}-[A-Za-z0-9]{20,40}|A{22}[A-Za-z0-9%]{80,100})$/ },
  { name: 'webex', form: alphanumeric(64) },
  { name: 'yandex', form: open(38, 42) },
  { name: 'zendesk', form: alphanumeric(40) },
];

const NAMES = [...new Set(SERVICES.map(({ name }) => name))];
const FORMS = Map.groupBy(SERVICES, ({ name }) => name);

/** Whether a value has a form that the service documents which the name has. */
export function isOfService(name: string, value: string): boolean {
  const lower = name.toLowerCase();
  return NAMES.some((one) => lower.includes(one) && FORMS.get(one)?.some(({ form }) => form.test(value)));
}
