import { CofferError } from './errors.ts';
import type { ClientIdentity, Transport, TransportRequest, TransportResponse } from './transport.ts';

/** What proves who sends a request: headers, and a client certificate where one came with a token. */
export interface Credentials {
  headers: Record<string, string>;
  identity?: ClientIdentity;
}

/** The credentials for one request: a DPoP proof, for example, names the method and the URL. */
export type Authorize = (request: { method: string; url: string }) => Promise<Credentials>;

const FORWARDED = 307;
const ORIGIN_HEADER = 'x-svc-region-origin';

/**
 * Sends a request for a path to the first region, and again to whichever other one it refers to. Credentials are made anew for each, and go to listed
 * regions only: a plain `fetch` would drop `Authorization` on the way, and send other credentials to wherever the redirect leads.
 */
export async function sendToRegion(
  { transport, regions }: { transport: Transport; regions: readonly string[] },
  target: string,
  authorize: Authorize,
  request: Omit<TransportRequest, 'url'>,
): Promise<TransportResponse> {
  let url = `${regions[0]}${target}`;
  let passed: string | null = null;
  for (let hop = 0; hop < regions.length; hop++) {
    const { headers, identity } = await authorize({ method: request.method, url });
    const response: TransportResponse & { type?: string } = await transport({
      ...request,
      url,
      ...(identity !== undefined && { identity }),
      headers: {
        ...request.headers,
        ...(passed !== null && { [ORIGIN_HEADER]: passed }),
        ...headers,
      },
    });
    if (response.type === 'opaqueredirect') {
      throw redirectError('Another region is responsible, and this browser does not say which one: put it first.');
    }
    if (response.status !== FORWARDED) return response;
    url = checkedLocation(response.headers.get('location'), regions, target);
    passed = response.headers.get(ORIGIN_HEADER);
  }
  throw redirectError('The regions refer to each other: try again shortly.');
}

/** A region may only name another region: the path stays the requested one. */
function checkedLocation(location: string | null, regions: readonly string[], target: string): string {
  const region = regions.find((known) => location === `${known}${target}`);
  if (region === undefined) {
    throw redirectError(
      'The service referred to a location that is not in `regions`; nothing was sent there. List the origins of all regions.',
    );
  }
  return `${region}${target}`;
}

function redirectError(message: string): CofferError {
  return new CofferError(message, { code: 'REGION_REDIRECT', status: FORWARDED });
}

/** The address of the service without a slash at its end. Credentials are sent over TLS, or stay on this machine. */
export function baseOf(address: string): string {
  let url: URL;
  try {
    url = new URL(address);
  } catch {
    throw invalid('The URL of the service is not valid. Give one such as https://coffer.example.com.');
  }
  const { protocol, hostname, origin, pathname, search, hash, username, password } = url;
  const isLocal = hostname === 'localhost' || hostname === '127.0.0.1' || hostname === '[::1]';
  if (protocol !== 'https:' && !(protocol === 'http:' && isLocal)) {
    throw invalid('The URL of the service must start with https://, unless it is on this machine.');
  }
  if (search !== '' || hash !== '' || username !== '' || password !== '') {
    throw invalid('The URL of the service must have no user, password, query or fragment.');
  }
  let end = pathname.length;
  while (pathname.charAt(end - 1) === '/') end--;
  return `${origin}${pathname.slice(0, end)}`;
}

function invalid(message: string): CofferError {
  return new CofferError(message, { code: 'INVALID_ARGUMENT' });
}
