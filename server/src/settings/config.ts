import { isIP } from 'node:net';
import { availableParallelism } from 'node:os';
import { join, resolve } from 'node:path';
import type { CertificateHeader } from '../kernel/auth/forwarded-certificate.ts';
import { SECOND_MS } from '../kernel/base/clock.ts';
import { hideSecrets } from '../kernel/base/hidden-secrets.ts';
import type { LogFormat, LogLevel } from '../kernel/observability/log-levels.ts';
import { defaultPool } from '../kernel/storage/connection-shares.ts';
import { type AuditArchiveConfig, archiveConflicts, auditArchiveOf } from './audit-archive-settings.ts';
import { type CopilotConfig, copilotConflicts, copilotOf } from './copilot-settings.ts';
import { observabilityConflicts, type RequestLogConfig, requestLogOf } from './observability-settings.ts';
import { type MailConfig, mailOf, type StripeConfig, saasConflicts, stripeOf } from './saas-config.ts';
import { FILE_NAMES, withSecretFiles } from './secret-files.ts';
import { PREFIXES, rootKey, SETTINGS, type SettingName, type Values, WORKERS_MAX } from './settings.ts';

/** The configuration is invalid and the service cannot start. Each line names a variable and says what to set; values never appear. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join('\n'));
    this.problems = problems;
  }
}

export type RootKeyConfig =
  | { readonly provider: 'file'; readonly file: string }
  | { readonly provider: 'env'; readonly key: Buffer }
  | { readonly provider: 'passphrase'; readonly passphrase: string | { readonly file: string } };

/** The region of this installation and the others. */
export interface RegionConfig {
  readonly name: string;
  /** The URLs for clients of all regions, this one included. */
  readonly urls: Readonly<Record<string, string>>;
  readonly peers: readonly RegionPeer[];
  /** What this region presents to the others. */
  readonly certFile: string;
  readonly keyFile: string;
  /** 0 if changes are accepted without reaching other regions. */
  readonly leaseMs: number;
}

export interface RegionPeer {
  readonly name: string;
  readonly certFile: string;
  readonly syncUrl: string;
}

export interface Config {
  readonly host: string;
  readonly port: number;
  readonly dataDir: string;
  readonly databaseUrl: string | null;
  readonly databasePool: number;
  /** How many processes serve requests; 1 on SQLite, whatever was configured. */
  readonly workers: number;
  /** How many were configured. */
  readonly workersWanted: number;
  readonly drainMs: number;
  /** `port` is the port listened on, which differs from the setting if the setting is 0. */
  baseUrl(port: number): string;
  /** Whether the base URL was configured, rather than derived from the listening address. */
  readonly hasBaseUrl: boolean;
  audience(port: number): string;
  /** Further names by which clients reach the service over plain http; `*.` stands for any beginning, and `*` for any name. */
  readonly hosts: readonly string[];
  /** Further audiences that a method or federation may expect. */
  audiences: readonly string[];
  readonly tls: { readonly certFile: string; readonly keyFile: string } | null;
  /** The additional TLS listener. If the port is not chosen, it is the default port, which another program may already use. */
  readonly tlsPort: { readonly port: number; readonly isChosen: boolean } | null;
  readonly trustedProxies: readonly string[];
  readonly connectionsPerAddress: number;
  readonly bodyMemoryMib: number;
  readonly clientCertHeader: CertificateHeader | null;
  readonly isDpopNonceRequired: boolean;
  readonly logLevel: LogLevel;
  readonly logFormat: LogFormat;
  readonly requestLog: RequestLogConfig;
  /** Accepted by `/metrics` alone; null if there is none. */
  readonly metricsToken: string | null;
  /** The collector of traces; null if nothing is traced. */
  readonly otlpUrl: string | null;
  /** How long a request may take, without the arrival of its body. */
  readonly requestTimeoutMs: number;
  readonly rootKey: RootKeyConfig;
  /** The root key that `coffer server rekey` changes to. A new key file is created by that command, not configured. */
  readonly newRootKey: Exclude<RootKeyConfig, { provider: 'file' }> | null;
  readonly adminEmail: string;
  readonly vaultRetentionDays: number;
  readonly outboundAllow: readonly string[];
  /** The folder to which each audit checkpoint is written as a file. */
  readonly checkpointDir: string | null;
  /** Null if nothing is archived. */
  readonly auditArchive: AuditArchiveConfig | null;
  /** Replaces the countries of addresses that come with the service. */
  readonly geoipFile: string | null;
  /** Null if the installation is not part of a group of regions. */
  readonly region: RegionConfig | null;
  readonly anomalyScanIntervalHours: number;
  readonly anomalyModel: Values['CV_ANOMALY_ML_VERSION'];
  /** Whether drift of hosts is sent to webhooks. */
  readonly isEndpointDriftNotified: boolean;
  /** Settings that differ from their defaults, as they were written. Secret ones are hidden. */
  readonly changed: Readonly<Record<string, string>>;
  readonly mail: MailConfig;
  readonly isConsoleOn: boolean;
  readonly isSignupOn: boolean;
  readonly signupMailsPerHour: number;
  /** Null without a signing secret. */
  readonly stripe: StripeConfig | null;
  /** Null if the assistant is disabled. */
  readonly copilot: CopilotConfig | null;
}

