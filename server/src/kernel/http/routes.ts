import type { Method } from '../endpoint/declaration.ts';
import type { ReadyEndpoint } from '../request/ready-endpoint.ts';
import { splitReservedSuffix } from '../wire/secret-path.ts';

/** A path in the router, with its endpoints. */
export interface Route {
  /** In the router's syntax: `:name` for a segment, a final `*` for the rest. */
  url: string;
  /** By the verb after a secret's path (`''` if there is none), then by method. */
  endpoints: Map<string, Map<string, RoutedEndpoint>>;
}

interface RoutedEndpoint {
  endpoint: ReadyEndpoint;
  /** The parameter name of the final wildcard, if the path has one. */
  starName: string;
}

/** Every path is served as declared, and also with `/v1` added or removed. */
export function bothSpellings(path: string): [string, string] {
  return path.startsWith('/v1/') ? [path, path.slice(3)] : [path, `/v1${path}`];
}

export function routesOf(endpoints: readonly ReadyEndpoint[]): Route[] {
  const routes = new Map<string, Route>();
  for (const endpoint of endpoints) {
    const { method, path } = endpoint.declaration;
    const star = /^(.*)\{([a-z_]+)\*\}(?:\/([a-z]+))?$/.exec(path);
    const pattern = star === null ? path : `${star[1]}*`;
    const starName = star?.[2] ?? '';
    const suffix = star?.[3] ?? '';
    for (const spelling of bothSpellings(pattern)) {
      const url = spelling.replace(/\{([a-z_]+)\}/g, ':$1');
      const route = routes.get(url) ?? { url, endpoints: new Map() };
      const byMethod = route.endpoints.get(suffix) ?? new Map();
      if (byMethod.has(method)) throw new Error(`two endpoints handle ${method} ${path}`);
      byMethod.set(method, { endpoint, starName });
      route.endpoints.set(suffix, byMethod);
      routes.set(url, route);
    }
  }
  return [...routes.values()];
}

export type Match =
  | { endpoint: ReadyEndpoint; params: Record<string, string> }
  | { endpoint: null; allow: readonly Method[] };

/**
 * The endpoint for a request on this route. If the path ends in a wildcard, its last segment decides: a reserved one is the verb and not part of
 * the secret's path.
 */
export function match(route: Route, method: string, raw: Readonly<Record<string, string>>): Match {
  const rest = raw['*'];
  if (rest === undefined) {
    const byMethod = route.endpoints.get('');
    const found = byMethod?.get(method);
    return found === undefined ? notThere(byMethod) : { endpoint: found.endpoint, params: raw };
  }
  const { path, suffix } = splitReservedSuffix(rest);
  const byMethod = route.endpoints.get(suffix ?? '');
  const found = byMethod?.get(method);
  if (found === undefined) return notThere(byMethod);
  const params: Record<string, string> = {};
  for (const name in raw) if (name !== '*') params[name] = raw[name] as string;
  params[found.starName] = path;
  return { endpoint: found.endpoint, params };
}

function notThere(byMethod: Map<string, RoutedEndpoint> | undefined): Match {
  return { endpoint: null, allow: [...(byMethod?.keys() ?? [])] as Method[] };
}
