import type { Static, TObject, TSchema } from 'typebox';
import { type ApprovalKind, PENDING_STATUS } from './approval.ts';
import { addDeclaredActions, addDeclaredForms } from './authz/declared-words.ts';
import { addPlaintextAction } from './authz/plaintext-actions.ts';
import type { Context } from './context.ts';
import { ERROR_CODES, type ErrorCode } from './errors.ts';
import type { RateClass } from './limits/rate-classes.ts';
import type { Principal } from './principal.ts';
import type { Work } from './storage/database.ts';

export const CREDENTIAL_KINDS = [
  'pat',
  'session',
  'connection',
  'certificate',
  'bound_certificate',
  'federation',
  'workload',
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
};

/** Tokens of people and scripts. */
export const ANY_TOKEN: readonly CredentialKind[] = ['pat', 'session'];

/** Credentials of machines: the client headers of an AppConnection, or a token obtained in exchange for an outside identity. */
export const ANY_MACHINE: readonly CredentialKind[] = ['connection', 'federation', 'workload'];

const MACHINE_KINDS: ReadonlySet<CredentialKind> = new Set([...ANY_MACHINE, 'certificate', 'bound_certificate']);

export const ANY_CALLER: readonly CredentialKind[] = [...ANY_TOKEN, ...ANY_MACHINE];

/** Written out explicitly, so that no part of a declaration is left out by accident. */
export const NONE = 'none';
type None = typeof NONE;

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
  /** Describes the noun. At least one of its endpoints has it. */
  nounDescription?: string;

  credentials: readonly CredentialKind[] | 'public';
  /** `own`: acts inside the caller's tenant. `operator`: reserved for the tenant that runs the installation. */
  tenant: 'own' | 'operator' | None;
  /** Also open to callers who still have to enrol the second factor that their tenant requires, because they need it to enrol. */
  beforeEnrolment?: true;
  /** The action a policy must allow. `none`: every caller with an accepted credential is allowed. */
  permission: string | None;
  /** The resource to authorize: a template over the path parameters, or `loaded` if the handler decides with `ctx.authorize`. */
  resource: string | 'loaded' | None;
  /** For `loaded`: the forms of the resources decided on. `{name}` is one segment, `{path*}` one or more. */
  loads?: readonly string[];
  /** Further actions that the handler checks besides its permission. */
  alsoAsks?: readonly string[];
  rate: RateClass;
  /** The lowest plan whose tenants may use it. */
  tier: 'professional' | 'enterprise' | None;
  /** `forward`: the tenant's own region must respond. `local`: any region can. An installation has one region so far, which handles both. */
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
  /** Whether it changes anything. Only a `change` gets a transaction and accepts an Idempotency-Key. */
  effect: 'read' | 'change';

  params: TObject | None;
  query: TObject | None;
  body: TObject | None;
  bodyBytesMax: number;
  /** Whether `If-Match` is part of the request. No other header is: the others identify the caller, not the operation. */
  ifMatch?: true;
  status: 200 | 201 | 202 | 204;
  output: TSchema | None;
  /** The content type of a response that no schema validates. A test holds the list of endpoints allowed to have one. */
  raw: string | None;
  /** Further content types of such a response, where the query selects one. */
  otherRaw?: readonly string[];
  /** The schema of such a response if it is JSON. It is documented but not validated, because the response may be too large. */
  rawSchema?: TSchema;
  /** Error codes besides those that every endpoint of its kind can return (`errorCodes`). */
  errors: readonly ErrorCode[];
}

/** The default limit for bodies. */
export const BODY_BYTES_DEFAULT = 64 * 1024;
/** Room for `{}` with surrounding whitespace. */
const EMPTY_BODY_BYTES = 64;
/** Limit for unauthenticated callers: reading a body takes memory, and anyone can make the service spend it. */
export const PUBLIC_BODY_BYTES_MAX = 64 * 1024;

