import { MINUTE_MS } from '../base/clock.ts';
import type { AwsCredentials } from '../outbound/aws-signature.ts';
import { SealError } from './provider.ts';
import { misconfigured } from './reference.ts';
import { ServiceCalls, type ServiceRequest } from './service-calls.ts';
import {
  AWS_CONTAINER_HOSTS,
  credentialFile,
  METADATA_ADDRESS,
  type SealSurroundings,
  type SealVariable,
  variable,
} from './surroundings.ts';

/** In the order in which they are looked for, which is that of the SDKs of AWS. */
export const AWS_CREDENTIAL_VARIABLES: readonly SealVariable[] = [
  { name: 'AWS_ACCESS_KEY_ID', doc: 'Id of an access key. It is used before any other identity.', secret: false },
  { name: 'AWS_SECRET_ACCESS_KEY', doc: 'Secret of that access key.', secret: true },
  { name: 'AWS_SESSION_TOKEN', doc: 'Session token, if that access key is temporary.', secret: true },
  {
    name: 'AWS_WEB_IDENTITY_TOKEN_FILE',
    doc: 'File with a token of the workload, as EKS sets it for the role of a service account.',
    secret: false,
  },
  { name: 'AWS_ROLE_ARN', doc: 'Role that is assumed with that token.', secret: false },
  { name: 'AWS_ROLE_SESSION_NAME', doc: 'Name of that session in CloudTrail; `coffer` without it.', secret: false },
  { name: 'AWS_ENDPOINT_URL_STS', doc: 'Origin of STS, if it has one of its own in your network.', secret: false },
  {
    name: 'AWS_CONTAINER_CREDENTIALS_RELATIVE_URI',
    doc: 'Path of the credentials at 169.254.170.2, as ECS sets it.',
    secret: false,
  },
  {
    name: 'AWS_CONTAINER_CREDENTIALS_FULL_URI',
    doc: 'URL of the credentials at 169.254.170.2, 169.254.170.23 or [fd00:ec2::23], as EKS Pod Identity sets it.',
    secret: false,
  },
  {
    name: 'AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE',
    doc: 'File with what is sent there as the Authorization header.',
    secret: false,
  },
  { name: 'AWS_CONTAINER_AUTHORIZATION_TOKEN', doc: 'The same as text.', secret: true },
  {
    name: 'AWS_EC2_METADATA_DISABLED',
    doc: '`true` if the role of the instance must not be used. It is used if nothing above is set.',
    secret: false,
  },
];

interface Temporary extends AwsCredentials {
  /** Null for an access key that stays. */
  readonly endsAt: number | null;
}

const RENEW_BEFORE_MS = 5 * MINUTE_MS;
const CREDENTIAL = /^[\x21-\x7e]{1,8192}$/;
const ROLE_NAME = /^[\w+=,.@-]{1,128}$/;
const IMDS_TOKEN_SECONDS = '300';

/** The credentials of this workload, fetched again before they end. */
export class AwsCredentialChain {
  readonly #surroundings: SealSurroundings;
  readonly #fetch: () => Promise<Temporary>;
  #current: { credentials: Temporary; renewAt: number } | null = null;
  #renewal: Promise<Temporary> | null = null;

  constructor(surroundings: SealSurroundings, stsOrigin: string) {
    this.#surroundings = surroundings;
    this.#fetch = sourceOf(surroundings, stsOrigin);
  }

  async current(): Promise<AwsCredentials> {
    const now = this.#surroundings.clock.now();
    const current = this.#current;
    if (current !== null && now < current.renewAt) return current.credentials;
    this.#renewal ??= this.#renew().finally(() => {
      this.#renewal = null;
    });
    try {
      return await this.#renewal;
    } catch (error) {
      const endsAt = current?.credentials.endsAt ?? 0;
      if (current !== null && now < endsAt && error instanceof SealError && error.isPassing) return current.credentials;
      throw error;
    }
  }

  /** After they were refused, in case they were replaced before their end. */
  evict(): void {
    this.#current = null;
  }

  async #renew(): Promise<Temporary> {
    const credentials = await this.#fetch();
    const now = this.#surroundings.clock.now();
    const lifeMs = credentials.endsAt === null ? Number.POSITIVE_INFINITY : credentials.endsAt - now;
    if (lifeMs <= 0)
      throw new SealError('denied', 'The credentials for AWS have ended already. Check the clock of this machine.');
    this.#current = { credentials, renewAt: now + lifeMs - Math.min(RENEW_BEFORE_MS, lifeMs / 2) };
    return credentials;
  }
}

