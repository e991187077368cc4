import { isIP } from 'node:net';
import { availableParallelism } from 'node:os';
import { join, resolve } from 'node:path';
import type { CertificateHeader } from '../kernel/auth/forwarded-certificate.ts';
import { SECOND_MS } from '../kernel/base/clock.ts';
import { hideSecrets } from '../kernel/base/hidden-secrets.ts';
import type { LogFormat, LogLevel } from '../kernel/observability/log-levels.ts';
import { defaultPool } from '../kernel/storage/connection-shares.ts';
import { observabilityConflicts, type RequestLogConfig, requestLogOf } from './observability-settings.ts';
import { fileNames, withSecretFiles } from './secret-files.ts';
import { PREFIXES, type Setting } from './setting.ts';
import type { SettingGroup } from './setting-group.ts';
import { rootKey, SETTINGS, type Values, WORKERS_MAX } from './settings.ts';

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

export interface Config {
  readonly host: string;
  readonly port: number;
  readonly dataDir: string;
  readonly databaseUrl: string | null;
  readonly databasePool: number;
  /** How many processes serve requests. */
  readonly workers: number;
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
  /** What opens the root key, in order; null for the provider alone. */
  readonly seals: readonly string[] | null;
  /** The file with shares of the root key. */
  readonly sharesFile: string | null;
  readonly adminEmail: string;
  readonly outboundAllow: readonly string[];
  /** The folder to which each audit checkpoint is written as a file. */
  readonly checkpointDir: string | null;
  /** Settings that differ from their defaults, as they were written. Secret ones are hidden. */
  readonly changed: Readonly<Record<string, string>>;
  /** What was made of the settings of a feature. It can change while the process runs, so read it where it is used. */
  of<C>(group: SettingGroup<C>): C;
  /** Only for settings that were loaded again while the process runs. */
  replace<C>(group: SettingGroup<C>, next: C): void;
  readonly isConsoleOn: boolean;
}

/** Reads the settings of the service and of these groups. */
export function readConfig(
  written: Readonly<Record<string, string | undefined>>,
  groups: readonly SettingGroup[],
): Config {
  const settings = settingsOf(groups);
  const values: Record<string, unknown> = {};
  const problems = unknownNames(written, settings);
  const env = withSecretFiles(written, settings, problems);
  for (const setting of settings) {
    const value = env[setting.name] || setting.default;
    values[setting.name] = value === null ? null : setting.kind.parse(value);
    if (values[setting.name] === undefined) problems.push(`${setting.name} must be ${setting.kind.expects}.`);
  }
  const given = new Set<string>(settings.map(({ name }) => name).filter((name) => env[name]));
  problems.push(...conflicts(given, values));
  for (const group of groups) problems.push(...group.conflicts(given, values));
  if (problems.length > 0) throw new ConfigError(problems);
  const built = new Map(groups.map((group) => [group, group.build(values)]));
  return build(values as Values, { changed: changedIn(env, settings), built });
}

/** All settings there are, in the order of their documentation. */
export function settingsOf(groups: readonly SettingGroup[]): readonly Setting[] {
  return [...SETTINGS, ...groups.flatMap(({ settings }) => settings)];
}

type Environment = Readonly<Record<string, string | undefined>>;

function changedIn(env: Environment, settings: readonly Setting[]): Record<string, string> {
  const changed = settings.filter(({ name, default: usual }) => env[name] && env[name] !== usual);
  return Object.fromEntries(changed.map(({ name, secret }) => [name, secret ? '[hidden]' : String(env[name])]));
}

function unknownNames(env: Environment, settings: readonly Setting[]): string[] {
  const known: readonly string[] = [...settings.map(({ name }) => name), ...fileNames(settings)];
  return Object.keys(env)
    .filter((name) => PREFIXES.some((prefix) => name.startsWith(prefix)) && !known.includes(name))
    .map((name) => `${name} is not a setting. Remove it, or correct it: did you mean ${closest(name, known)}?`);
}

