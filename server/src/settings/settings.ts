import { isIP } from 'node:net';
import { CERTIFICATE_HEADERS } from '../kernel/auth/forwarded-certificate.ts';
import { parseCidr } from '../kernel/base/cidr.ts';
import { isHostName } from '../kernel/base/host-name.ts';
import { LOG_FORMATS, LOG_LEVELS } from '../kernel/observability/log-levels.ts';
import { CONNECTIONS_MIN } from '../kernel/storage/connection-shares.ts';
import { parseDatabaseUrl, SERVERS_MAX } from '../kernel/storage/database-url.ts';
import { OBSERVABILITY_SETTINGS } from './observability-settings.ts';
import type { Setting, ValuesOf } from './setting.ts';
import { choice, type Kind, onOrOff, parseBaseUrl, text, whole } from './setting-kind.ts';

const ROOT_KEY_BYTES = 32;
const MIN_PASSPHRASE_LENGTH = 16;
const MAX_LIST_ENTRIES = 256;
/** With less, the share of one tenant could not hold the largest body. */
export const BODY_MEMORY_MIB_MIN = 64;
const host: Kind<string> = { expects: 'an IP address or a host name', parse: parseHost };
const baseUrl: Kind<string> = {
  expects: 'an http:// or https:// URL without user, path or query, such as https://coffer.example.com',
  parse: parseBaseUrl,
};
const portOrOff: Kind<number | 'off'> = {
  expects: 'a whole number from 0 to 65,535, or `off`',
  parse: (written) => (written === 'off' ? 'off' : whole(0, 65_535).parse(written)),
};
/** More workers than this would open more connections to PostgreSQL than a server usually accepts. */
export const WORKERS_MAX = 64;
const workers: Kind<number | 'auto'> = {
  expects: `a whole number from 1 to ${WORKERS_MAX}, or \`auto\``,
  parse: (written) => (written === 'auto' ? 'auto' : whole(1, WORKERS_MAX).parse(written)),
};
const databaseUrl: Kind<string> = {
  expects: `a URL such as postgres://user:password@host:5432/database, with 1 to ${SERVERS_MAX} different hosts separated by commas, and with target_session_attrs=read-write or without it`,
  parse: (written) => (parseDatabaseUrl(written) === null ? undefined : written),
};
const proxies: Kind<readonly string[]> = {
  expects: `a comma-separated list of at most ${MAX_LIST_ENTRIES} IP addresses and CIDR ranges`,
  parse: (written) => parseList(written, (entry) => parseCidr(entry)?.text),
};
const audiences: Kind<readonly string[]> = {
  expects: `a comma-separated list of at most ${MAX_LIST_ENTRIES} audiences`,
  parse: (written) =>
    parseList(written, (entry) => (entry === '' || entry.includes('*') ? undefined : text.parse(entry))),
};
const destinations: Kind<readonly string[]> = {
  expects: `a comma-separated list of at most ${MAX_LIST_ENTRIES} host names, IP addresses and CIDR ranges`,
  parse: (written) => parseList(written, (entry) => parseCidr(entry)?.text ?? parseHost(entry)?.toLowerCase()),
};
const hosts: Kind<readonly string[]> = {
  expects: `a comma-separated list of at most ${MAX_LIST_ENTRIES} host names, such as coffer.internal or *.internal, or \`*\` for any`,
  parse: (written) => parseList(written, parseHostPattern),
};
export const rootKey: Kind<Buffer> = {
  expects: `the base64 of ${ROOT_KEY_BYTES} random bytes, as \`openssl rand -base64 ${ROOT_KEY_BYTES}\` prints it`,
  parse: parseKey,
};
const passphrase: Kind<string> = {
  expects: `a passphrase of ${MIN_PASSPHRASE_LENGTH} to 1,024 characters`,
  parse: (written) => (written.length < MIN_PASSPHRASE_LENGTH ? undefined : text.parse(written)),
};
const email: Kind<string> = {
  expects: 'an e-mail address',
  parse: (written) => (/^[^\s@]{1,64}@[^\s@]{1,189}$/.test(written) ? written : undefined),
};
const SEALS_MAX = 8;
const DIRECT = ['file', 'env', 'passphrase'];
const seals: Kind<readonly string[]> = {
  expects: `a comma-separated list of 1 to ${SEALS_MAX} different seals, each ${DIRECT.join(', ')}, shamir, or a reference such as aws-kms:arn:aws:kms:…`,
  parse: parseSeals,
};
/** The settings of the service itself. Those of features stand in the features. Parsing, defaults, the check for unknown names and the docs use these tables. */
export const SETTINGS = [
  { name: 'CV_HOST', kind: host, default: '127.0.0.1', doc: 'Address to listen on.', secret: false },
  {
    name: 'CV_PORT',
    kind: whole(0, 65_535),
    default: '7400',
    doc: 'Port to listen on; 0 uses any free one.',
    secret: false,
  },
  {
    name: 'CV_DATA_DIR',
    kind: text,
    default: './data',
    doc: 'Folder of the SQLite database, the root key and the first admin token.',
    secret: false,
  },
  {
    name: 'CV_DATABASE_URL',
    kind: databaseUrl,
    default: null,
    fallback: 'none: SQLite in the data folder',
    doc: 'PostgreSQL 15 or later, as `postgres://user:password@host/database`. Of several servers, `host1:5432,host2:5432`, the one that accepts writes is used.',
    secret: true,
  },
  {
    name: 'CV_DATABASE_POOL',
    kind: whole(1, 100),
    default: null,
    fallback: '8, and 2 for each processor core, which workers share; at most 24',
    doc: `Connections to PostgreSQL of each worker, opened when needed; fewer than ${CONNECTIONS_MIN} count as ${CONNECTIONS_MIN}. Only with \`CV_DATABASE_URL\`.`,
    secret: false,
  },
  {
    name: 'CV_WORKERS',
    kind: workers,
    default: '1',
    doc: `Processes that serve requests behind the same ports, 1 to ${WORKERS_MAX}, or \`auto\`: one for each processor core. On SQLite all of them read, and the first one writes for all.`,
    secret: false,
  },
  {
    name: 'CV_DRAIN_SECONDS',
    kind: whole(0, 300),
    default: '5',
    doc: 'How long requests are still accepted after SIGTERM, while `/health/ready` already answers 503, so that load balancers stop sending them. SIGINT does not wait.',
    secret: false,
  },
  {
    name: 'CV_BASE_URL',
    kind: baseUrl,
    default: null,
    fallback: 'scheme, host and port listened on',
    doc: 'URL under which clients reach the service.',
    secret: false,
  },
  {
    name: 'CV_HOSTS',
    kind: hosts,
    default: null,
    doc: 'Further host names by which clients reach the service over plain http, such as the name of a container, of a Kubernetes service or of the upstream in a proxy. Addresses, `localhost`, the name of the machine and the host of `CV_BASE_URL` are accepted without it; any other name gets `UNKNOWN_HOST`.',
    secret: false,
  },
  {
    name: 'CV_CONSOLE',
    kind: onOrOff,
    default: 'on',
    doc: '`off`: the service has no web console, and accepts no session in a cookie.',
    secret: false,
  },
  {
    name: 'CV_AUDIENCE',
    kind: text,
    default: null,
    fallback: 'the base URL',
    doc: 'Audience that tokens presented to the service must name.',
    secret: false,
  },
  {
    name: 'CV_AUDIENCES',
    kind: audiences,
    default: null,
    doc: 'Further audiences, separated by commas, that workload methods and federations may expect instead of `CV_AUDIENCE`: for identity providers that cannot be given another, such as `api://…` of Azure. Anyone who can obtain a token for one of them, for whatever service, can present it here.',
    secret: false,
  },
  {
    name: 'CV_TLS_PORT',
    kind: portOrOff,
    default: null,
    fallback: '`7443`, if it is free; any free one with `CV_PORT=0`',
    doc: 'Port for TLS with client certificates; 0 uses any free one, `off` disables it.',
    secret: false,
  },
  {
    name: 'CV_TLS_CERT_FILE',
    kind: text,
    default: null,
    fallback: 'none: `CV_PORT` is plain HTTP, `CV_TLS_PORT` has a certificate of the service’s own CA',
    doc: 'PEM file with the certificate chain of both ports, read again when it changes. Together with `CV_TLS_KEY_FILE`.',
    secret: false,
  },
  {
    name: 'CV_TLS_KEY_FILE',
    kind: text,
    default: null,
    doc: 'PEM file with the private key. Together with `CV_TLS_CERT_FILE`.',
    secret: false,
  },
  {
    name: 'CV_TRUSTED_PROXIES',
    kind: proxies,
    default: null,
    doc: 'Addresses and CIDR ranges of the proxies whose `X-Forwarded-For` is trusted.',
    secret: false,
  },
  {
    name: 'CV_CONNECTIONS_PER_ADDRESS',
    kind: whole(1, 20_000),
    default: '1000',
    doc: 'Connections that one address (of IPv6, one /64 network) may have open at a time; proxies in `CV_TRUSTED_PROXIES` may have more. Workers share this number in equal parts.',
    secret: false,
  },
  {
    name: 'CV_BODY_MEMORY_MIB',
    kind: whole(BODY_MEMORY_MIB_MIN, 65_536),
    default: '128',
    doc: `MiB of request bodies in memory at a time, over all requests; one tenant gets a quarter of it. Beyond that, requests get status 503. Workers share this number in equal parts of at least ${BODY_MEMORY_MIB_MIN} MiB.`,
    secret: false,
  },
  {
    name: 'CV_CLIENT_CERT_HEADER',
    kind: choice('none', ...CERTIFICATE_HEADERS),
    default: 'none',
    doc: 'Header in which these proxies pass on client certificates, and which they overwrite on every request: `client-cert` (RFC 9440), `x-client-cert` (URL-escaped PEM, as nginx writes it) or `none`.',
    secret: false,
  },
  {
    name: 'CV_DPOP_NONCE',
    kind: choice('optional', 'required'),
    default: 'optional',
    doc: '`required`: every DPoP proof must contain a nonce that the service issued within the last five minutes.',
    secret: false,
  },
  {
    name: 'CV_LOG_LEVEL',
    kind: choice(...LOG_LEVELS),
    default: 'info',
    doc: 'Least severe level to log: `fatal`, `error`, `warn`, `info`, `debug`, `trace` or `silent`. `CV_LOG_LEVEL_FILE` names a file with it, which SIGHUP loads again.',
    secret: false,
    fromFile: true,
  },
  {
    name: 'CV_LOG_FORMAT',
    kind: choice(...LOG_FORMATS),
    default: 'auto',
    doc: '`json`, `pretty`, or `auto`: pretty on a terminal, JSON elsewhere.',
    secret: false,
  },
  ...OBSERVABILITY_SETTINGS,
  {
    name: 'CV_ROOT_KEY_PROVIDER',
    kind: choice('file', 'env', 'passphrase'),
    default: 'file',
    doc: 'Where the root key comes from: `file`, `env` or `passphrase`.',
    secret: false,
  },
  {
    name: 'CV_ROOT_KEY_FILE',
    kind: text,
    default: null,
    fallback: '`root.key` in the data folder',
    doc: 'File of the root key, created at the first start. Only with provider `file`.',
    secret: false,
  },
  {
    name: 'CV_ROOT_KEY',
    kind: rootKey,
    default: null,
    doc: 'The root key itself: base64 of 32 bytes. Only with provider `env`.',
    secret: true,
  },
  {
    name: 'CV_ROOT_PASSPHRASE',
    kind: passphrase,
    default: null,
    doc: 'Passphrase the root key is derived from, at least 16 characters. Only with provider `passphrase`.',
    secret: true,
  },
  {
    name: 'CV_ROOT_PASSPHRASE_FILE',
    kind: text,
    default: null,
    doc: 'File that contains the passphrase instead. Only with provider `passphrase`.',
    secret: false,
  },
  {
    name: 'CV_SEALS',
    kind: seals,
    default: null,
    fallback: 'the provider alone',
    doc: 'What opens the root key, in the order in which it is tried; one that opens is enough. `file`, `env` or `passphrase` stands for the provider, the others for copies made by `coffer server seal add`.',
    secret: false,
  },
  {
    name: 'CV_SHARES_FILE',
    kind: text,
    default: null,
    doc: 'File with shares of the root key, one in a line, which are used if no other seal opens. Only with `shamir` in `CV_SEALS`.',
    secret: false,
  },
  {
    name: 'CV_NEW_ROOT_KEY',
    kind: rootKey,
    default: null,
    doc: 'The root key to change to. Only for `coffer server rekey` with provider `env`.',
    secret: true,
  },
  {
    name: 'CV_NEW_ROOT_PASSPHRASE',
    kind: passphrase,
    default: null,
    doc: 'The passphrase to change to. Only for `coffer server rekey` with provider `passphrase`.',
    secret: true,
  },
  {
    name: 'CV_NEW_ROOT_PASSPHRASE_FILE',
    kind: text,
    default: null,
    doc: 'File that contains the passphrase to change to instead. Only for `coffer server rekey` with provider `passphrase`.',
    secret: false,
  },
  {
    name: 'CV_ADMIN_EMAIL',
    kind: email,
    default: 'admin@localhost',
    doc: 'E-mail address of the admin created at the first start.',
    secret: false,
  },
  {
    name: 'CV_OUTBOUND_ALLOW',
    kind: destinations,
    default: null,
    doc: 'Hosts and CIDR ranges in private networks that outgoing requests may reach, also by plain http.',
    secret: false,
  },
  {
    name: 'CV_CHECKPOINT_DIR',
    kind: text,
    default: null,
    doc: 'Existing folder, best on another machine’s disk, into which every signed checkpoint of the audit logs is written as a file.',
    secret: false,
  },
] as const satisfies readonly Setting[];