export function loadConfig(written: Readonly<Record<string, string | undefined>>): Config {
  const values: Partial<Record<SettingName, unknown>> = {};
  const problems = unknownNames(written);
  const env = withSecretFiles(written, problems);
  for (const setting of SETTINGS) {
    const value = env[setting.name] || setting.default;
    values[setting.name] = value === null ? null : setting.kind.parse(value);
    if (values[setting.name] === undefined) problems.push(`${setting.name} must be ${setting.kind.expects}.`);
  }
  problems.push(...conflicts(new Set(SETTINGS.map(({ name }) => name).filter((name) => env[name])), values));
  if (problems.length > 0) throw new ConfigError(problems);
  return build(values as Values, changedIn(env));
}

function changedIn(env: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const changed = SETTINGS.filter(({ name, default: usual }) => env[name] && env[name] !== usual);
  return Object.fromEntries(changed.map(({ name, secret }) => [name, secret ? '[hidden]' : String(env[name])]));
}

function unknownNames(env: Readonly<Record<string, string | undefined>>): string[] {
  const known: readonly string[] = [...SETTINGS.map(({ name }) => name), ...FILE_NAMES];
  return Object.keys(env)
    .filter((name) => PREFIXES.some((prefix) => name.startsWith(prefix)) && !known.includes(name))
    .map((name) => `${name} is not a setting. Remove it, or correct it: did you mean ${closest(name, known)}?`);
}

