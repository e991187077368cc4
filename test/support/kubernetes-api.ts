import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as readText } from 'node:stream/consumers';
import { isDeepStrictEqual } from 'node:util';
import type { KubeObject } from '../../agent/src/cluster/kube-client.ts';

/** An object as it is stored, with who set which of its fields. */
export interface Stored extends KubeObject {
  metadata: Required<KubeObject['metadata']>;
  type?: string;
  data?: Record<string, string>;
  spec?: Record<string, unknown>;
  owners: Map<string, Set<string>>;
}

/** What the operator may change in a namespace: nothing, Secrets, or Secrets and Deployments. */
export type OperatorRole = 'none' | 'secrets' | 'restarts';

/** An object as somebody sends it. */
type Sent = KubeObject & Partial<Pick<Stored, 'type' | 'data' | 'spec'>>;

interface Route {
  plural: string;
  namespace: string;
  name: string | null;
}

interface Patch {
  version: string;
  query: URLSearchParams;
  type: string | undefined;
  value: Sent;
  mayCreate: boolean;
}

class Refusal extends Error {
  readonly status: number;
  readonly reason: string;

  constructor(status: number, reason: string) {
    super(reason);
    this.status = status;
    this.reason = reason;
  }
}

const ROUTES: [RegExp, string][] = [
  [/^\/api\/v1\/namespaces\/([^/]+)\/(secrets)(?:\/([^/]+))?$/, 'v1'],
  [/^\/apis\/apps\/v1\/namespaces\/([^/]+)\/(deployments)(?:\/([^/]+))?$/, 'apps/v1'],
  [/^\/apis\/coordination\.k8s\.io\/v1\/namespaces\/([^/]+)\/(leases)(?:\/([^/]+))?$/, 'coordination.k8s.io/v1'],
];
const OPERATOR_NAMESPACE = 'coffer';
const DATA_BYTES_MAX = 1_048_576;
const NAME = /^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/;
const KEY = /^[-._a-zA-Z0-9]{1,253}$/;

/** What Kubernetes asks of the data of its own types. */
const KEYS_OF_TYPES: Readonly<Record<string, (data: Record<string, string>) => boolean>> = {
  'kubernetes.io/tls': (data) => 'tls.crt' in data && 'tls.key' in data,
  'kubernetes.io/basic-auth': (data) => 'username' in data || 'password' in data,
  'kubernetes.io/ssh-auth': (data) => (data['ssh-privatekey'] ?? '') !== '',
  'kubernetes.io/dockerconfigjson': (data) => isJson(data['.dockerconfigjson']),
  'kubernetes.io/dockercfg': (data) => isJson(data['.dockercfg']),
};

/**
 * The part of a Kubernetes API server that the operator uses, with the rules of a real one: ownership of fields, immutable types, preconditions,
 * stale versions, missing namespaces, rights by verb and namespace. Anything else that is sent is refused.
 */
export class KubernetesApi {
  readonly objects = new Map<string, Stored>();
  readonly namespaces = new Set<string>();
  /** Every request as `VERB path`, without its query. */
  readonly calls: string[] = [];
  /** What the token may do, as `verb plural namespace`; everything that is not here is 403. */
  readonly rights = new Set<string>();
  token = `sa-${randomUUID()}`;
  /** Somebody who may do everything. What they send is not among `calls`. */
  readonly adminToken = `admin-${randomUUID()}`;
  url = '';
  #version = 0;
  #server: Server | null = null;

  constructor(namespaces: readonly string[], role: OperatorRole = 'secrets') {
    this.addNamespace(OPERATOR_NAMESPACE, 'none');
    for (const namespace of namespaces) this.addNamespace(namespace, role);
    for (const verb of ['get', 'create', 'update']) this.rights.add(`${verb} leases ${OPERATOR_NAMESPACE}`);
  }

  addNamespace(namespace: string, role: OperatorRole): void {
    this.namespaces.add(namespace);
    if (role === 'none') return;
    for (const verb of ['get', 'list', 'create', 'patch', 'delete']) this.rights.add(`${verb} secrets ${namespace}`);
    if (role === 'secrets') return;
    for (const verb of ['list', 'patch']) this.rights.add(`${verb} deployments ${namespace}`);
  }

