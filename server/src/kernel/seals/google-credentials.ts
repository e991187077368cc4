import { createPrivateKey, sign } from 'node:crypto';
import { SECOND_MS } from '../base/clock.ts';
import { BearerToken, type IssuedToken, issuedToken } from './bearer-token.ts';
import { SealError } from './provider.ts';
import { misconfigured } from './reference.ts';
import { isRecord, memberOf, ServiceCalls } from './service-calls.ts';
import {
  credentialFile,
  GOOGLE_METADATA_HOST,
  type SealSurroundings,
  type SealVariable,
  variable,
} from './surroundings.ts';

export const GOOGLE_CREDENTIAL_VARIABLES: readonly SealVariable[] = [
  {
    name: 'GOOGLE_APPLICATION_CREDENTIALS',
    doc: 'JSON file of a service account, or of a workload identity federation with a token in a file. Without it, the service account of the machine is used.',
    secret: false,
  },
  { name: 'GOOGLE_CREDENTIALS', doc: 'The JSON of a service account itself.', secret: true },
];

const SCOPE = 'https://www.googleapis.com/auth/cloudkms';
const TOKEN_URL = 'https://oauth2.googleapis.com/token';
const STS_URL = 'https://sts.googleapis.com/v1/token';
const IMPERSONATION_URL =
  /^https:\/\/iamcredentials\.googleapis\.com\/v1\/projects\/-\/serviceAccounts\/[A-Za-z0-9._@-]{1,256}:generateAccessToken$/;
const METADATA_URL = `http://${GOOGLE_METADATA_HOST}/computeMetadata/v1/instance/service-accounts/default/token`;
const ASSERTION_SECONDS = 3600;
const FORM = { 'content-type': 'application/x-www-form-urlencoded' };

type Members = Record<string, unknown>;

/** The access token of this workload for Google Cloud. */
export function googleToken(surroundings: SealSurroundings): BearerToken {
  const [file, text] = ['GOOGLE_APPLICATION_CREDENTIALS', 'GOOGLE_CREDENTIALS'].map((name) =>
    variable(surroundings, name),
  );
  if (file != null && text != null)
    throw misconfigured('Set one of GOOGLE_APPLICATION_CREDENTIALS and GOOGLE_CREDENTIALS.');
  return new BearerToken(surroundings.clock, () => {
    if (file == null && text == null) return fromMachine(surroundings);
    const json = text ?? credentialFile(surroundings, 'GOOGLE_APPLICATION_CREDENTIALS', String(file));
    const members = parsed(json);
    if (members['type'] === 'service_account') return fromServiceAccount(surroundings, members);
    if (members['type'] === 'external_account') return fromFederation(surroundings, members);
    throw misconfigured('The credentials for Google have the type service_account or external_account.');
  });
}

function parsed(json: string): Members {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    // Told below, without the text.
  }
  if (!isRecord(value)) throw misconfigured('The credentials for Google are not the JSON that its console gives.');
  return value;
}

async function fromMachine(surroundings: SealSurroundings): Promise<IssuedToken> {
  const { machine } = surroundings;
  if (machine === null) throw misconfigured('The credentials for Google need GOOGLE_CREDENTIALS.');
  const calls = new ServiceCalls('The metadata server of Google Cloud', { ...surroundings, http: machine });
  const answer = await calls.send({ url: METADATA_URL, method: 'GET', headers: { 'metadata-flavor': 'Google' } });
  if (answer.status === 404)
    throw new SealError(
      'denied',
      'This machine has no service account. Attach one, or set GOOGLE_APPLICATION_CREDENTIALS.',
    );
  if (answer.status !== 200) throw calls.refusal(answer.status);
  return issuedToken(calls, calls.json(answer));
}

/** RFC 7523. Only Google's own address gets it, whatever the file says. */
async function fromServiceAccount(surroundings: SealSurroundings, members: Members): Promise<IssuedToken> {
  const { client_email: email, private_key: pem, private_key_id: id } = members;
  const seconds = Math.floor(surroundings.clock.now() / SECOND_MS);
  const claims = { iss: email, scope: SCOPE, aud: TOKEN_URL, iat: seconds, exp: seconds + ASSERTION_SECONDS };
  const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url');
  const input = `${encode({ alg: 'RS256', typ: 'JWT', kid: id })}.${encode(claims)}`;
  const signature = sign('sha256', Buffer.from(input), privateKey(pem)).toString('base64url');
  const form = { grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', assertion: `${input}.${signature}` };
  return exchanged(surroundings, TOKEN_URL, form);
}

function privateKey(pem: unknown) {
  try {
    const key = createPrivateKey(String(pem));
    if (key.asymmetricKeyType === 'rsa') return key;
  } catch {
    // Told below, without the text.
  }
  throw misconfigured('The private key in the credentials for Google is not an RSA key in PEM.');
}

/** RFC 8693, then the service account that the workload may act as. */
async function fromFederation(surroundings: SealSurroundings, members: Members): Promise<IssuedToken> {
  const { file, format } = memberOf(members, 'credential_source');
  const impersonation = members['service_account_impersonation_url'];
  if (typeof file !== 'string' || (members['token_url'] ?? STS_URL) !== STS_URL)
    throw misconfigured(
      `A workload identity federation needs the token of the workload in a file, and the token_url ${STS_URL}.`,
    );
  if (impersonation !== undefined && !IMPERSONATION_URL.test(String(impersonation)))
    throw misconfigured('The service_account_impersonation_url of the credentials is not that of Google.');
  const text = credentialFile(surroundings, 'GOOGLE_APPLICATION_CREDENTIALS', file);
  const field = isRecord(format) && format['type'] === 'json' ? String(format['subject_token_field_name']) : null;
  const token = await exchanged(surroundings, STS_URL, {
    grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
    audience: String(members['audience']),
    scope: impersonation === undefined ? SCOPE : 'https://www.googleapis.com/auth/cloud-platform',
    requested_token_type: 'urn:ietf:params:oauth:token-type:access_token',
    subject_token: field === null ? text : String(parsed(text)[field]),
    subject_token_type: String(members['subject_token_type']),
  });
  return impersonation === undefined ? token : impersonated(surroundings, String(impersonation), token.token);
}

async function impersonated(surroundings: SealSurroundings, url: string, token: string): Promise<IssuedToken> {
  const calls = new ServiceCalls('Google IAM Credentials', surroundings);
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` };
  const answer = await calls.send({ url, method: 'POST', headers, body: JSON.stringify({ scope: [SCOPE] }) });
  if (answer.status !== 200) throw calls.refusal(answer.status);
  const members = calls.json(answer);
  const endsAt = Date.parse(calls.text(members, 'expireTime'));
  const seconds = (endsAt - surroundings.clock.now()) / SECOND_MS;
  return issuedToken(calls, { access_token: members['accessToken'], expires_in: seconds });
}

async function exchanged(
  surroundings: SealSurroundings,
  url: string,
  form: Record<string, string>,
): Promise<IssuedToken> {
  const calls = new ServiceCalls('The token service of Google', surroundings);
  const answer = await calls.send({ url, method: 'POST', headers: FORM, body: new URLSearchParams(form).toString() });
  if (answer.status >= 400 && answer.status < 500 && answer.status !== 429)
    throw new SealError(
      'denied',
      'Google refused the credentials of this workload. Check that the key or the pool exists and is enabled, and that the clock of this machine is right.',
    );
  if (answer.status !== 200) throw calls.refusal(answer.status);
  return issuedToken(calls, calls.json(answer));
}