function sourceOf(surroundings: SealSurroundings, stsOrigin: string): () => Promise<Temporary> {
  const has = (name: string) => variable(surroundings, name) !== null;
  if (has('AWS_ACCESS_KEY_ID') || has('AWS_SECRET_ACCESS_KEY')) return async () => fromVariables(surroundings);
  if (surroundings.machine === null)
    throw misconfigured('The credentials for AWS need AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.');
  if (has('AWS_WEB_IDENTITY_TOKEN_FILE')) return () => fromWebIdentity(surroundings, stsOrigin);
  if (has('AWS_CONTAINER_CREDENTIALS_RELATIVE_URI') || has('AWS_CONTAINER_CREDENTIALS_FULL_URI'))
    return () => fromContainer(surroundings);
  if (variable(surroundings, 'AWS_EC2_METADATA_DISABLED') === 'true')
    throw misconfigured(
      `There are no credentials for AWS. Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give the workload a role.`,
    );
  return () => fromInstance(surroundings);
}

function fromVariables(surroundings: SealSurroundings): Temporary {
  const accessKeyId = variable(surroundings, 'AWS_ACCESS_KEY_ID');
  const secretAccessKey = variable(surroundings, 'AWS_SECRET_ACCESS_KEY');
  const sessionToken = variable(surroundings, 'AWS_SESSION_TOKEN');
  if (accessKeyId === null || secretAccessKey === null)
    throw misconfigured('AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY need each other.');
  return checked({ accessKeyId, secretAccessKey, sessionToken, endsAt: null }, () =>
    misconfigured('AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY or AWS_SESSION_TOKEN has blanks or control characters.'),
  );
}

/** AssumeRoleWithWebIdentity, which is not signed: the token proves who calls. */
async function fromWebIdentity(surroundings: SealSurroundings, origin: string): Promise<Temporary> {
  const roleArn = variable(surroundings, 'AWS_ROLE_ARN');
  if (roleArn === null) throw misconfigured('AWS_WEB_IDENTITY_TOKEN_FILE needs AWS_ROLE_ARN.');
  const name = 'AWS_WEB_IDENTITY_TOKEN_FILE';
  const form = new URLSearchParams({
    Action: 'AssumeRoleWithWebIdentity',
    Version: '2011-06-15',
    RoleArn: roleArn,
    RoleSessionName: variable(surroundings, 'AWS_ROLE_SESSION_NAME') ?? 'coffer',
    WebIdentityToken: credentialFile(surroundings, name, String(variable(surroundings, name))),
  });
  const sts = new ServiceCalls('AWS STS', surroundings);
  const { status, body } = await sts.send({
    url: `${origin}/`,
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'text/xml' },
    body: form.toString(),
  });
  const xml = body.toString('utf8');
  const code = elementOf(xml, 'Code');
  if (status !== 200 && code === 'IDPCommunicationError') throw sts.refusal(503);
  if (status !== 200 && status < 500 && status !== 429)
    throw new SealError(
      'denied',
      'AWS STS refused to let this workload assume the role. Check that AWS_ROLE_ARN names it, that its trust policy names the issuer and subject of the token, and that the token has not ended.',
    );
  if (status !== 200) throw sts.refusal(status);
  const credentials = elementOf(xml, 'Credentials') ?? '';
  const member = (element: string) => elementOf(credentials, element) ?? '';
  return temporary(
    [member('AccessKeyId'), member('SecretAccessKey'), member('SessionToken'), member('Expiration')],
    () => sts.malformed(),
  );
}

async function fromContainer(surroundings: SealSurroundings): Promise<Temporary> {
  const relative = variable(surroundings, 'AWS_CONTAINER_CREDENTIALS_RELATIVE_URI');
  const url = relative === null ? containerUrl(surroundings) : `http://${AWS_CONTAINER_HOSTS[0]}${relative}`;
  if (relative !== null && !/^\/[\x21-\x7e]*$/.test(relative))
    throw misconfigured('AWS_CONTAINER_CREDENTIALS_RELATIVE_URI begins with a slash.');
  const tokenFile = variable(surroundings, 'AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE');
  const authorization =
    tokenFile === null
      ? variable(surroundings, 'AWS_CONTAINER_AUTHORIZATION_TOKEN')
      : credentialFile(surroundings, 'AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE', tokenFile);
  const calls = machineOf(surroundings, 'The credentials of the container');
  const answer = await calls.send({
    url,
    method: 'GET',
    headers: { accept: 'application/json', ...(authorization !== null && { authorization }) },
  });
  if (answer.status !== 200) throw calls.refusal(answer.status);
  return fromJson(calls, calls.json(answer));
}