  /** The token so far is refused from now on. */
  newToken(): void {
    this.token = `sa-${randomUUID()}`;
  }

  find(plural: string, namespace: string, name: string): Omit<Stored, 'owners'> | null {
    const stored = this.objects.get(keyOf({ plural, namespace, name }));
    return stored === undefined ? null : shown(stored);
  }

  async listen(port = 0): Promise<this> {
    const server = createServer((request, response) => {
      this.#handle(request).then(
        ([status, body]) =>
          response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body)),
        (error: Error) => {
          const { status = 500, reason = 'InternalError' } = error as Partial<Refusal>;
          const body = {
            kind: 'Status',
            apiVersion: 'v1',
            status: 'Failure',
            reason,
            code: status,
            message: error.message,
          };
          response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
        },
      );
    });
    this.#server = server;
    await new Promise<void>((done) => server.listen(port, '127.0.0.1', done));
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    return this;
  }

  async close(): Promise<void> {
    this.#server?.closeAllConnections();
    await new Promise((done) => this.#server?.close(done));
  }

  secret(namespace: string, name: string): Stored | undefined {
    return this.objects.get(`secrets/${namespace}/${name}`);
  }

  /** As somebody with kubectl would write an object. */
  edit(plural: string, object: Sent, manager = 'kubectl-edit'): Stored {
    const route = { plural, namespace: object.metadata.namespace, name: object.metadata.name };
    return this.#store(route, object, manager);
  }

  async #handle(request: IncomingMessage): Promise<[number, unknown]> {
    const url = new URL(request.url ?? '', 'http://api');
    const body = await readText(request);
    const isAdmin = request.headers.authorization === `Bearer ${this.adminToken}`;
    if (!isAdmin && request.headers.authorization !== `Bearer ${this.token}`) throw new Refusal(401, 'Unauthorized');
    const [route, version] = routeOf(url.pathname);
    const verb = verbOf(request.method ?? '', route);
    if (!isAdmin) this.calls.push(`${request.method} ${url.pathname}`);
    const may = (right: string) => isAdmin || this.rights.has(`${right} ${route.plural} ${route.namespace}`);
    if (!may(verb)) throw new Refusal(403, 'Forbidden');
    if (verb === 'list') return [200, this.#list(route, url.searchParams)];
    if (verb === 'get') return [200, shown(this.#existing(route))];
    const value = JSON.parse(body) as Sent & Record<string, unknown>;
    if (verb === 'delete') return [200, this.#remove(route, value)];
    if (verb === 'patch') {
      const { 'content-type': type } = request.headers;
      return this.#patch(route, { version, query: url.searchParams, type, value, mayCreate: may('create') });
    }
    if (request.headers['content-type'] !== 'application/json') throw new Refusal(415, 'UnsupportedMediaType');
    if (value.apiVersion !== version) throw new Refusal(400, 'BadRequest');
    return verb === 'create' ? this.#create(route, value) : this.#update(route, value);
  }

  #create(route: Route, value: Sent): [number, unknown] {
    const named = { ...route, name: value.metadata.name };
    if (!this.namespaces.has(route.namespace)) throw new Refusal(404, 'NotFound');
    if (this.objects.has(keyOf(named))) throw new Refusal(409, 'AlreadyExists');
    return [201, shown(this.#store(named, value, 'create'))];
  }

  #update(route: Route, value: Sent): [number, unknown] {
    const { metadata } = this.#existing(route);
    if (value.metadata.resourceVersion !== metadata.resourceVersion) throw new Refusal(409, 'Conflict');
    return [200, shown(this.#store(route, value, 'update'))];
  }

  #patch(route: Route, { version, query, type, value, mayCreate }: Patch): [number, unknown] {
    const manager = query.get('fieldManager');
    if (manager === null) throw new Refusal(422, 'Invalid');
    if (type === 'application/merge-patch+json') {
      const stored = this.#existing(route);
      const merged = mergePatch(shown(stored), value) as Sent;
      return [200, shown(this.#store(route, merged, manager))];
    }
    if (type !== 'application/apply-patch+yaml') throw new Refusal(415, 'UnsupportedMediaType');
    if (value.apiVersion !== version || value.metadata.name !== route.name) throw new Refusal(400, 'BadRequest');
    if (value.metadata.namespace !== route.namespace) throw new Refusal(400, 'BadRequest');
    const isNew = !this.objects.has(keyOf(route));
    if (isNew && !mayCreate) throw new Refusal(403, 'Forbidden');
    if (!this.namespaces.has(route.namespace)) throw new Refusal(404, 'NotFound');
    return [isNew ? 201 : 200, shown(this.#apply(route, value, manager, query.get('force') === 'true'))];
  }

  /** Server-side apply: our former fields that are not sent are removed, and those of others stay. */
  #apply(route: Route, value: Sent, manager: string, isForced: boolean): Stored {
    const before = this.objects.get(keyOf(route));
    const sent = fieldsOf(value);
    const fields = before === undefined ? new Map<string, string>() : fieldsOf(before);
    const owners = new Map([...(before?.owners ?? [])].map(([field, names]) => [field, new Set(names)]));
    for (const [field, text] of sent) {
      const others = [...(owners.get(field) ?? [])].filter((name) => name !== manager);
      const isConflict = others.length > 0 && fields.get(field) !== text;
      if (isConflict && !isForced) throw new Refusal(409, 'Conflict');
      owners.set(field, new Set([manager, ...(isConflict ? [] : others)]));
      fields.set(field, text);
    }
    for (const [field, names] of owners) {
      if (sent.has(field) || !names.delete(manager) || names.size > 0) continue;
      owners.delete(field);
      fields.delete(field);
    }
    return this.#write(route, { ...objectOf(fields), owners }, before);
  }

  #store(route: Route, value: Sent, manager: string): Stored {
    const before = this.objects.get(keyOf(route));
    const old = before === undefined ? new Map<string, string>() : fieldsOf(before);
    const owners = new Map<string, Set<string>>();
    for (const [field, text] of fieldsOf(value)) {
      const isSame = old.get(field) === text;
      owners.set(field, isSame ? new Set(before?.owners.get(field)) : new Set([manager]));
    }
    return this.#write(route, { ...objectOf(fieldsOf(value)), owners }, before);
  }

  #write(route: Route, next: Pick<Stored, 'owners'> & Partial<Stored>, before: Stored | undefined): Stored {
    const name = String(route.name);
    if (!NAME.test(name)) throw new Refusal(422, 'Invalid');
    const type = next.type ?? (route.plural === 'secrets' ? 'Opaque' : undefined);
    if (before !== undefined && before.type !== type) throw new Refusal(422, 'Invalid');
    let bytes = 0;
    for (const [key, text] of Object.entries(next.data ?? {})) {
      const value = Buffer.from(text, 'base64');
      // A real one fails here too, since it checks the text only when it stores the object.
      if (value.toString('base64') !== text) throw new Refusal(500, '');
      if (!KEY.test(key)) throw new Refusal(422, 'Invalid');
      bytes += value.length;
    }
    if (bytes > DATA_BYTES_MAX) throw new Refusal(422, 'Invalid');
    if (!(KEYS_OF_TYPES[type ?? '']?.(next.data ?? {}) ?? true)) throw new Refusal(422, 'Invalid');
    const stored: Stored = {
      ...next,
      ...(type !== undefined && { type }),
      metadata: {
        labels: next.metadata?.labels ?? {},
        annotations: next.metadata?.annotations ?? {},
        name,
        namespace: route.namespace,
        uid: before?.metadata.uid ?? randomUUID(),
        resourceVersion: before?.metadata.resourceVersion ?? '',
      },
    };
    const isSame = before !== undefined && isDeepStrictEqual(shown(before), shown(stored));
    if (!isSame) stored.metadata.resourceVersion = String(++this.#version);
    this.objects.set(keyOf(route), stored);
    return stored;
  }

  #remove(route: Route, options: Record<string, unknown>): unknown {
    const { metadata } = this.#existing(route);
    const { uid, resourceVersion } = (options['preconditions'] ?? {}) as Record<string, string>;
    if (uid !== undefined && uid !== metadata.uid) throw new Refusal(409, 'Conflict');
    if (resourceVersion !== undefined && resourceVersion !== metadata.resourceVersion)
      throw new Refusal(409, 'Conflict');
    assert.ok(uid !== undefined && resourceVersion !== undefined, 'the operator deletes only what it has looked at');
    this.objects.delete(keyOf(route));
    return { kind: 'Status', apiVersion: 'v1', status: 'Success' };
  }

  #list({ plural, namespace }: Route, query: URLSearchParams): unknown {
    const wanted = (query.get('labelSelector') ?? '').split(',').filter((part) => part !== '');
    const all = [...this.objects]
      .filter(([key]) => key.startsWith(`${plural}/${namespace}/`))
      .map(([, object]) => object)
      .filter(({ metadata }) =>
        wanted.every((part) => metadata.labels[part.split('=')[0] ?? ''] === part.split('=')[1]),
      );
    const start = Number(query.get('continue') ?? 0);
    const end = start + Number(query.get('limit') ?? all.length);
    return { metadata: end < all.length ? { continue: String(end) } : {}, items: all.slice(start, end).map(shown) };
  }

  #existing(route: Route): Stored {
    const object = this.objects.get(keyOf(route));
    if (object === undefined) throw new Refusal(404, 'NotFound');
    return object;
  }
}

function routeOf(path: string): [Route, string] {
  for (const [pattern, version] of ROUTES) {
    const match = pattern.exec(path);
    if (match === null) continue;
    const [, namespace = '', plural = '', name] = match;
    return [{ plural, namespace, name: name ?? null }, version];
  }
  throw new Refusal(404, 'NotFound');
}

function verbOf(method: string, { name }: Route): string {
  const verbs: Record<string, string> =
    name === null ? { GET: 'list', POST: 'create' } : { GET: 'get', PATCH: 'patch', PUT: 'update', DELETE: 'delete' };
  const verb = verbs[method];
  if (verb === undefined) throw new Refusal(405, 'MethodNotAllowed');
  return verb;
}

function keyOf({ plural, namespace, name }: Route): string {
  return `${plural}/${namespace}/${name}`;
}

function shown({ owners: _, ...object }: Stored): Omit<Stored, 'owners'> {
  return structuredClone(object);
}

/** The fields that have owners, each as JSON: labels, annotations and data one by one, and the rest as a whole. */
function fieldsOf(object: Sent): Map<string, string> {
  const fields = new Map<string, string>();
  const add = (prefix: string, values: object | undefined) => {
    for (const [key, value] of Object.entries(values ?? {})) fields.set(`${prefix}\n${key}`, JSON.stringify(value));
  };
  add('labels', object.metadata.labels);
  add('annotations', object.metadata.annotations);
  add('data', object.data);
  if (object.type !== undefined) fields.set('type', JSON.stringify(object.type));
  if (object.spec !== undefined) fields.set('spec', JSON.stringify(object.spec));
  return fields;
}

function objectOf(fields: ReadonlyMap<string, string>): Partial<Stored> {
  const part = (prefix: string) =>
    Object.fromEntries(
      [...fields]
        .filter(([field]) => field.startsWith(`${prefix}\n`))
        .map(([field, text]) => [field.slice(prefix.length + 1), JSON.parse(text)]),
    );
  const whole = (name: string) => (fields.has(name) ? { [name]: JSON.parse(fields.get(name) ?? '') } : {});
  const metadata = { labels: part('labels'), annotations: part('annotations') } as unknown as Stored['metadata'];
  const data = part('data');
  return { metadata, ...(Object.keys(data).length > 0 && { data }), ...whole('type'), ...whole('spec') };
}

function isJson(text: string | undefined): boolean {
  try {
    JSON.parse(Buffer.from(text ?? '', 'base64').toString('utf8'));
    return true;
  } catch {
    return false;
  }
}

/** RFC 7396. */
function mergePatch(target: unknown, patch: unknown): unknown {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch;
  const merged: Record<string, unknown> = { ...(target as object) };
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete merged[key];
    else merged[key] = mergePatch(merged[key], value);
  }
  return merged;
}
