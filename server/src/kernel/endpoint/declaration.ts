import type { Static, TObject, TSchema } from 'typebox';
import { addDeclaredActions, addDeclaredForms, addOperatorAction } from '../authz/declared-resources.ts';
import { addPlaintextAction } from '../authz/plaintext-actions.ts';
import { ERROR_CODES, type ErrorCode } from '../base/errors.ts';
import type { RateClass } from '../limits/rate-classes.ts';
import type { Work } from '../storage/database.ts';
import type { WireFormat } from '../wire/wire-format.ts';
import { type ApprovalKind, PENDING_STATUS } from './approval.ts';

export const CREDENTIAL_KINDS = [
  'pat',
  'session',
  'connection',
  'certificate',
  'bound_certificate',
  'federation',
  'workload',
  'cluster',
  'scim',
  'metrics',
] as const;
export type CredentialKind = (typeof CREDENTIAL_KINDS)[number];

export const CREDENTIAL_NAMES: Record<CredentialKind, string> = {
  pat: 'personal access token',
  session: 'session token',
  connection: 'client id and secret of an AppConnection',
  certificate: 'client certificate of an AppConnection',
  bound_certificate: 'client certificate and DPoP proof of an AppConnection',
  federation: 'token exchanged for a CI identity',
  workload: 'token exchanged for a workload identity',
  cluster: 'token of a cluster',
  scim: 'SCIM token of a sign-on provider',
  metrics: 'token of CV_METRICS_TOKEN',
};

/** Tokens of people and scripts. */
export const ANY_TOKEN: readonly CredentialKind[] = ['pat', 'session'];

/** Credentials of machines: the client headers of an AppConnection, or a token obtained in exchange for an external identity. */
export const ANY_MACHINE: readonly CredentialKind[] = ['connection', 'federation', 'workload'];

const MACHINE_KINDS: ReadonlySet<CredentialKind> = new Set([...ANY_MACHINE, 'certificate', 'bound_certificate']);

export const ANY_CALLER: readonly CredentialKind[] = [...ANY_TOKEN, ...ANY_MACHINE];

/** Written out explicitly, so that no part of a declaration is left out by accident. */
export const NONE = 'none';
type None = typeof NONE;

/** The parts of the reference, in the order of its contents. */
export const NOUN_GROUPS = ['Secrets', 'People', 'Machines', 'Cryptography', 'Administration'] as const;

/** What the reference says about a noun besides its endpoints. */
export interface AboutNoun {
  title: string;
  group: (typeof NOUN_GROUPS)[number];
  /** Pages of the guide about it. */
  guide: readonly string[];
  description: string;
}

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/**
 * The declaration of an endpoint. Every field that decides who may do what is required. Validation, authentication, authorization, limits, audit,
 * the OpenAPI document, the endpoint table and the test matrix are all derived from it.
 */
export interface EndpointDeclaration {
  /** The OpenAPI operation id. */
  name: string;
  method: Method;
  /** `{name}` is one segment. `{path*}`, allowed once, matches the rest of the path, or everything before a fixed last segment. */
  path: string;
  summary: string;
  description?: string;
  /** The noun under which the docs list it. */
  noun: string;
  /** What the docs say about the noun. At least one of its endpoints has it. */
  aboutNoun?: AboutNoun;

  credentials: readonly CredentialKind[] | 'public';
  /** `own`: acts inside the caller's tenant. `operator`: reserved for the tenant that runs the installation. */
  tenant: 'own' | 'operator' | None;
  /** Also open to callers who still have to enrol the second factor that their tenant requires, because they need it to enrol. */
  beforeEnrolment?: true;
  /** The action a policy must allow. `none`: every caller with an accepted credential is allowed. */
  permission: string | None;
  /** The resource to authorize: a template over the path parameters, or `loaded` if the handler decides with `ctx.access.authorize`. */
  resource: string | 'loaded' | None;
  /** For `loaded`: the forms of the resources decided on. `{name}` is one segment, `{path*}` one or more. */
  loads?: readonly string[];
  /** Further actions that the handler checks besides its permission. */
  alsoAsks?: readonly string[];
  rate: RateClass;
  /** The lowest plan whose tenants may use it. */
  tier: 'professional' | 'enterprise' | None;
  /** `forward`: if another region is the tenant's primary region, the response is 307 with its location. `local`: every region responds itself. */
  region: 'forward' | 'local';
  /** The kind of approval it may need. While it waits, the response is 202 with a `PendingApproval`. */
  approval: ApprovalKind | None;
  /**
   * Whether the service must see a secret's plaintext to respond. An auditor never gets such a permission. `by_secret`: only the plaintext of
   * secrets that the caller may read, each authorized by `secrets:read`.
   */
  plaintext: boolean | 'by_secret';
  /** The action in the audit log. `none` is allowed only for responses that reveal nothing about a tenant. */
  audit: string | None;
  /** Reads or changes many rows. A tenant's bulk requests wait for each other and never delay ordinary requests of other tenants. */
  bulk?: true;
  /**
   * `begins`: its response has the `token` of a new session, which the console gets as a cookie. `continues`: `session` in its response may have one.
   * `ends`: it ends the session of the caller.
   */
  session?: 'begins' | 'continues' | 'ends';
  /** Whether it changes anything. Only a `change` gets a transaction and accepts an Idempotency-Key. */
  effect: 'read' | 'change';

