import { isAbsolute } from 'node:path';
import { parseArgs } from 'node:util';

export const MODES = ['endpoint', 'cluster'] as const;
export type Mode = (typeof MODES)[number];

export interface Settings {
  mode: Mode;
  url: URL;
  clusterId: string;
  credential: AgentCredential;
  caFile: string | null;
  intervalSeconds: number;
  isOnce: boolean;
  isDryRun: boolean;
  root: string;
  operator: OperatorSettings;
}

/** The token of the cluster, or the identity of the operator's own service account, which is exchanged for a token at each start. */
export type AgentCredential =
  | { kind: 'cluster'; tokenFile: string }
  | { kind: 'workload'; methodId: number; tokenFile: string };

/** Used in mode `cluster` alone. */
export interface OperatorSettings {
  kubernetesUrl: URL;
  kubernetesTokenFile: string;
  kubernetesCaFile: string;
  /** Where the Lease is that decides which replica works. */
  namespace: string;
  /** The namespaces whose Secrets it may change; it has rights in no other. */
  namespaces: string[];
  identity: string;
  /** 0 leaves the port closed. */
  port: number;
  restartsDeployments: boolean;
}

/** A setting that is missing or wrong; the message never has its value. */
export class SettingsError extends Error {}

export const USAGE = `Usage: coffer-agent [--once] [--dry-run] [--root DIR]

  --once      scan or reconcile once; the exit code is 0 only if all of it succeeded
  --dry-run   print what would be sent, and send nothing (mode endpoint)
  --root DIR  read the host whose root is mounted at DIR (mode endpoint)

CV_GUARDIAN_MODE is endpoint or cluster. CV_URL, CV_CLUSTER_ID and CV_CLUSTER_TOKEN_FILE are required. In mode cluster, CV_WORKLOAD_METHOD_ID
and CV_WORKLOAD_TOKEN_FILE log in with the service account of the operator instead of a token of the cluster.
`;

const CLUSTER_ID = /^cluster_[A-Za-z0-9]{1,64}$/;
const NAMESPACE = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
const IDENTITY = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,252})$/;
const LOOPBACK = new Set(['127.0.0.1', '[::1]', 'localhost']);
const DEFAULT_SECONDS: Readonly<Record<Mode, number>> = { endpoint: 3600, cluster: 60 };
const SECONDS_MIN = 5;
const SECONDS_MAX = 86_400;
const METHOD_ID_MAX = 999_999_999;
const PORT_MAX = 65_535;
const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount';

type Env = Readonly<Record<string, string | undefined>>;

export function readSettings(args: readonly string[], env: Env): Settings | 'help' {
  const { values } = parse(args);
  if (values.help) return 'help';
  const mode = oneOfModes(env);
  const isDryRun = values['dry-run'] ?? false;
  const root = values.root ?? '/';
  if (!isAbsolute(root)) throw new SettingsError('--root must be an absolute path.');
  if (mode === 'cluster' && (isDryRun || root !== '/')) {
    throw new SettingsError('--dry-run and --root are for CV_GUARDIAN_MODE=endpoint.');
  }
  return {
    mode,
    url: urlOf(env, 'CV_URL'),
    clusterId: matching(env, 'CV_CLUSTER_ID', CLUSTER_ID, 'the id of the cluster, such as cluster_01…'),
    credential: credentialOf(env, mode),
    caFile: env['CV_CA_FILE'] ? fileOf(env, 'CV_CA_FILE') : null,
    intervalSeconds: wholeNumber(env, 'CV_INTERVAL_SECONDS', DEFAULT_SECONDS[mode], {
      min: SECONDS_MIN,
      max: SECONDS_MAX,
    }),
    isOnce: values.once ?? false,
    isDryRun,
    root,
    operator: operatorSettings(env, mode),
  };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        once: { type: 'boolean' },
        'dry-run': { type: 'boolean' },
        root: { type: 'string' },
        help: { type: 'boolean', short: 'h' },
      },
    });
  } catch {
    throw new SettingsError('An option is not known: see --help.');
  }
}

function oneOfModes(env: Env): Mode {
  const mode = MODES.find((one) => one === env['CV_GUARDIAN_MODE']);
  if (mode === undefined) throw new SettingsError('CV_GUARDIAN_MODE must be endpoint or cluster.');
  return mode;
}

