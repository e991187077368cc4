/** A request as its credentials are made for it: a DPoP proof, for example, names the method and the URL. */
export interface AuthorizedRequest {
  readonly method: string;
  readonly url: string;
}

export interface RegionFetchOptions {
  /** The origins of all regions, such as `https://eu.example.com`. The first one is asked first, and credentials are sent to no other origin. */
  regions: readonly string[];
  /** The headers with the credentials. Called for each origin that is asked, so that a proof is never used twice. */
  authorize(request: AuthorizedRequest): Record<string, string> | Promise<Record<string, string>>;
  /** The `fetch` of the runtime by default. */
  fetch?: typeof globalThis.fetch;
}

export interface RegionRequest {
  method?: string;
  headers?: Record<string, string>;
  /** Not a stream, because it may have to be sent again. */
  body?: string | Uint8Array<ArrayBuffer>;
  signal?: AbortSignal;
}

/** A region referred to an origin that is not in the list, or to regions in a circle. Nothing was sent there. */
export class RegionRedirectError extends Error {
  override readonly name = 'RegionRedirectError';
}

export type RegionFetch = (path: string, request?: RegionRequest) => Promise<Response>;

const FORWARDED = 307;
const ORIGIN_HEADER = 'X-Svc-Region-Origin';

/**
 * A `fetch` for paths of the service that follows the redirects of regions. A plain `fetch` would drop `Authorization` on the way, and send other
 * credentials to wherever the redirect leads.
 */
export function regionFetch({ regions, authorize, fetch = globalThis.fetch }: RegionFetchOptions): RegionFetch {
  const origins = regions.map(originOf);
  const [first] = origins;
  if (first === undefined) throw new TypeError('at least one region is required');
  return async (path, { method = 'GET', headers = {}, body, signal } = {}) => {
    if (!/^\/(?!\/)/.test(path)) throw new TypeError('a path starts with one slash');
    let url = `${first}${path}`;
    let passed: string | null = null;
    for (let hop = 0; hop < origins.length; hop++) {
      const response: Response = await fetch(url, {
        method,
        headers: {
          ...headers,
          ...(passed !== null && { [ORIGIN_HEADER]: passed }),
          ...(await authorize({ method, url })),
        },
        redirect: 'manual',
        ...(body !== undefined && { body }),
        ...(signal !== undefined && { signal }),
      });
      if (response.type === 'opaqueredirect')
        throw new RegionRedirectError(
          'Another region is responsible, and this browser does not say which one: put it first.',
        );
      if (response.status !== FORWARDED) return response;
      url = checkedLocation(response.headers.get('location'), origins, path);
      passed = response.headers.get(ORIGIN_HEADER);
    }
    throw new RegionRedirectError('The regions refer to each other: try again shortly.');
  };
}

/** A region may only name another region: the path stays the one that was asked for. */
function checkedLocation(location: string | null, origins: readonly string[], path: string): string {
  const origin = origins.find((known) => location === `${known}${path}`);
  if (origin === undefined)
    throw new RegionRedirectError(
      'A region referred to a location that is not in the list of regions; nothing was sent there.',
    );
  return `${origin}${path}`;
}

function originOf(region: string): string {
  const { origin, protocol, hostname } = new URL(region);
  const isLocal = hostname === 'localhost' || hostname === '127.0.0.1' || hostname === '[::1]';
  if (protocol !== 'https:' && !(protocol === 'http:' && isLocal))
    throw new TypeError('the URL of a region must start with https://');
  return origin;
}
