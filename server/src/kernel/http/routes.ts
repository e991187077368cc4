import type { Method } from '../endpoint.ts';
import type { ReadyEndpoint } from '../pipeline.ts';
import { splitReservedSuffix } from './secret-path.ts';

export const METHODS: readonly Method[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];

/** A path as the router knows it, with the endpoints behind it. */
export interface Route {
  /** In the router's syntax: `:name` for a segment, a final `*` for the rest. */
  url: string;
  endpoints: { method: Method; suffix: string | null; endpoint: ReadyEndpoint }[];
}

/** Every path answers as the spec writes it and with `/v1` added or removed. */
export function bothSpellings(path: string): [string, string] {
  return path.startsWith('/v1/') ? [path, path.slice(3)] : [path, `/v1${path}`];
}

export function routesOf(endpoints: readonly ReadyEndpoint[]): Route[] {
  const routes = new Map<string, Route>();
  for (const endpoint of endpoints) {
    const { method, path } = endpoint.declaration;
    const star = /^(.*)\{[a-z_]+\*\}(?:\/([a-z]+))?$/.exec(path);
    const pattern = star === null ? path : `${star[1]}*`;
    const suffix = star?.[2] ?? null;
    for (const spelling of bothSpellings(pattern)) {
      const url = spelling.replace(/\{([a-z_]+)\}/g, ':$1');
      const route = routes.get(url) ?? { url, endpoints: [] };
      if (route.endpoints.some((e) => e.method === method && e.suffix === suffix)) {
        throw new Error(`two endpoints answer ${method} ${path}`);
      }
      route.endpoints.push({ method, suffix, endpoint });
      routes.set(url, route);
    }
  }
  return [...routes.values()];
}

export type Match =
  | { endpoint: ReadyEndpoint; params: Record<string, string> }
  | { endpoint: null; allow: readonly Method[] };

/**
 * The endpoint for a request on this route. Where the path ends in a wildcard, its last segment decides: a reserved one names the verb
 * and is not part of the secret's path.
 */
export function match(route: Route, method: string, raw: Readonly<Record<string, string>>): Match {
  const rest = raw['*'];
  if (rest === undefined) {
    const found = route.endpoints.find((e) => e.method === method);
    if (found === undefined) return { endpoint: null, allow: route.endpoints.map((e) => e.method) };
    return { endpoint: found.endpoint, params: raw };
  }
  const { path, suffix } = splitReservedSuffix(rest);
  const candidates = route.endpoints.filter((e) => e.suffix === suffix);
  const found = candidates.find((e) => e.method === method);
  if (found === undefined) return { endpoint: null, allow: candidates.map((e) => e.method) };
  const { '*': _, ...named } = raw;
  return { endpoint: found.endpoint, params: { ...named, [starName(found.endpoint)]: path } };
}

function starName(endpoint: ReadyEndpoint): string {
  return String(/\{([a-z_]+)\*\}/.exec(endpoint.declaration.path)?.[1]);
}