function credentialOf(env: Env, mode: Mode): AgentCredential {
  if (!env['CV_WORKLOAD_METHOD_ID']) return { kind: 'cluster', tokenFile: fileOf(env, 'CV_CLUSTER_TOKEN_FILE') };
  if (mode !== 'cluster') throw new SettingsError('CV_WORKLOAD_METHOD_ID is for CV_GUARDIAN_MODE=cluster.');
  if (env['CV_CLUSTER_TOKEN_FILE']) {
    throw new SettingsError('Set CV_CLUSTER_TOKEN_FILE or CV_WORKLOAD_METHOD_ID, not both.');
  }
  const methodId = wholeNumber(env, 'CV_WORKLOAD_METHOD_ID', 0, { min: 1, max: METHOD_ID_MAX });
  return { kind: 'workload', methodId, tokenFile: fileOf(env, 'CV_WORKLOAD_TOKEN_FILE') };
}

function operatorSettings(env: Env, mode: Mode): OperatorSettings {
  const host = env['KUBERNETES_SERVICE_HOST'] ?? 'kubernetes.default.svc';
  const inCluster = `https://${host.includes(':') ? `[${host}]` : host}:${env['KUBERNETES_SERVICE_PORT'] ?? '443'}`;
  const restarts = env['CV_RESTART_DEPLOYMENTS'] ?? 'false';
  if (restarts !== 'true' && restarts !== 'false') {
    throw new SettingsError('CV_RESTART_DEPLOYMENTS must be true or false.');
  }
  return {
    kubernetesUrl: urlOf({ CV_KUBERNETES_URL: env['CV_KUBERNETES_URL'] ?? inCluster }, 'CV_KUBERNETES_URL'),
    kubernetesTokenFile: env['CV_KUBERNETES_TOKEN_FILE'] ?? `${SERVICE_ACCOUNT}/token`,
    kubernetesCaFile: env['CV_KUBERNETES_CA_FILE'] ?? `${SERVICE_ACCOUNT}/ca.crt`,
    namespace: matching({ CV_NAMESPACE: env['CV_NAMESPACE'] ?? 'coffer' }, 'CV_NAMESPACE', NAMESPACE, 'a namespace'),
    namespaces: mode === 'cluster' ? namespacesOf(env) : [],
    identity:
      mode === 'cluster' ? matching(env, 'CV_POD_NAME', IDENTITY, 'the name of this pod, which no other one has') : '',
    port: wholeNumber(env, 'CV_HEALTH_PORT', 8080, { min: 0, max: PORT_MAX }),
    restartsDeployments: restarts === 'true',
  };
}

function namespacesOf(env: Env): string[] {
  const names = required(env, 'CV_NAMESPACES')
    .split(',')
    .map((name) => name.trim());
  if (!names.every((name) => NAMESPACE.test(name))) {
    throw new SettingsError('CV_NAMESPACES must be names of namespaces, separated by commas.');
  }
  return [...new Set(names)];
}

/** A token must not cross a network in plain text. */
function urlOf(env: Env, name: string): URL {
  const url = URL.parse(required(env, name));
  const isPlain = url?.protocol === 'http:' && LOOPBACK.has(url.hostname);
  if (url === null || (url.protocol !== 'https:' && !isPlain)) {
    throw new SettingsError(`${name} must be an https address; http is accepted for this machine alone.`);
  }
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    throw new SettingsError(`${name} must have no user, query or fragment.`);
  }
  return url;
}

function fileOf(env: Env, name: string): string {
  const path = required(env, name);
  if (!isAbsolute(path)) throw new SettingsError(`${name} must be an absolute path.`);
  return path;
}

function matching(env: Env, name: string, pattern: RegExp, what: string): string {
  const value = required(env, name);
  if (!pattern.test(value)) throw new SettingsError(`${name} must be ${what}.`);
  return value;
}

function required(env: Env, name: string): string {
  const value = env[name];
  if (value === undefined || value === '') throw new SettingsError(`${name} is required.`);
  return value;
}

function wholeNumber(env: Env, name: string, fallback: number, { min, max }: { min: number; max: number }): number {
  const text = env[name] || String(fallback);
  const value = Number(text);
  if (!/^\d{1,9}$/.test(text) || value < min || value > max) {
    throw new SettingsError(`${name} must be a whole number from ${min} to ${max}.`);
  }
  return value;
}
