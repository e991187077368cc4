import type { Auth, WorkloadCredential } from '../../client/src/index.ts';
import { type CertificateFiles, readCredential } from '../../client/src/node/index.ts';
import { CommandError } from './failure.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * A credential in the environment, for scripts, pipelines and services: null if there is none. Half of one is refused: otherwise a command would
 * silently run as somebody else, the person who is logged in.
 */
export function machineAuth(environment: Environment): { auth: Auth; source: string } | null {
  const of = (name: string) => valueIn(environment, name);
  const secret = (name: string): (() => string) | null => {
    const [value, file] = [of(name), of(`${name}_FILE`)];
    if (value !== undefined && file !== undefined) throw new CommandError(`Set ${name} or ${name}_FILE, not both.`);
    // Files are read for each use, so that a rotated credential counts from the next one on.
    if (file !== undefined) return () => readCredential(file);
    return value === undefined ? null : () => value;
  };

  const token = secret('COFFER_TOKEN');
  if (token !== null) return { auth: { token }, source: 'COFFER_TOKEN' };
  const clientId = of('COFFER_CLIENT_ID');
  const clientSecret = secret('COFFER_CLIENT_SECRET');
  const certificate = certificateFilesIn(environment);
  if (clientId !== undefined) {
    if (clientSecret !== null) return { auth: { clientId, clientSecret }, source: 'COFFER_CLIENT_SECRET' };
    if (certificate !== null) return { auth: { certificate: { clientId } }, source: 'COFFER_CERT_FILE' };
    throw new CommandError(
      'COFFER_CLIENT_ID is set: set COFFER_CLIENT_SECRET_FILE, or COFFER_CERT_FILE and COFFER_KEY_FILE, too.',
    );
  }
  if (clientSecret !== null || certificate !== null)
    throw new CommandError('Set COFFER_CLIENT_ID too: which connection is it?');
  const idToken = secret('COFFER_ID_TOKEN');
  const connection = of('COFFER_CONNECTION');
  if (idToken !== null && connection !== undefined) {
    return { auth: { federation: { connection, idToken } }, source: 'COFFER_ID_TOKEN' };
  }
  if (idToken !== null || connection !== undefined)
    throw new CommandError('Set COFFER_CONNECTION and COFFER_ID_TOKEN_FILE, or neither.');
  const method = of('COFFER_WORKLOAD_METHOD');
  if (method !== undefined) {
    return { auth: { workload: workloadOf(method, environment) }, source: 'COFFER_WORKLOAD_METHOD' };
  }
  if (of('COFFER_WORKLOAD_TOKEN_FILE') !== undefined)
    throw new CommandError('Set COFFER_WORKLOAD_METHOD too: by which method does it log in?');
  return null;
}

/** A variable that is set to nothing is a mistake, such as a secret that a pipeline does not have. */
function valueIn(environment: Environment, name: string): string | undefined {
  if (environment[name] === '') throw new CommandError(`${name} is set, but empty. Set it, or remove it.`);
  return environment[name];
}

const WORKLOAD_FIELDS = ['k8s_token', 'gcp_jwt', 'azure_jwt', 'oidc_token', 'jwt_svid'] as const;
const K8S_TOKEN_FILE = '/var/run/secrets/kubernetes.io/serviceaccount/token';

/** `COFFER_WORKLOAD_METHOD=7`, with the token in a file, under the field that the method takes. */
function workloadOf(method: string, environment: Environment) {
  const methodId = Number(method);
  if (!Number.isSafeInteger(methodId) || methodId < 1)
    throw new CommandError('COFFER_WORKLOAD_METHOD must be the number of a method.');
  const field = environment['COFFER_WORKLOAD_FIELD'] || 'k8s_token';
  const known = WORKLOAD_FIELDS.find((one) => one === field);
  if (known === undefined)
    throw new CommandError(`COFFER_WORKLOAD_FIELD must be one of ${WORKLOAD_FIELDS.join(', ')}.`);
  const file = environment['COFFER_WORKLOAD_TOKEN_FILE'] || K8S_TOKEN_FILE;
  return { methodId, credential: (): WorkloadCredential => ({ [known]: readCredential(file) }) };
}

/** The client certificate to show: COFFER_CERT_FILE and COFFER_KEY_FILE. */
export function certificateFilesIn(environment: Environment): CertificateFiles | null {
  const [certFile, keyFile] = [environment['COFFER_CERT_FILE'], environment['COFFER_KEY_FILE']];
  if (!certFile && !keyFile) return null;
  if (!certFile || !keyFile) throw new CommandError('Set COFFER_CERT_FILE and COFFER_KEY_FILE, or neither.');
  return { certFile, keyFile };
}
