import type { IncomingMessage } from 'node:http';
import FindMyWay from 'find-my-way';
import { CofferError, type ErrorCode } from '../base/errors.ts';
import { hostProblem } from '../base/headers.ts';
import { type EndpointDeclaration, isOpenToPages } from '../endpoint/declaration.ts';
import type { ReadyEndpoint } from '../request/ready-endpoint.ts';
import { errorReply, type Reply } from '../request/reply.ts';
import type { Unrouted } from '../request/unrouted.ts';
import { formatAt, type WireFormat } from '../wire/wire-format.ts';
import { isOfPage, isSameOrigin } from './browser-session.ts';
import type { OwnHosts } from './own-hosts.ts';
import { isForm, isJson } from './request-body.ts';
import { type Match, match, type Route, routesOf } from './routes.ts';

/** Longer than the longest secret path (1,024 bytes), each byte of which may be percent-encoded as three. */
const PARAMETER_LENGTH_MAX = 4096;

type Router = FindMyWay.Instance<FindMyWay.HTTPVersion.V1>;

/** The router only compares paths: the endpoints of a route know their methods. */
const ANY_METHOD = 'GET';
const notCalled = () => {};

export function routerOf(endpoints: readonly ReadyEndpoint[]): Router {
  const router = FindMyWay({
    maxParamLength: PARAMETER_LENGTH_MAX,
    // The pipeline parses queries strictly, once the endpoint is known.
    querystringParser: () => ({}),
    // With these, a path that cannot be decoded or is too long is told from one that does not exist.
    onBadUrl: notCalled,
    onMaxParamLength: notCalled,
  });
  for (const route of routesOf(endpoints)) router.on(ANY_METHOD, route.url, notCalled, route);
  return router;
}

/** Why a request was refused before an endpoint was found for it. */
export type RefusedEarly =
  | 'cross_origin'
  | 'expectation'
  | 'headers_too_large'
  | 'host'
  | 'malformed'
  | 'method'
  | 'path'
  | 'timeout'
  | 'unknown_host'
  | 'unknown_route';

export type Found =
  | Extract<Match, { params: unknown }>
  /** Without a reason the answer is no refusal. */
  | { endpoint: null; reason: RefusedEarly | null; refusal(requestId: string): Reply; unrouted?: Unrouted };

/** What requests are compared with. */
export interface Routing {
  readonly router: Router;
  readonly formats: readonly WireFormat[];
  readonly ownHosts: OwnHosts;
}

export function find(
  { router, formats, ownHosts }: Routing,
  request: IncomingMessage,
  ofConsole: string | null,
): Found {
  const target = ofConsole ?? request.url ?? '/';
  const { accept } = request.headers;
  const refusedWith = (reason: RefusedEarly, code: ErrorCode, message: string, raw?: string): Found => ({
    endpoint: null,
    reason,
    refusal: (requestId) => {
      const form = { format: formatAt(formats, target), accept, ...(raw !== undefined && { raw }) };
      return errorReply(new CofferError(code, message), requestId, {}, form);
    },
  });
  const problem = ownHosts.isKnown(request) ? null : hostProblem(request);
  if (problem !== null) return refusedWith('host', 'INVALID_REQUEST', problem);
  if (ofConsole !== null && !isSameOrigin(request.headers))
    return refusedWith('cross_origin', 'INSUFFICIENT_PRIVILEGE', 'Only the console itself may send this request.');
  const found = router.find(ANY_METHOD, target);
  if (!ownHosts.isMeant(request) && !isForAnyHost(found))
    return refusedWith('unknown_host', 'UNKNOWN_HOST', UNKNOWN_HOST);
  const method = methodOf(request);
  if (found === null) return withoutEndpoint(method, [], formatAt(formats, target));
  if (found.store === null)
    return refusedWith('path', 'INVALID_REQUEST', 'The path of the request could not be parsed.');
  const params = found.params as Record<string, string>;
  const matched = match(found.store as Route, method === 'HEAD' ? 'GET' : method, params);
  if (matched.endpoint === null) return withoutEndpoint(method, matched.allow, formatAt(formats, target));
  if (isOfAnotherSite(request, matched.endpoint.declaration))
    return refusedWith(
      'cross_origin',
      'INSUFFICIENT_PRIVILEGE',
      'Only a page of this service may send this: open the page here, or send JSON with "Content-Type: application/json".',
      matched.endpoint.declaration.raw,
    );
  return matched;
}

const UNKNOWN_HOST =
  'The service is not known under the host name of this request: use the host of its base URL or an IP address, or let its operator add the name to CV_HOSTS.';

function isForAnyHost(found: ReturnType<Router['find']>): boolean {
  const route = found?.store as Route | null | undefined;
  return route?.endpoints.get('')?.get('GET')?.endpoint.declaration.anyHost === true;
}

/**
 * Whether a page of another site may have sent it without asking: a browser sends forms, texts and requests without a body for any page, with the
 * cookies of the host, but JSON only where the service agrees, which it never does. Requests with a credential need one that no page has.
 */
function isOfAnotherSite(request: IncomingMessage, declaration: EndpointDeclaration): boolean {
  if (!isOpenToPages(declaration)) return false;
  if (declaration.form === 'page' && isForm(request)) return !isSameOrigin(request.headers);
  return isOfPage(request.headers) && !isJson(request) && !isSameOrigin(request.headers);
}

export function methodOf({ method = '' }: IncomingMessage): string {
  return method;
}

/** The declared methods are public in the API reference, so the caller need not be authenticated. */
function withoutEndpoint(method: string, declared: readonly string[], format?: WireFormat): Found {
  const allow = [...declared, ...(declared.includes('GET') ? ['HEAD'] : []), 'OPTIONS'].join(', ');
  const answered = (reason: RefusedEarly | null, outcome: Unrouted['outcome']): Found => ({
    endpoint: null,
    reason,
    refusal: (requestId) =>
      'allow' in outcome
        ? { status: 204, headers: { Allow: allow }, body: null }
        : errorReply(outcome, requestId, outcome.headers, { format }),
    unrouted: { outcome, format },
  });
  if (declared.length === 0) return answered('unknown_route', new CofferError('NOT_FOUND', NO_ROUTE));
  if (method === 'OPTIONS') return answered(null, { allow });
  const message = `Use ${declared.join(' or ')} here.`;
  return answered('method', new CofferError('METHOD_NOT_ALLOWED', message, { headers: { Allow: allow } }));
}

const NO_ROUTE = 'This route does not exist. The API is described at /docs.';
