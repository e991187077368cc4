import type { Static, TObject, TSchema } from 'typebox';
import { type ApprovalKind, PENDING_STATUS } from './approval.ts';
import { addDeclaredActions, addDeclaredForms } from './authz/declared-words.ts';
import { addPlaintextAction } from './authz/plaintext-actions.ts';
import type { Context } from './context.ts';
import { ERROR_CODES, type ErrorCode } from './errors.ts';
import type { RateClass } from './limits/rate-classes.ts';
import type { Principal } from './principal.ts';

/** How a caller may prove who it is. */
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

/** A person's or script's token of either kind. */
export const ANY_TOKEN: readonly CredentialKind[] = ['pat', 'session'];

/** A machine's: the client headers of an AppConnection, or a token that was exchanged for another identity. */
export const ANY_MACHINE: readonly CredentialKind[] = ['connection', 'federation', 'workload'];

const MACHINE_KINDS: ReadonlySet<CredentialKind> = new Set([...ANY_MACHINE, 'certificate', 'bound_certificate']);

export const ANY_CALLER: readonly CredentialKind[] = [...ANY_TOKEN, ...ANY_MACHINE];

/** No such part: written out, so that leaving one out is never an accident. */
export const NONE = 'none';
type None = typeof NONE;

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/**
 * An endpoint, as data. Every field that decides who may do what is required; validation, authentication, authorization,
 * limits, audit, the OpenAPI document, the endpoint table and the test matrix are all made from this one declaration.
 */
export interface EndpointDeclaration {
  /** The OpenAPI operation id. */
  name: string;
  method: Method;
  /** `{name}` is one segment; `{path*}`, once, is the rest of the path or what stands before a fixed last segment. */
  path: string;
  summary: string;
  description?: string;
  /** The noun it belongs to in the docs. */
  noun: string;
  /** What the noun is, at one or more of its endpoints. */
  nounDescription?: string;

  credentials: readonly CredentialKind[] | 'public';
  /** `own`: acts inside the caller's tenant. `operator`: only for the tenant that runs the installation. */
  tenant: 'own' | 'operator' | None;
  /** Open to who still has to enrol the second factor that their tenant requires: what is needed to do so. */
  beforeEnrolment?: true;
  /** The action a policy must allow. `none`: every caller with an accepted credential. */
  permission: string | None;
  /** What it is asked on: a template over the path's parameters, or `loaded` if the handler decides with `ctx.authorize`. */
  resource: string | 'loaded' | None;
  /** Where it is `loaded`: the forms that a resource decided on has. `{name}` is one segment, `{path*}` one or more. */
  loads?: readonly string[];
  /** Actions beside its permission that its rule asks about. */
  alsoAsks?: readonly string[];
  rate: RateClass;
  /** The lowest plan whose tenants may use it. */
  tier: 'professional' | 'enterprise' | None;
  /** `forward`: for the tenant's own region to answer. `local`: for whichever region was asked. An installation has one region so far, which answers both. */
  region: 'forward' | 'local';
  /** What kind of approval it may need: it then answers 202 with a `PendingApproval` in place of its own answer. */
  approval: ApprovalKind | None;
  /**
   * Whether the service must see a secret's plaintext to answer: such a permission is never an auditor's. `by_secret`: only of secrets that the caller may
   * read, each decided by `secrets:read`.
   */
  plaintext: boolean | 'by_secret';
  /** The action the audit log names. `none` only for answers that tell nothing about a tenant. */
  audit: string | None;
  /** Reads or changes much: such requests of a tenant wait for each other, and never stand before ordinary ones of others. */
  bulk?: true;
  /** Whether it changes anything; only such an endpoint gets a transaction and accepts an Idempotency-Key. */
  effect: 'read' | 'change';

  params: TObject | None;
  query: TObject | None;
  body: TObject | None;
  bodyBytesMax: number;
  /** Whether `If-Match` is part of what is asked. No other header is: those that matter say who asks, not what. */
  ifMatch?: true;
  status: 200 | 201 | 202 | 204;
  output: TSchema | None;
  /** The type of an answer that no schema describes. On a tested allow-list. */
  raw: string | None;
  /** Other types that such an answer can have, where the query chooses. */
  otherRaw?: readonly string[];
  /** What such an answer is where it is JSON. It is described by this, and not checked: it may be too large. */
  rawSchema?: TSchema;
  /** Codes beside those every endpoint of its kind can answer with (`errorCodes`). */
  errors: readonly ErrorCode[];
}

/** Bodies are small unless an endpoint says otherwise. */
export const BODY_BYTES_DEFAULT = 64 * 1024;
/** Room for `{}` and the spaces that some write around it. */
const EMPTY_BODY_BYTES = 64;
/** Of callers that are not known: what is read for them costs memory that anyone can ask for. */
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

/** An answer too large to hold: it is written piece by piece, after everything about it is decided and recorded. */
export class Streamed {
  readonly pieces: AsyncIterable<string>;
  constructor(pieces: AsyncIterable<string>) {
    this.pieces = pieces;
  }
}

/** An answer that is in words already, as its schema has them: for what is read again and again. */
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
 * Asks for what the handler will need in one question with the tenant's epoch, which it answers with; null if there is nothing to gain. The
 * principal is the one known from before: it may be out of date, and nothing was checked yet, so nothing is decided here.
 */
export type Prefetch = (ctx: Context, known: Principal) => Promise<number | null> | null;

/** A declaration with the code that answers it. */
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

/** Every code the endpoint can answer with: its own, and those its declaration implies. */
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

/** The compiler does not refuse further fields of a generic parameter, and one that is misspelt would be enforced by nobody. */
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

/** What no schema speaks of would pass unchecked: whether further members are refused, or what they must be, is written out. */
function hasOpenObject(schema: unknown): boolean {
  if (typeof schema !== 'object' || schema === null) return false;
  const { type, additionalProperties } = schema as { type?: unknown; additionalProperties?: unknown };
  if (type === 'object' && additionalProperties === undefined) return true;
  return Object.values(schema).some(hasOpenObject);
}

function isJson(type: string): boolean {
  return type.startsWith('application/json');
}

/** What the declaration says twice must agree. */
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
