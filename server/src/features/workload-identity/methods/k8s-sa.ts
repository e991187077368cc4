import { ANY_ALGORITHM } from '../../../kernel/external-identity/algorithms.ts';
import { readToken, refuseUnfitClaims } from '../../../kernel/external-identity/external-jwt.ts';
import { isRecord } from '../../../kernel/external-identity/key-set.ts';
import { refuse } from '../../../kernel/external-identity/refusal.ts';
import { type HttpClient, type OutgoingAnswer, OutgoingFailure } from '../../../kernel/outbound/http-client.ts';
import { parseJson } from '../../../kernel/wire/json.ts';
import { K8sConfig } from '../contract.ts';
import { badConfig, type MethodKind, refuseBadUrl, refuseUnlikely, type Tools } from './method.ts';
import { readBundle } from './pem-bundle.ts';

const REVIEW_PATH = '/apis/authentication.k8s.io/v1/tokenreviews';
const API_VERSION = 'authentication.k8s.io/v1';
const ANSWER_BYTES_MAX = 64 * 1024;
/** RFC 1123 names, as Kubernetes uses them. They contain no colon, so the parts of a username cannot shift. */
const NAMESPACE = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
const ACCOUNT = /^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/;
const USERNAME = /^system:serviceaccount:([^:]+):([^:]+)$/;

/** Service accounts of a Kubernetes cluster. The cluster itself tells whose token it is (TokenReview). */
export const k8sSa: MethodKind<K8sConfig> = {
  type: 'k8s_sa',
  schema: K8sConfig,
  credential: ['k8s_token'],
  secrets: ['token_reviewer_jwt'],
  destinations: ['issuer', 'api_server_url', 'ca_cert_pem'],
  standIn: () => null,
  calledUrl: ({ issuer, api_server_url: url }) =>
    url === undefined ? { member: 'issuer', url: issuer } : { member: 'api_server_url', url },

  refuseBadConfig(config) {
    const { issuer, api_server_url, ca_cert_pem } = config;
    const [member, url] = api_server_url === undefined ? ['issuer', issuer] : ['api_server_url', api_server_url];
    refuseBadUrl(member, url);
    // Workload tokens are sent to this URL, and its response decides who they belong to.
    if (!url.startsWith('https:')) badConfig(member, 'must be an https URL: TokenReview requests are sent there');
    const bundle = readBundle(ca_cert_pem);
    if (bundle === null || bundle.some(({ certificate }) => certificate === null)) {
      badConfig('ca_cert_pem', 'must be one or more PEM certificates');
    }
    refuseUnlikely('allowed_namespaces', config.allowed_namespaces, NAMESPACE, 'must be the name of a namespace');
    refuseUnlikely('allowed_sa_names', config.allowed_sa_names, ACCOUNT, 'must be the name of a service account');
  },

  async verify({ k8s_token = '' }, config, tools) {
    const { audience, now } = tools;
    // Checked before the token is sent: a token for another cluster or audience must not be disclosed to this cluster.
    const { unverified } = readToken(k8s_token, ANY_ALGORITHM);
    refuseUnfitClaims(unverified, { issuer: config.issuer, audience, now });
    const username = await review(k8s_token, config, tools);
    const [, namespace = '', name = ''] = USERNAME.exec(username) ?? refuse('the token is not of a service account');
    if (!config.allowed_namespaces.includes(namespace)) return refuse('the namespace is not allowed');
    if (!config.allowed_sa_names.includes(name)) return refuse('the service account is not allowed');
    return { subject: username, details: { namespace, service_account: name } };
  },
};

/** Returns the user name that the cluster reports for the token (Kubernetes API, TokenReview). */
async function review(token: string, config: K8sConfig, { http, audience, owner }: Tools): Promise<string> {
  const base = (config.api_server_url ?? config.issuer).replace(/\/$/, '');
  const answer = await sendReview(http, {
    owner,
    url: `${base}${REVIEW_PATH}`,
    bearer: config.token_reviewer_jwt ?? token,
    caPem: config.ca_cert_pem,
    body: { apiVersion: API_VERSION, kind: 'TokenReview', spec: { token, audiences: [audience] } },
  });
  if (answer.status !== 200 && answer.status !== 201) refuse(`the cluster responded with status ${answer.status}`);
  const status = statusOf(answer);
  const { authenticated, error, audiences, user } = status;
  if (error !== undefined && error !== '') refuse('the cluster rejected the token with an error');
  if (authenticated !== true) refuse('the cluster does not know the token');
  // A cluster without audience support omits them; then the token may be meant for the cluster itself.
  if (!Array.isArray(audiences) || !audiences.includes(audience)) refuse('the cluster did not check the audience');
  const username = isRecord(user) ? user['username'] : undefined;
  return typeof username === 'string' ? username : refuse('the TokenReview response has no username');
}

interface Review {
  owner: string;
  url: string;
  bearer: string;
  caPem: string;
  body: unknown;
}

async function sendReview(http: HttpClient, { owner, url, bearer, caPem, body }: Review): Promise<OutgoingAnswer> {
  try {
    return await http.send({
      owner,
      url,
      method: 'POST',
      headers: {
        authorization: `Bearer ${bearer}`,
        'content-type': 'application/json',
        accept: 'application/json',
      },
      body: JSON.stringify(body),
      caPem,
      bodyBytesMax: ANSWER_BYTES_MAX,
    });
  } catch (error) {
    if (error instanceof OutgoingFailure) return refuse(`the TokenReview request failed: ${error.message}`);
    throw error;
  }
}

function statusOf({ contentType, body }: OutgoingAnswer): Record<string, unknown> {
  if (contentType !== 'application/json') refuse('the TokenReview response is not JSON');
  let answer: unknown;
  try {
    answer = parseJson(body);
  } catch {
    return refuse('the TokenReview response is not JSON');
  }
  const { kind, apiVersion, status } = isRecord(answer) ? answer : {};
  if (kind !== 'TokenReview' || apiVersion !== API_VERSION || !isRecord(status)) {
    return refuse('the response of the cluster is not a TokenReview');
  }
  return status;
}