export type Values = ValuesOf<typeof SETTINGS>;

export function configurationMarkdown(settings: readonly Setting[]): string {
  const rows = settings.map((setting) => {
    const fallback = setting.default === null ? (setting.fallback ?? 'none') : `\`${setting.default}\``;
    return `| \`${setting.name}\` | ${setting.doc}${setting.secret ? ' Secret.' : ''} | ${fallback} |`;
  });
  return ['| Name | Meaning | Default |', '|---|---|---|', ...rows, ''].join('\n');
}
function parseHost(written: string): string | undefined {
  if (isIP(written) !== 0) return written.includes('%') ? undefined : written;
  return isHostName(written) ? written : undefined;
}

function parseHostPattern(written: string): string | undefined {
  if (written === '*') return written;
  const name = written.startsWith('*.') ? written.slice(2) : written;
  return parseHost(name) === undefined ? undefined : written.toLowerCase();
}

function parseList(written: string, parse: (entry: string) => string | undefined): readonly string[] | undefined {
  const entries = written.split(',', MAX_LIST_ENTRIES + 1).map((entry) => parse(entry.trim()));
  const valid = entries.filter((entry) => entry !== undefined);
  return valid.length === entries.length && entries.length <= MAX_LIST_ENTRIES ? valid : undefined;
}

function parseKey(written: string): Buffer | undefined {
  const key = Buffer.from(written, 'base64');
  return key.length === ROOT_KEY_BYTES && key.toString('base64') === written ? key : undefined;
}

/** Which keys a reference names is checked where it is used, so that the settings need no provider. */
function parseSeals(written: string): readonly string[] | undefined {
  const names = written.split(',').map((name) => name.trim());
  const isReference = (name: string) => /^[a-z][a-z0-9-]{1,31}:[\x21-\x7e]{1,512}$/.test(name);
  const isKnown = (name: string) => DIRECT.includes(name) || name === 'shamir' || isReference(name);
  const isList = names.length <= SEALS_MAX && new Set(names).size === names.length && names.every(isKnown);
  return isList && names.filter((name) => DIRECT.includes(name)).length <= 1 ? names : undefined;
}
