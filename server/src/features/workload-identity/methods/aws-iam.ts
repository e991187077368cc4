import { MINUTE_MS, SECOND_MS } from '../../../kernel/base/clock.ts';
import { anyPattern } from '../../../kernel/base/safe-pattern.ts';
import { isName } from '../../../kernel/external-identity/external-jwt.ts';
import { isRecord } from '../../../kernel/external-identity/key-set.ts';
import { refuse } from '../../../kernel/external-identity/refusal.ts';
import { type OutgoingAnswer, OutgoingFailure } from '../../../kernel/outbound/http-client.ts';
import { parseJson } from '../../../kernel/wire/json.ts';
import { AwsConfig } from '../contract.ts';
import { badConfig, type MethodKind, refuseBadPatterns, refuseBadUrl, type Tools } from './method.ts';
import { type CallerIdentityRequest, partitionOf, readSignedUrl } from './sts-request.ts';

const ANSWER_BYTES_MAX = 16 * 1024;
const ARN = /^arn:(aws|aws-cn|aws-us-gov):(?:iam|sts)::(\d{12}):([\x21-\x7e]+)$/;
const ASSUMED_ROLE = /^arn:([a-z-]+):sts::(\d{12}):assumed-role\/([^/]+)\/[^/]+$/;
/** How far in the past or future a request may have been signed. */
export const DATE_WINDOW_MS = 15 * MINUTE_MS;

/**
 * IAM roles and users. The workload signs a GetCallerIdentity request; the service builds its own request with the same signed parts, and STS tells
 * whose signature it is. Nothing the workload wrote is forwarded unchecked (CVE-2020-16250).
 */
export const awsIam: MethodKind<AwsConfig> = {
  type: 'aws_iam',
  schema: AwsConfig,
  credential: ['aws_signed_url', 'aws_signed_headers'],
  secrets: [],
  destinations: [],
  standIn: ({ sts_endpoint: url }) =>
    url === undefined || isOwnEndpoint(url) ? null : { member: 'sts_endpoint', url },

  refuseBadConfig({ sts_endpoint, allowed_arns }) {
    refuseBadPatterns('allowed_arns', allowed_arns);
    refuseBadUrl('sts_endpoint', sts_endpoint);
    if (sts_endpoint !== undefined && !/^https?:\/\/[^/]+\/?$/.test(sts_endpoint)) {
      badConfig('sts_endpoint', 'must not have a path');
    }
  },

  async verify({ aws_signed_url = '', aws_signed_headers = {} }, config, tools) {
    const request = readSignedUrl(aws_signed_url, endpointOf(config), tools.now, DATE_WINDOW_MS);
    refuseOtherHeaders(aws_signed_headers, request.host, tools.audience);
    const { arn, account, userId } = await callerIdentity(request, tools);
    const [, partition = '', owner] = ARN.exec(arn) ?? refuse('the response of STS has no ARN');
    if (owner !== account) return refuse('the ARN in the response of STS is of another account');
    const expected = partitionOf(request.host);
    if (expected !== null && expected !== partition) return refuse('the ARN is of another partition');
    const subject = arn.replace(ASSUMED_ROLE, 'arn:$1:iam::$2:role/$3');
    if (!anyPattern(config.allowed_arns)(subject)) return refuse('the ARN is not allowed');
    return { subject, details: { arn, account, user_id: userId } };
  },
};

export const AUDIENCE_HEADER = 'x-coffer-audience';

function isOwnEndpoint(url: string): boolean {
  return url.startsWith('https://') && partitionOf(new URL(url).host) !== null;
}

function endpointOf({ sts_endpoint }: AwsConfig): string | null {
  return sts_endpoint === undefined ? null : sts_endpoint.replace(/\/$/, '');
}

/** The service decides which headers are signed; the headers in the credential only must not contradict it. */
function refuseOtherHeaders(headers: Readonly<Record<string, string>>, host: string, audience: string): void {
  const seen = new Set<string>();
  for (const [name, value] of Object.entries(headers)) {
    const lower = name.toLowerCase();
    if (seen.has(lower)) refuse('a signed header is given twice');
    seen.add(lower);
    if (lower === AUDIENCE_HEADER) {
      if (value !== audience) refuse('the request was signed for another audience');
    } else if (lower === 'host') {
      if (value !== host) refuse('the request was signed for another host');
    } else refuse('there are other signed headers than host and x-coffer-audience');
  }
  if (!seen.has(AUDIENCE_HEADER)) refuse('the request was not signed for an audience');
}

interface CallerIdentity {
  arn: string;
  account: string;
  userId: string;
}

async function callerIdentity(
  request: CallerIdentityRequest,
  { http, audience, owner }: Tools,
): Promise<CallerIdentity> {
  let answer: OutgoingAnswer;
  try {
    answer = await http.send({
      owner,
      url: request.url,
      method: 'GET',
      headers: { [AUDIENCE_HEADER]: audience, accept: 'application/json' },
      bodyBytesMax: ANSWER_BYTES_MAX,
      timeoutMs: 10 * SECOND_MS,
      onlyOpened: partitionOf(request.host) === null,
    });
  } catch (error) {
    if (error instanceof OutgoingFailure) return refuse(`the request to STS failed: ${error.message}`);
    throw error;
  }
  if (answer.status !== 200) refuse(`STS responded with status ${answer.status}`);
  return identityIn(answer);
}

/** Accepts exactly the response shape of this action: responses of other actions echo what the caller sent, and could contain an ARN. */
function identityIn({ contentType, body }: OutgoingAnswer): CallerIdentity {
  if (contentType !== 'application/json') refuse('the response of STS is not JSON');
  let answer: unknown;
  try {
    answer = parseJson(body);
  } catch {
    return refuse('the response of STS is not JSON');
  }
  const { GetCallerIdentityResponse: response, ...beside } = isRecord(answer) ? answer : {};
  const { GetCallerIdentityResult: result, ResponseMetadata: _, ...more } = isRecord(response) ? response : {};
  const { Arn: arn, Account: account, UserId: userId, ...other } = isRecord(result) ? result : {};
  const surplus = [beside, more, other].some((rest) => Object.keys(rest).length > 0);
  if (surplus || !isName(arn) || !isName(account) || !isName(userId)) {
    return refuse('the response of STS is not a response to GetCallerIdentity');
  }
  return { arn, account, userId };
}