function containerUrl(surroundings: SealSurroundings): string {
  const text = String(variable(surroundings, 'AWS_CONTAINER_CREDENTIALS_FULL_URI'));
  const isKnown = AWS_CONTAINER_HOSTS.some((host) => text.startsWith(`http://${host}/`));
  if (!isKnown)
    throw misconfigured(
      `AWS_CONTAINER_CREDENTIALS_FULL_URI is not at one of ${AWS_CONTAINER_HOSTS.join(', ')}, where containers and pods get their credentials.`,
    );
  return text;
}

/** Version 2 of the instance metadata service: a token first, which a confused proxy cannot get. */
async function fromInstance(surroundings: SealSurroundings): Promise<Temporary> {
  const calls = machineOf(surroundings, 'The instance metadata of AWS');
  const noRole = new SealError(
    'denied',
    'This instance has no role, or its metadata is off. Attach a role that may use the key, turn on version 2 of the instance metadata, and let containers reach it (hop limit 2).',
  );
  const read = async (request: Omit<ServiceRequest, 'url'>, path: string) => {
    const answer = await calls.send({ ...request, url: `http://${METADATA_ADDRESS}/latest/${path}` });
    if (answer.status >= 500) throw calls.refusal(answer.status);
    if (answer.status !== 200) throw noRole;
    return answer;
  };
  const lifetime = { 'x-aws-ec2-metadata-token-ttl-seconds': IMDS_TOKEN_SECONDS };
  const token = (await read({ method: 'PUT', headers: lifetime }, 'api/token')).body.toString('utf8').trim();
  if (!CREDENTIAL.test(token)) throw calls.malformed();
  const request = { method: 'GET', headers: { 'x-aws-ec2-metadata-token': token } } as const;
  const folder = 'meta-data/iam/security-credentials/';
  const role = (await read(request, folder)).body.toString('utf8').split('\n', 1)[0]?.trim() ?? '';
  if (!ROLE_NAME.test(role)) throw noRole;
  const members = calls.json(await read(request, `${folder}${encodeURIComponent(role)}`));
  if (members['Code'] !== 'Success') throw noRole;
  return fromJson(calls, members);
}

function machineOf(surroundings: SealSurroundings, service: string): ServiceCalls {
  const { machine } = surroundings;
  if (machine === null)
    throw misconfigured('The identity of this machine cannot be used for a key that a tenant chose.');
  return new ServiceCalls(service, { ...surroundings, http: machine });
}

function fromJson(calls: ServiceCalls, members: Record<string, unknown>): Temporary {
  const texts = ['AccessKeyId', 'SecretAccessKey', 'Token', 'Expiration'].map((name) => calls.text(members, name));
  return temporary(texts, () => calls.malformed());
}

function temporary(texts: readonly string[], malformed: () => SealError): Temporary {
  const [accessKeyId = '', secretAccessKey = '', sessionToken = '', expiration = ''] = texts;
  const endsAt = Date.parse(expiration);
  if (Number.isNaN(endsAt)) throw malformed();
  return checked({ accessKeyId, secretAccessKey, sessionToken, endsAt }, malformed);
}

function checked(credentials: Temporary, problem: () => SealError): Temporary {
  const { accessKeyId, secretAccessKey, sessionToken } = credentials;
  const isUsable = [accessKeyId, secretAccessKey, sessionToken ?? '-'].every((text) => CREDENTIAL.test(text));
  if (!isUsable) throw problem();
  return credentials;
}

/** The text between the first tags of a name. */
function elementOf(xml: string, name: string): string | null {
  const [open, close] = [`<${name}>`, `</${name}>`];
  const start = xml.indexOf(open);
  const end = start === -1 ? -1 : xml.indexOf(close, start);
  return end === -1 ? null : xml.slice(start + open.length, end).trim();
}