export function endpoint<const E extends EndpointDeclaration>(declaration: E): E {
  const problem = inconsistency(declaration);
  if (problem !== null) throw new Error(`endpoint ${declaration.name}: ${problem}`);
  if (declaration.plaintext === true) addPlaintextAction(declaration.permission);
  addDeclaredActions(declaration.permission, ...(declaration.alsoAsks ?? []));
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

/** A response too large for memory. It is written piece by piece, after it was authorized and recorded. */
export class Streamed {
  readonly pieces: AsyncIterable<string>;
  constructor(pieces: AsyncIterable<string>) {
    this.pieces = pieces;
  }
}

/** A response that is already JSON as its schema requires, for resources that are read often. */
export class Preserialized {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

export type Handler<E extends EndpointDeclaration> = (
  ctx: Context,
  input: Input<E>,
) => Promise<Output<E> | Streamed | Preserialized>;

/**
 * Loads the rows that the handler will need in the same round trip as the tenant's epoch, and resolves to that epoch; null if there is nothing to
 * gain. `known` is a cached principal that may be stale, and nothing has been checked yet, so this must not decide anything.
 */
export type Prefetch = (ctx: Context, known: Principal) => Promise<number | null> | null;

/** A declaration with its handler. */
export interface BoundEndpoint {
  declaration: EndpointDeclaration;
  handler(ctx: Context, input: Input): Promise<unknown>;
  prefetch: Prefetch | null;
}

export function bind<E extends EndpointDeclaration>(
  declaration: E,
  handler: Handler<E>,
  prefetch: Prefetch | null = null,
): BoundEndpoint {
  return { declaration, handler: handler as unknown as BoundEndpoint['handler'], prefetch };
}

/** Every error code the endpoint can return: the declared ones and those that the declaration implies. */
export function errorCodes(e: EndpointDeclaration): ErrorCode[] {
  const codes = new Set<ErrorCode>(['INVALID_REQUEST', 'UNAVAILABLE', 'INTERNAL_ERROR', ...e.errors]);
  if (e.credentials !== 'public') codes.add('INVALID_TOKEN').add('IP_NOT_ALLOWED').add('RATE_LIMIT_EXCEEDED');
  if (e.credentials !== 'public') codes.add('INVALID_DPOP_PROOF').add('INSUFFICIENT_PRIVILEGE');
  if (isForPeople(e) && e.beforeEnrolment !== true) codes.add('MFA_REQUIRED');
  if (e.credentials !== 'public' && e.credentials.some((kind) => MACHINE_KINDS.has(kind))) {
    codes.add('CERTIFICATE_REQUIRED').add('DPOP_REQUIRED').add('SESSION_LIMIT');
  }
  if (e.tier !== NONE) codes.add('TIER_REQUIRED');
  if (e.rate !== 'none') codes.add('RATE_LIMIT_EXCEEDED');
  if (e.params !== NONE || e.query !== NONE || e.body !== NONE || e.effect === 'change') codes.add('VALIDATION_FAILED');
  if (e.query === NONE) codes.add('VALIDATION_FAILED');
  if (e.method !== 'GET') codes.add('PAYLOAD_TOO_LARGE');
  if (e.effect === 'change') codes.add('IN_USE');
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
  nounDescription: true,
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
  effect: true,
  params: true,
  query: true,
  body: true,
  bodyBytesMax: true,
  ifMatch: true,
  status: true,
  output: true,
  raw: true,
  otherRaw: true,
  rawSchema: true,
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
  if (unknown.length > 0) return `nothing enforces ${unknown}`;
  for (const part of [e.params, e.query, e.body]) {
    if (part !== NONE && hasOpenObject(part)) return 'an object of its input says nothing of further members';
  }
  const isPublic = e.credentials === 'public';
  const templated = [...e.path.matchAll(/\{([a-z_]+)\*?\}/g)].map((m) => String(m[1]));
  const declared = e.params === NONE ? [] : Object.keys(e.params.properties);
  if (!/^\/[A-Za-z0-9/{}_.*-]+$/.test(e.path)) return 'malformed path';
  if (templated.join() !== declared.join()) return `path names (${templated}) but params declare (${declared})`;
  if (isPublic !== (e.tenant === NONE)) return 'a public endpoint, and only that, has no tenant';
  if (isPublic && e.bodyBytesMax > PUBLIC_BODY_BYTES_MAX)
    return `a public body has at most ${PUBLIC_BODY_BYTES_MAX} bytes`;
  if (isPublic && e.permission !== NONE) return 'a public endpoint cannot demand a permission';
  if (isPublic && e.tier !== NONE) return 'only a caller that is known has a plan';
  if (e.plaintext !== false && e.permission === NONE) return 'what shows or takes values demands a permission';
  if ((e.permission === NONE) !== (e.resource === NONE)) return 'permission and resource go together';
  if ((e.resource === 'loaded') !== (e.loads !== undefined)) return 'a loaded resource, and only that, says its forms';
  if (!isPublic && e.audit === NONE) return 'what needs a credential is audited';
  if (e.approval !== NONE && (isPublic || e.effect !== 'change' || e.status === PENDING_STATUS)) {
    return 'only a change by somebody known can wait for approval, and is told from one that need not by its status';
  }
  if (e.rate === 'aggregate' && e.bulk !== true) return 'what is limited as aggregate is bulk';
  if (e.bulk === true && isPublic) return 'bulk work is shared out by tenant, so its caller is known';
  if (e.method !== 'GET' && e.bodyBytesMax < EMPTY_BODY_BYTES) return 'clients send {} where no body is needed';
  if (e.method === 'GET' && (e.effect === 'change' || e.body !== NONE)) return 'a GET changes nothing and has no body';
  if ((e.status === 204) !== (e.output === NONE && e.raw === NONE)) return '204 and nothing else has no output';
  if (e.raw !== NONE && e.output !== NONE) return 'an answer is raw or has a schema';
  if (isJson(e.raw) !== (e.rawSchema !== undefined)) return 'a raw answer says what it is if it is JSON, and only then';
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