  params: TObject | None;
  query: TObject | None;
  body: TObject | None;
  bodyBytesMax: number;
  /** The handler gets the bytes of the body as they were sent (`ctx.rawBody`), because a signature covers them. Only for public endpoints. */
  rawBody?: true;
  /**
   * The body may also be an HTML form. `page`: only from a page of this service, because it may act with a cookie. `server`: from another server, whose
   * body itself proves who sent it. Only for public endpoints, because no other credential comes with a form.
   */
  form?: 'page' | 'server';
  /** Whether it is served under any host name. Only for probes, which name what they like, and tell nobody anything worth reading. */
  anyHost?: true;
  /** Answered also while the clock of this node is known to be wrong, although the audit entry then has the wrong time. */
  anyClock?: true;
  /** Keys and elements of the body, if more are needed than elsewhere. */
  bodyMembersMax?: number;
  /** Whether `If-Match` is part of the request. No other header is: the others identify the caller, not the operation. */
  ifMatch?: true;
  /** Whether `If-None-Match` is part of the request. If it names the current ETag, the response is 304 without a body. */
  ifNoneMatch?: true;
  status: 200 | 201 | 202 | 204;
  output: TSchema | None;
  /** The content type of a response that no schema validates. A test holds the list of endpoints allowed to have one. */
  raw: string | None;
  /** Further content types of such a response, where the query selects one. */
  otherRaw?: readonly string[];
  /** Whether the response is a stream of server-sent events if the caller accepts `text/event-stream`. Such an endpoint is bulk. */
  events?: true;
  /** The schema of such a response if it is JSON. It is documented but not validated, because the response may be too large. */
  rawSchema?: TSchema;
  /** For endpoints that follow a standard with content types and errors of its own. */
  format?: WireFormat;
  /** Error codes besides those that every endpoint of its kind can return (`errorCodes`). */
  errors: readonly ErrorCode[];
}

/** The status of a response to a caller who already has the current version. */
export const NOT_MODIFIED_STATUS = 304;
export const EVENT_STREAM = 'text/event-stream';

/** The default limit for bodies. */
export const BODY_BYTES_DEFAULT = 64 * 1024;
/** What most endpoints declare alike. Spread it first: what follows it differs. */
export const ORDINARY = {
  tenant: 'own',
  tier: NONE,
  region: 'forward',
  approval: NONE,
  plaintext: false,
  raw: NONE,
  bodyBytesMax: BODY_BYTES_DEFAULT,
} as const;
/** Room for `{}` with surrounding whitespace. */
const EMPTY_BODY_BYTES = 64;
/** Limit for unauthenticated callers: reading a body takes memory, and anyone can make the service spend it. */
export const PUBLIC_BODY_BYTES_MAX = 64 * 1024;

export function endpoint<const E extends EndpointDeclaration>(declaration: E): E {
  const problem = inconsistency(declaration);
  if (problem !== null) throw new Error(`endpoint ${declaration.name}: ${problem}`);
  if (declaration.plaintext === true) addPlaintextAction(declaration.permission);
  addDeclaredActions(declaration.permission, ...(declaration.alsoAsks ?? []));
  if (declaration.tenant === 'operator') addOperatorAction(declaration.permission);
  addDeclaredForms(...(declaration.loads ?? [declaration.resource]));
  return Object.freeze(declaration);
}