/** Finds settings that contradict each other or require another one. A setting without effect is a mistake that the operator should learn about. */
function conflicts(given: ReadonlySet<SettingName>, values: Partial<Record<SettingName, unknown>>): string[] {
  const problems: string[] = [];
  const check = (wrong: boolean, problem: string) => wrong && problems.push(problem);
  const provider = values['CV_ROOT_KEY_PROVIDER'];
  const only = (name: SettingName, wanted: string) =>
    check(
      given.has(name) && provider !== wanted && provider !== undefined,
      `${name} has no effect here: remove it, or set CV_ROOT_KEY_PROVIDER=${wanted}.`,
    );
  check(
    given.has('CV_TLS_CERT_FILE') && !given.has('CV_TLS_KEY_FILE'),
    'CV_TLS_KEY_FILE must be set too, or remove CV_TLS_CERT_FILE.',
  );
  check(
    given.has('CV_TLS_KEY_FILE') && !given.has('CV_TLS_CERT_FILE'),
    'CV_TLS_CERT_FILE must be set too, or remove CV_TLS_KEY_FILE.',
  );
  check(
    given.has('CV_DATABASE_POOL') && !given.has('CV_DATABASE_URL'),
    'CV_DATABASE_POOL has no effect here: remove it, or set CV_DATABASE_URL.',
  );
  const certHeader = values['CV_CLIENT_CERT_HEADER'];
  check(
    certHeader !== undefined && certHeader !== 'none' && !given.has('CV_TRUSTED_PROXIES'),
    'CV_CLIENT_CERT_HEADER has no effect here: remove it, or set CV_TRUSTED_PROXIES.',
  );
  only('CV_ROOT_KEY_FILE', 'file');
  only('CV_ROOT_KEY', 'env');
  only('CV_ROOT_PASSPHRASE', 'passphrase');
  only('CV_ROOT_PASSPHRASE_FILE', 'passphrase');
  only('CV_NEW_ROOT_KEY', 'env');
  only('CV_NEW_ROOT_PASSPHRASE', 'passphrase');
  only('CV_NEW_ROOT_PASSPHRASE_FILE', 'passphrase');
  check(
    given.has('CV_NEW_ROOT_PASSPHRASE') && given.has('CV_NEW_ROOT_PASSPHRASE_FILE'),
    'CV_NEW_ROOT_PASSPHRASE and CV_NEW_ROOT_PASSPHRASE_FILE exclude each other: set one.',
  );
  problems.push(...regionConflicts(given, values));
  problems.push(...saasConflicts(given, values));
  problems.push(...copilotConflicts(given, values));
  problems.push(...archiveConflicts(given, values));
  problems.push(...observabilityConflicts(values));
  check(provider === 'env' && !given.has('CV_ROOT_KEY'), `CV_ROOT_KEY must be ${rootKey.expects}.`);
  const phrases = Number(given.has('CV_ROOT_PASSPHRASE')) + Number(given.has('CV_ROOT_PASSPHRASE_FILE'));
  check(
    provider === 'passphrase' && phrases !== 1,
    'CV_ROOT_KEY_PROVIDER=passphrase requires CV_ROOT_PASSPHRASE or CV_ROOT_PASSPHRASE_FILE: set exactly one.',
  );
  return problems;
}

const REGION_SETTINGS = [
  'CV_REGIONS',
  'CV_REGION_PEERS',
  'CV_REGION_CERT_FILE',
  'CV_REGION_KEY_FILE',
  'CV_REGION_LEASE_SECONDS',
] as const satisfies readonly SettingName[];

function regionConflicts(given: ReadonlySet<SettingName>, values: Partial<Record<SettingName, unknown>>): string[] {
  if (!given.has('CV_REGION')) {
    const idle = REGION_SETTINGS.filter((name) => given.has(name));
    return idle.map((name) => `${name} has no effect here: remove it, or set CV_REGION.`);
  }
  const problems: string[] = [];
  const { CV_REGION: own, CV_REGIONS: urls, CV_REGION_PEERS: peers } = values as Partial<Values>;
  if (!given.has('CV_REGIONS')) problems.push('CV_REGIONS must be set too, or remove CV_REGION.');
  const names = [...(urls?.keys() ?? [])];
  const others = names.filter((name) => name !== own);
  const missing = others.filter((name) => peers?.has(name) !== true);
  const unknown = [...(peers?.keys() ?? [])].filter((name) => !others.includes(name));
  if (urls && own && !names.includes(own)) problems.push('CV_REGIONS must list the region in CV_REGION too.');
  if (urls && peers !== undefined && missing.length > 0)
    problems.push(`CV_REGION_PEERS must list every other region in CV_REGIONS: ${missing.join(', ')} is missing.`);
  if (urls && unknown.length > 0)
    problems.push(`CV_REGION_PEERS must list only other regions in CV_REGIONS: remove ${unknown.join(', ')}.`);
  if (given.has('CV_REGION_CERT_FILE') !== given.has('CV_REGION_KEY_FILE'))
    problems.push('CV_REGION_CERT_FILE and CV_REGION_KEY_FILE belong together: set both.');
  if (others.length > 0 && !given.has('CV_REGION_CERT_FILE') && !given.has('CV_TLS_CERT_FILE'))
    problems.push('CV_REGION_CERT_FILE and CV_REGION_KEY_FILE must be set, so that other regions know this one.');
  return problems;
}