/** Finds settings that contradict each other or require another one. A setting without effect is a mistake that the operator should learn about. */
function conflicts(given: ReadonlySet<string>, values: Readonly<Record<string, unknown>>): string[] {
  const problems: string[] = [];
  const check = (wrong: boolean, problem: string) => wrong && problems.push(problem);
  const provider = values['CV_ROOT_KEY_PROVIDER'];
  const only = (name: keyof Values, wanted: string) =>
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
  problems.push(...sealConflicts(given, values), ...observabilityConflicts(values));
  check(provider === 'env' && !given.has('CV_ROOT_KEY'), `CV_ROOT_KEY must be ${rootKey.expects}.`);
  const phrases = Number(given.has('CV_ROOT_PASSPHRASE')) + Number(given.has('CV_ROOT_PASSPHRASE_FILE'));
  check(
    provider === 'passphrase' && phrases !== 1,
    'CV_ROOT_KEY_PROVIDER=passphrase requires CV_ROOT_PASSPHRASE or CV_ROOT_PASSPHRASE_FILE: set exactly one.',
  );
  return problems;
}

function sealConflicts(given: ReadonlySet<string>, values: Readonly<Record<string, unknown>>): string[] {
  const seals = values['CV_SEALS'] as readonly string[] | null | undefined;
  const provider = values['CV_ROOT_KEY_PROVIDER'];
  const hasShares = seals?.includes('shamir') ?? false;
  const problems: string[] = [];
  if (given.has('CV_SHARES_FILE') && !hasShares)
    problems.push('CV_SHARES_FILE has no effect here: remove it, or name shamir in CV_SEALS.');
  if (seals === null || seals === undefined) return problems;
  if (seals.length === 1 && hasShares && !given.has('CV_SHARES_FILE') && values['CV_WORKERS'] !== 1)
    problems.push(
      'CV_WORKERS must be 1 with shares alone: each worker would wait for shares, and only the first takes any.',
    );
  const other = ['file', 'env', 'passphrase'].find((name) => seals.includes(name) && name !== provider);
  if (other !== undefined)
    problems.push(`CV_SEALS names ${other}, and CV_ROOT_KEY_PROVIDER is ${provider}: name the same one.`);
  const withoutEffect = ['CV_ROOT_KEY_PROVIDER', 'CV_ROOT_KEY_FILE', 'CV_ROOT_KEY', 'CV_ROOT_PASSPHRASE'];
  if (!seals.includes(String(provider))) {
    for (const name of [...withoutEffect, 'CV_ROOT_PASSPHRASE_FILE'].filter((one) => given.has(one)))
      problems.push(`${name} has no effect here: remove it, or name ${provider} in CV_SEALS.`);
  }
  return problems;
}

interface OfGroups {
  changed: Record<string, string>;
  built: Map<SettingGroup, unknown>;
}

function build(values: Values, { changed, built }: OfGroups): Config {
  const dataDir = resolve(values.CV_DATA_DIR);
  const certFile = values.CV_TLS_CERT_FILE;
  const keyFile = values.CV_TLS_KEY_FILE;
  const tls = certFile === null || keyFile === null ? null : { certFile: resolve(certFile), keyFile: resolve(keyFile) };
  const derived = (port: number) => originOf(tls === null ? 'http' : 'https', values.CV_HOST, port);
  const newRootKey = newRootKeyOf(values);
  const base = (port: number) => values.CV_BASE_URL ?? derived(port);
  const workers = values.CV_WORKERS === 'auto' ? Math.min(availableParallelism(), WORKERS_MAX) : values.CV_WORKERS;
  return Object.freeze(
    hideSecrets({
      host: values.CV_HOST,
      port: values.CV_PORT,
      dataDir,
      databaseUrl: values.CV_DATABASE_URL,
      databasePool: values.CV_DATABASE_POOL ?? defaultPool(availableParallelism(), workers),
      drainMs: values.CV_DRAIN_SECONDS * SECOND_MS,
      workers,
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
      seals: values.CV_SEALS === null ? null : Object.freeze([...values.CV_SEALS]),
      sharesFile: values.CV_SHARES_FILE === null ? null : resolve(values.CV_SHARES_FILE),
      adminEmail: values.CV_ADMIN_EMAIL,
      outboundAllow: Object.freeze(values.CV_OUTBOUND_ALLOW ?? []),
      checkpointDir: values.CV_CHECKPOINT_DIR === null ? null : resolve(values.CV_CHECKPOINT_DIR),
      changed: Object.freeze(changed),
      of: <C>(group: SettingGroup<C>) => {
        if (!built.has(group)) throw new Error('these settings were not read');
        return built.get(group) as C;
      },
      replace: <C>(group: SettingGroup<C>, next: C) => void built.set(group, next),
      isConsoleOn: values.CV_CONSOLE,
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
