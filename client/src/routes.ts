import type { components, Routes } from './openapi.ts';

/** The named types of the API: `Schemas['Vault']`, for example. */
export type Schemas = components['schemas'];

/** A method and a path as the API reference writes them, such as `GET /v1/vaults/{vault}`. */
export type Route = keyof Routes;

type Parameter<R extends Route, Kind extends 'path' | 'query' | 'header'> = Kind extends keyof Routes[R]['parameters']
  ? Pick<Routes[R]['parameters'], Kind>
  : unknown;

type Body<R extends Route> = Routes[R] extends { requestBody: { content: { 'application/json': infer T } } }
  ? { body: T }
  : Routes[R] extends { requestBody?: { content: { 'application/json': infer T } } }
    ? { body?: T }
    : unknown;

/** What a route takes: `path`, `query`, `header` and `body`, each where it has one. */
export type RouteInput<R extends Route> = Parameter<R, 'path'> &
  Parameter<R, 'query'> &
  Parameter<R, 'header'> &
  Body<R>;

type ContentOf<Response> = Response extends { content: { 'application/json': infer T } } ? T : never;

/** What a route answers on success. Where a change may need an approval, that includes `PendingApproval`. */
export type RouteOutput<R extends Route> = {
  [Status in keyof Routes[R]['responses']]: ContentOf<Routes[R]['responses'][Status]>;
}[keyof Routes[R]['responses']];

export interface AnyInput {
  path?: Readonly<Record<string, string | number>>;
  query?: Readonly<Record<string, unknown>>;
  header?: Readonly<Record<string, string | undefined>>;
  body?: unknown;
}

/** The method, and the path with its parameters and the query filled in. */
export function requestLine(route: string, { path = {}, query = {} }: AnyInput): { method: string; target: string } {
  const [method = '', template = ''] = route.split(' ');
  const filled = template.replace(/\{([^{}]+)\}/g, (_, name: string) => {
    const value = path[name];
    // Dots alone would lead to another route.
    if (value === undefined || /^\.{0,2}$/.test(String(value))) throw new TypeError(`${route} needs ${name}`);
    return encodeURIComponent(value);
  });
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== undefined && one !== null) search.append(name, String(one));
    }
  }
  return { method, target: search.size === 0 ? filled : `${filled}?${search}` };
}