function regionOf(values: Values): RegionConfig | null {
  const { CV_REGION: name, CV_REGIONS: urls, CV_REGION_PEERS: peers } = values;
  if (name === null || urls === null) return null;
  return Object.freeze({
    name,
    urls: Object.freeze(Object.fromEntries(urls)),
    peers: Object.freeze(
      [...(peers ?? [])].map(([peer, { certFile, syncUrl }]) =>
        Object.freeze({ name: peer, certFile: resolve(certFile), syncUrl: syncUrl ?? urls.get(peer) ?? '' }),
      ),
    ),
    certFile: resolve(values.CV_REGION_CERT_FILE ?? values.CV_TLS_CERT_FILE ?? ''),
    keyFile: resolve(values.CV_REGION_KEY_FILE ?? values.CV_TLS_KEY_FILE ?? ''),
    leaseMs: values.CV_REGION_LEASE_SECONDS * SECOND_MS,
  });
}

function build(values: Values, changed: Record<string, string>): Config {
  const dataDir = resolve(values.CV_DATA_DIR);
  const certFile = values.CV_TLS_CERT_FILE;
  const keyFile = values.CV_TLS_KEY_FILE;
  const tls = certFile === null || keyFile === null ? null : { certFile: resolve(certFile), keyFile: resolve(keyFile) };
  const derived = (port: number) => originOf(tls === null ? 'http' : 'https', values.CV_HOST, port);
  const newRootKey = newRootKeyOf(values);
  const base = (port: number) => values.CV_BASE_URL ?? derived(port);
  const workersWanted =
    values.CV_WORKERS === 'auto' ? Math.min(availableParallelism(), WORKERS_MAX) : values.CV_WORKERS;
  const workers = values.CV_DATABASE_URL === null ? 1 : workersWanted;
  return Object.freeze(
    hideSecrets({
      host: values.CV_HOST,
      port: values.CV_PORT,
      dataDir,
      databaseUrl: values.CV_DATABASE_URL,
      databasePool: values.CV_DATABASE_POOL ?? defaultPool(availableParallelism(), workers),
      drainMs: values.CV_DRAIN_SECONDS * SECOND_MS,
      workers,
      workersWanted,
      baseUrl: base,
      hasBaseUrl: values.CV_BASE_URL !== null,
      hosts: Object.freeze(values.CV_HOSTS ?? []),
      audience: (port: number) => values.CV_AUDIENCE ?? base(port),
      audiences: Object.freeze(values.CV_AUDIENCES ?? []),
      tls: tls && Object.freeze(tls),
      tlsPort: tlsPortOf(values),
      trustedProxies: Object.freeze(values.CV_TRUSTED_PROXIES ?? []),
      connectionsPerAddress: values.CV_CONNECTIONS_PER_ADDRESS,
      bodyMemoryMib: values.CV_BODY_MEMORY_MIB,
      clientCertHeader: values.CV_CLIENT_CERT_HEADER === 'none' ? null : values.CV_CLIENT_CERT_HEADER,
      isDpopNonceRequired: values.CV_DPOP_NONCE === 'required',
      logLevel: values.CV_LOG_LEVEL,
      logFormat: values.CV_LOG_FORMAT,
      requestLog: requestLogOf(values),
      metricsToken: values.CV_METRICS_TOKEN,
      otlpUrl: values.CV_OTLP_URL,
      requestTimeoutMs: values.CV_REQUEST_TIMEOUT_SECONDS * SECOND_MS,
      rootKey: Object.freeze(hideSecrets(rootKeyOf(values, dataDir))),
      newRootKey: newRootKey && Object.freeze(hideSecrets(newRootKey)),
      adminEmail: values.CV_ADMIN_EMAIL,
      vaultRetentionDays: values.CV_VAULT_RETENTION_DAYS,
      outboundAllow: Object.freeze(values.CV_OUTBOUND_ALLOW ?? []),
      checkpointDir: values.CV_CHECKPOINT_DIR === null ? null : resolve(values.CV_CHECKPOINT_DIR),
      auditArchive: auditArchiveOf(values),
      geoipFile: values.CV_GEOIP_FILE === null ? null : resolve(values.CV_GEOIP_FILE),
      region: regionOf(values),
      anomalyScanIntervalHours: values.ANOMALY_SCHEDULER_INTERVAL_HOURS,
      anomalyModel: values.CV_ANOMALY_ML_VERSION,
      isEndpointDriftNotified: values.CV_ENDPOINT_DRIFT_NOTIFY === 'true',
      changed: Object.freeze(changed),
      mail: mailOf(values, dataDir),
      isConsoleOn: values.CV_CONSOLE,
      isSignupOn: values.CV_SIGNUP,
      signupMailsPerHour: values.CV_SIGNUP_MAILS_PER_HOUR,
      stripe: stripeOf(values),
      copilot: copilotOf(values),
    }),
  );
}