type Part<S> = S extends TSchema ? Static<S> : undefined;
export type Params<E extends EndpointDeclaration> = Part<E['params']>;
export type Query<E extends EndpointDeclaration> = Part<E['query']>;
export type Body<E extends EndpointDeclaration> = Part<E['body']>;
export type Output<E extends EndpointDeclaration> = E['raw'] extends None ? Part<E['output']> : string | Uint8Array;

export interface Input<E extends EndpointDeclaration = EndpointDeclaration> {
  params: Params<E>;
  query: Query<E>;
  body: Body<E>;
}

/** Whether a request of any page would be carried out, because it needs no credential; where the body itself proves who sent it, pages may send it. */
export function isOpenToPages({ method, credentials, form }: EndpointDeclaration): boolean {
  return method === 'POST' && credentials === 'public' && form !== 'server';
}

/** Every error code the endpoint can return: the declared ones and those that the declaration implies. */
export function errorCodes(e: EndpointDeclaration): ErrorCode[] {
  const codes = new Set<ErrorCode>(['INVALID_REQUEST', 'UNAVAILABLE', 'INTERNAL_ERROR', ...e.errors]);
  if (e.credentials !== 'public') codes.add('INVALID_TOKEN').add('IP_NOT_ALLOWED').add('RATE_LIMIT_EXCEEDED');
  if (e.credentials !== 'public') codes.add('INVALID_DPOP_PROOF').add('INSUFFICIENT_PRIVILEGE');
  if (e.credentials !== 'public') codes.add('SESSION_CHANGED');
  if (e.anyHost !== true) codes.add('UNKNOWN_HOST');
  // From a page of another site.
  if (isOpenToPages(e)) codes.add('INSUFFICIENT_PRIVILEGE');
  if (isForPeople(e) && e.beforeEnrolment !== true) codes.add('MFA_REQUIRED');
  if (e.credentials !== 'public' && e.credentials.some((kind) => MACHINE_KINDS.has(kind))) {
    codes.add('CERTIFICATE_REQUIRED').add('DPOP_REQUIRED').add('SESSION_LIMIT');
  }
  if (e.tier !== NONE) codes.add('TIER_REQUIRED');
  if (e.rate !== 'none') codes.add('RATE_LIMIT_EXCEEDED');
  if (e.params !== NONE || e.query !== NONE || e.body !== NONE || e.effect === 'change') codes.add('VALIDATION_FAILED');
  if (e.query === NONE) codes.add('VALIDATION_FAILED');
  if (e.method !== 'GET') codes.add('PAYLOAD_TOO_LARGE');
  if (e.effect === 'change') codes.add('IN_USE').add('REGION_FENCED');
  if (e.region === 'forward' && e.credentials !== 'public') codes.add('REGION_LOOP');
  return (Object.keys(ERROR_CODES) as ErrorCode[]).filter((code) => codes.has(code));
}

function isForPeople({ credentials }: EndpointDeclaration): boolean {
  return credentials !== 'public' && credentials.some((kind) => ANY_TOKEN.includes(kind));
}

/** TypeScript allows extra fields on a generic parameter, and nothing would enforce a misspelt one. */
const FIELDS: Record<keyof EndpointDeclaration, true> = {
  name: true,
  method: true,
  path: true,
  summary: true,
  description: true,
  noun: true,
  aboutNoun: true,
  credentials: true,
  tenant: true,
  beforeEnrolment: true,
  permission: true,
  resource: true,
  loads: true,
  alsoAsks: true,
  rate: true,
  tier: true,
  region: true,
  approval: true,
  plaintext: true,
  audit: true,
  bulk: true,
  session: true,
  effect: true,
  params: true,
  query: true,
  body: true,
  bodyBytesMax: true,
  rawBody: true,
  form: true,
  anyHost: true,
  anyClock: true,
  bodyMembersMax: true,
  ifMatch: true,
  ifNoneMatch: true,
  status: true,
  output: true,
  raw: true,
  otherRaw: true,
  events: true,
  rawSchema: true,
  format: true,
  errors: true,
};

/** Members that a schema does not mention would pass unchecked, so every object schema must say what happens to additional properties. */
function hasOpenObject(schema: unknown): boolean {
  if (typeof schema !== 'object' || schema === null) return false;
  const { type, additionalProperties } = schema as { type?: unknown; additionalProperties?: unknown };
  if (type === 'object' && additionalProperties === undefined) return true;
  return Object.values(schema).some(hasOpenObject);
}

function isJson(type: string): boolean {
  return type.startsWith('application/json');
}

/** Checks that the fields of a declaration do not contradict each other. */
function inconsistency(e: EndpointDeclaration): string | null {
  const unknown = Object.keys(e).filter((field) => !(field in FIELDS));
  if (unknown.length > 0) return `unknown fields: ${unknown}`;
  for (const part of [e.params, e.query, e.body]) {
    if (part !== NONE && hasOpenObject(part)) return 'an input object does not declare additionalProperties';
  }
  const isPublic = e.credentials === 'public';
  const templated = [...e.path.matchAll(/\{([a-z_]+)\*?\}/g)].map((m) => String(m[1]));
  const declared = e.params === NONE ? [] : Object.keys(e.params.properties);
  if (!/^\/[A-Za-z0-9/{}_.*-]*$/.test(e.path)) return 'malformed path';
  if (templated.join() !== declared.join()) return `path names (${templated}) but params declare (${declared})`;
  if (isPublic !== (e.tenant === NONE)) return 'an endpoint has no tenant if and only if it is public';
  if (isPublic && e.bodyBytesMax > PUBLIC_BODY_BYTES_MAX)
    return `a public body has at most ${PUBLIC_BODY_BYTES_MAX} bytes`;
  if (isPublic && e.permission !== NONE) return 'a public endpoint cannot require a permission';
  if (isPublic && e.tier !== NONE) return 'a public endpoint cannot require a plan, because its caller is unknown';
  if (e.tenant === 'operator' && e.tier !== NONE)
    return 'an endpoint for the operator cannot require a plan, because plans are those of its customers';
  if (e.plaintext !== false && e.permission === NONE)
    return 'an endpoint that returns or accepts values must require a permission';
  if ((e.permission === NONE) !== (e.resource === NONE)) return 'permission and resource must be declared together';
  if ((e.resource === 'loaded') !== (e.loads !== undefined))
    return 'loads must be declared if and only if the resource is loaded';
  if (!isPublic && e.audit === NONE) return 'an endpoint that requires a credential must be audited';
  if (e.approval !== NONE && (isPublic || e.effect !== 'change' || e.status === PENDING_STATUS)) {
    return 'only a change by an authenticated caller can wait for approval, and its own status must differ from that of a pending one';
  }
  if (e.rate === 'aggregate' && e.bulk !== true) return 'an endpoint with the rate aggregate must be bulk';
  if (e.events === true && (e.bulk !== true || e.output === NONE))
    return 'an endpoint with events must be bulk and have an output';
  if (e.bulk === true && isPublic)
    return 'a bulk endpoint cannot be public, because bulk work is shared between tenants';
  if (isPublic && e.bodyMembersMax !== undefined) return 'a public body has no more members than any other';
  if (e.rawBody === true && (!isPublic || e.body !== NONE || e.method !== 'POST'))
    return 'only a public POST without a schema for its body can get the bytes of its body';
  if (e.form !== undefined && (!isPublic || e.body === NONE))
    return 'only a public endpoint with a body accepts a form';
  if (e.format !== undefined && (!e.path.startsWith(`${e.format.under}/`) || e.raw !== NONE || e.approval !== NONE))
    return 'an endpoint with a format is under its path, and has neither raw responses nor an approval';
  if (e.ifNoneMatch === true && e.method !== 'GET') return 'only a GET can be not modified';
  if (e.method !== 'GET' && e.bodyBytesMax < EMPTY_BODY_BYTES)
    return 'the body limit must allow {}, which clients send where no body is required';
  if (e.method === 'GET' && (e.effect === 'change' || e.body !== NONE))
    return 'a GET cannot change anything or have a body';
  if ((e.status === 204) !== (e.output === NONE && e.raw === NONE))
    return 'an endpoint has no output if and only if its status is 204';
  if (e.raw !== NONE && e.output !== NONE) return 'a response is either raw or has a schema';
  if (isJson(e.raw) !== (e.rawSchema !== undefined)) return 'a raw response has a schema if and only if it is JSON';
  for (const match of e.resource.matchAll(/\{([a-z_]+)\}/g)) {
    if (!declared.includes(String(match[1]))) return `resource names {${match[1]}}, which the path does not`;
  }
  return null;
}

/** Which share of the database's connections a request of this endpoint uses. */
export function workOf({ bulk, credentials }: EndpointDeclaration): Work {
  if (bulk === true) return 'bulk';
  return credentials === 'public' ? 'authentication' : 'request';
}