const USUAL_TLS_PORT = 7443;

function tlsPortOf({ CV_TLS_PORT: chosen, CV_PORT: main }: Values): Config['tlsPort'] {
  if (chosen === 'off') return null;
  return Object.freeze({ port: chosen ?? (main === 0 ? 0 : USUAL_TLS_PORT), isChosen: chosen !== null });
}

function rootKeyOf(values: Values, dataDir: string): RootKeyConfig {
  const { CV_ROOT_KEY: key, CV_ROOT_PASSPHRASE: phrase, CV_ROOT_PASSPHRASE_FILE: phraseFile } = values;
  if (key !== null) return { provider: 'env', key };
  if (phrase !== null) return { provider: 'passphrase', passphrase: phrase };
  if (phraseFile !== null) return { provider: 'passphrase', passphrase: Object.freeze({ file: resolve(phraseFile) }) };
  return { provider: 'file', file: resolve(values.CV_ROOT_KEY_FILE ?? join(dataDir, 'root.key')) };
}

function newRootKeyOf(values: Values): Config['newRootKey'] {
  const { CV_NEW_ROOT_KEY: key, CV_NEW_ROOT_PASSPHRASE: phrase, CV_NEW_ROOT_PASSPHRASE_FILE: phraseFile } = values;
  if (key !== null) return { provider: 'env', key };
  if (phrase !== null) return { provider: 'passphrase', passphrase: phrase };
  if (phraseFile !== null) return { provider: 'passphrase', passphrase: Object.freeze({ file: resolve(phraseFile) }) };
  return null;
}

function originOf(scheme: string, listenedOn: string, port: number): string {
  // Clients cannot connect to a wildcard address.
  const reachable = listenedOn === '0.0.0.0' || listenedOn === '::' ? 'localhost' : listenedOn;
  return new URL(`${scheme}://${isIP(reachable) === 6 ? `[${reachable}]` : reachable}:${port}`).origin;
}

function closest(name: string, known: readonly string[]): string {
  return known.reduce((best, other) => (distance(name, other) < distance(name, best) ? other : best));
}

/** Levenshtein distance, computed row by row. Names are truncated so that a huge one costs nothing. */
function distance(left: string, right: string): number {
  let previous = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (const [row, letter] of [...left.slice(0, 64)].entries()) {
    const current = [row + 1];
    for (let column = 0; column < right.length; column++) {
      const replaced = (previous[column] ?? 0) + (letter === right[column] ? 0 : 1);
      current.push(Math.min(replaced, (previous[column + 1] ?? 0) + 1, (current[column] ?? 0) + 1));
    }
    previous = current;
  }
  return previous[right.length] ?? 0;
}
