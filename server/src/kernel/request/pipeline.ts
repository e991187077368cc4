import type { AuditEntry } from '../audit/entry.ts';
import {
  type Authenticated,
  type Authentication,
  invalidToken,
  RefusedCredential,
  UnacceptedKind,
} from '../auth/authentication.ts';
import { UnsealError } from '../crypto/sealing.ts';
import type { BulkRequest } from '../fairness/bulk-requests.ts';
import { type InputValidator, inputValidator } from '../http/validation.ts';
import { ForgedRowError } from '../integrity/row-keys.ts';
import { addressGroup } from '../limits/address-group.ts';
import type { IdempotentRequest, SavedAnswer } from '../limits/idempotency.ts';
import type { RateState } from '../limits/rate-limiter.ts';
import {
  countByTenant,
  limitByAddress,
  limitByTenant,
  limitFailures,
  overLimit,
  rateHeaders,
} from '../limits/request-limits.ts';
import { CofferError, type ErrorCode } from '../platform/errors.ts';
import type { Kernel } from '../platform/kernel.ts';
import { adviceFor } from '../storage/advice.ts';
import type { Tx } from '../storage/database.ts';
import { recheck } from './acceptance.ts';
import { requireEnrolment, requireOwnTenant, requireTier } from './admission.ts';
import { PENDING_STATUS } from './approval.ts';
import type { ApprovalQueue } from './approval-queue.ts';
import { type BoundEndpoint, NotModified, Preserialized, Streamed } from './binding.ts';
import type { Call } from './call.ts';
import { OwnTransaction, requireLease } from './change.ts';
import { Context } from './context.ts';
import {
  CREDENTIAL_NAMES,
  type EndpointDeclaration,
  errorCodes,
  type Input,
  NONE,
  NOT_MODIFIED_STATUS,
} from './declaration.ts';
import { type CursorPlace, placeOfCursor, withBoundCursor, withPlainCursor } from './list-cursor.ts';
import type { Principal } from './principal.ts';
import { FORWARD_STATUS, ForeignCaller, ForwardedRequest } from './region-gate.ts';
import { errorReply, isRefusal, isStream, type Reply } from './reply.ts';
import { contentTypeIn, statusIn } from './wire-format.ts';

/** The tenant or address whose share of the body memory a body counts towards. */
export type BodyHolder = { tenantId: string } | { address: string };

/** The body of a request, which is read only once the caller is authenticated. */
export interface UnreadBody {
  /** Resolves to the parsed JSON, or to undefined if the body is empty. `membersMax` bounds its keys and elements, if not as usual. */
  read(holder: BodyHolder, bytesMax: number, membersMax?: number): Promise<unknown>;
  /** Resolves to the bytes as they were sent. */
  readBytes(holder: BodyHolder, bytesMax: number): Promise<Buffer>;
}

const RECORDED_AT_ONCE = 200;

/** An endpoint with everything that can be prepared before the first request. */
export interface ReadyEndpoint extends BoundEndpoint {
  validate: InputValidator;
  serialize(result: unknown): string;
  declaredErrors: ReadonlySet<ErrorCode>;
  cursorPlace: CursorPlace | null;
}

export function makeReady(bound: BoundEndpoint, serialize: (result: unknown) => string): ReadyEndpoint {
  const { declaration } = bound;
  return {
    ...bound,
    serialize,
    validate: inputValidator(declaration),
    declaredErrors: new Set(errorCodes(declaration)),
    cursorPlace: placeOfCursor(declaration),
  };
}

/** The steps of a request, in the order that the API contract requires. Parsing and the request id come before, in http/. */
export class Pipeline {
  readonly #kernel: Kernel;
  readonly #authentication: Authentication;
  readonly #approvals: ApprovalQueue;

  constructor(kernel: Kernel, authentication: Authentication, approvals: ApprovalQueue) {
    this.#kernel = kernel;
    this.#authentication = authentication;
    this.#approvals = approvals;
  }

  async answer(endpoint: ReadyEndpoint, call: Call, unread: UnreadBody | null): Promise<Reply> {
    const { declaration } = endpoint;
    let idempotent: IdempotentRequest | null = null;
    let rate: RateState | null = null;
    let bulk: BulkRequest | null = null;
    const storeResponse = async (tx: Tx, status: number, result: unknown) => {
      if (idempotent === null) return;
      await this.#kernel.idempotency.save(tx, idempotent, keptAnswer(endpoint, status, ctx, result));
    };
    const parts = { authentication: this.#authentication, approvals: this.#approvals, storeResponse };
    const ctx = new Context(this.#kernel, declaration, call, new OwnTransaction(parts));
    const { trace } = call;
    try {
      trace?.step('authenticate');
      rate = limitByAddress(ctx);
      if (declaration.credentials !== 'public') {
        const authenticating = this.#authenticate(endpoint, ctx, declaration.credentials);
        if (authenticating !== undefined) await authenticating;
        const admitting = this.#kernel.regionGate.admit(call, declaration, ctx.tenantId, ctx.caller.epoch);
        if (admitting !== undefined) await admitting;
        rate = declaration.session === 'ends' ? countByTenant(ctx) : limitByTenant(ctx);
        requireTier(ctx);
      }
      requireOwnTenant(ctx);
      requireEnrolment(ctx);
      trace?.step('parse');
      if (unread !== null) await this.#receive(ctx, unread);
      const input = endpoint.validate(ctx.call);
      trace?.step('authorize');
      authorizeDeclared(ctx);
      trace?.step('handle');
      if (declaration.bulk === true) bulk = await this.#kernel.bulkRequests.enter(ctx.tenantId);
      if (call.headers['idempotency-key'] !== undefined) idempotent = await this.#idempotentRequest(ctx);
      const done =
        idempotent === null
          ? { result: await answerOf(endpoint, ctx, input) }
          : await this.#kernel.idempotency.once(idempotent, () => answerOf(endpoint, ctx, input));
      const isReplay = 'saved' in done;
      if (isReplay) replay(ctx, done.saved);
      const reply = isReplay ? repeatedReply(endpoint, ctx, done.saved) : finishedReply(endpoint, ctx, done.result);
      if (ctx.outcome === null && declaration.audit !== NONE && !ctx.record.isUnrecorded) {
        trace?.step('audit');
        await this.#recordRead(ctx, reply.status);
      }
      if (declaration.effect === 'change') await requireLease(ctx, isReplay || ctx.outcome !== null);
      const { unlistedReads } = ctx.record;
      if (unlistedReads !== null) this.#countUnlisted(ctx, unlistedReads);
      const body =
        bulk !== null && isStream(reply.body)
          ? bulk.until(this.#untilRefused(endpoint, ctx, reply.body))
          : reply.body || null;
      return { status: reply.status, body, headers: replyHeaders(ctx, rate, { isReplay, hasBody: body !== null }) };
    } catch (error) {
      return error instanceof ForwardedRequest
        ? await this.#forward(endpoint, ctx, error)
        : await this.#refuse(endpoint, ctx, rate?.isExceeded === true ? overLimit(rate) : error, rate);
    } finally {
      bulk?.handled();
    }
  }

  /** A caller who is revoked while a response streams does not get the rest. The refusal is recorded and the response is cut off. */
  async *#untilRefused(endpoint: ReadyEndpoint, ctx: Context, pieces: AsyncIterable<string>): AsyncGenerator<string> {
    try {
      yield* pieces;
    } catch (error) {
      if (isRefusal(error)) await this.#refuse(endpoint, ctx, error, null);
      throw error;
    }
  }

  #countUnlisted({ principal }: Context, reads: ReadonlyMap<string, number>): void {
    for (const [vault, count] of reads) this.#kernel.unlistedReads.count(principal, vault, count);
  }

  /** An export has thousands of entries. Recorded all at once, they would fill the audit queue and delay the entries of every other request. */
  async #recordRead(ctx: Context, status: number): Promise<void> {
    const { audit } = this.#kernel;
    const entries = ctx.record.takeEntries(status);
    if (this.#kernel.regionGate.isOn) await this.#toLogOfRegion(ctx, entries);
    const [own] = entries;
    if (entries.length === 1 && own !== undefined) return audit.record(own);
    while (entries.length > 0) {
      await Promise.all(entries.splice(0, RECORDED_AT_ONCE).map((entry) => audit.record(entry)));
    }
  }

  /** The log of a tenant grows in its primary region only; elsewhere the operator's log has what was requested. */
  async #toLogOfRegion({ caller: { tenantIdOrNull, epoch } }: Context, entries: AuditEntry[]): Promise<void> {
    const { regionGate, operatorTenantId } = this.#kernel;
    if (tenantIdOrNull === null || (await regionGate.hasLogHere(tenantIdOrNull, epoch))) return;
    for (const entry of entries) entry.tenant_id = operatorTenantId;
  }

  /** Returns a promise only if there is something to wait for. */
  #authenticate(
    { prefetch }: ReadyEndpoint,
    ctx: Context,
    accepted: Exclude<EndpointDeclaration['credentials'], 'public'>,
  ): Promise<void> | undefined {
    const gate = {
      prefetch: (known: Principal) => prefetch?.(ctx, known) ?? null,
      recognize: (principal: Principal) => ctx.caller.recognize(principal),
    };
    const become = ({ principal, epoch, proofs }: Authenticated) => ctx.caller.become(principal, epoch, proofs);
    try {
      const authenticated = this.#authentication.authenticate(ctx, accepted, gate);
      if (authenticated instanceof Promise)
        return authenticated.then(become).catch((error) => this.#refuseCaller(ctx, error));
      become(authenticated);
    } catch (error) {
      refuseCaller(ctx, error);
    }
  }

  /** A caller whom only another region knows is forwarded, unless this endpoint never is. */
  async #refuseCaller(ctx: Context, error: unknown): Promise<never> {
    if (!(error instanceof ForeignCaller)) refuseCaller(ctx, error);
    ctx.caller.identify(error.token.tenantId, error.actor);
    await this.#kernel.regionGate.forwardForeign(ctx.call, ctx.declaration, error);
    refuseCaller(ctx, invalidToken('the tenant has no data in this region'));
  }

  async #receive(ctx: Context, unread: UnreadBody): Promise<void> {
    const { bodyBytesMax, bodyMembersMax, body, rawBody } = ctx.declaration;
    const { principalOrNull: principal } = ctx.caller;
    const holder = principal === null ? { address: addressGroup(ctx.call.address) } : { tenantId: principal.tenantId };
    const started = performance.now();
    ctx.call.deadline?.pause();
    const value = await (rawBody === true
      ? unread.readBytes(holder, bodyBytesMax)
      : unread.read(holder, bodyBytesMax, bodyMembersMax));
    ctx.call.deadline?.resume();
    ctx.receive(body === NONE && isEmptyObject(value) ? undefined : value);
    if (performance.now() - started < PROMPT_BODY_MS) return;
    await recheck(ctx).catch((error) => refuseCaller(ctx, error));
  }

  async #idempotentRequest(ctx: Context): Promise<IdempotentRequest | null> {
    const key = ctx.call.headers['idempotency-key'];
    if (key === undefined || ctx.declaration.effect !== 'change' || ctx.caller.principalOrNull === null) return null;
    const { tenantId, credentialId } = ctx.principal;
    const { params, body = null, url, headers } = ctx.call;
    const query = url.includes('?') ? url.slice(url.indexOf('?')) : '';
    const condition = headers['if-match'];
    // Added only if present, so that responses stored before these parts were included can still be replayed.
    const more = query === '' && condition === undefined ? [] : [query, condition ?? null];
    const asked = [ctx.declaration.name, params, body, ...more];
    return this.#kernel.idempotency.request(String(key), tenantId, credentialId, asked);
  }

  /** Recorded in the log of the operator, because the tenant's own log is in its primary region. */
  async #forward(endpoint: ReadyEndpoint, ctx: Context, { region, headers }: ForwardedRequest): Promise<Reply> {
    ctx.record.describe({ forwarded_to: region, tenant: ctx.caller.tenantIdOrNull });
    const entry = ctx.record.entry('allow', FORWARD_STATUS, 'forwarded to the primary region');
    try {
      await this.#kernel.audit.record({ ...entry, tenant_id: this.#kernel.operatorTenantId });
    } catch (failure) {
      return this.#refuse(endpoint, ctx, failure, null);
    }
    return { status: FORWARD_STATUS, headers: { ...headers }, body: null };
  }

  /** A refusal is recorded before the caller gets it. If it cannot be recorded, the response is 503 instead. */
  async #refuse(endpoint: ReadyEndpoint, ctx: Context, thrown: unknown, rate: RateState | null): Promise<Reply> {
    let error = this.#known(endpoint, ctx, thrown);
    if (endpoint.declaration.audit !== NONE && error.code !== 'UNAVAILABLE') {
      const isDenied = [401, 403, 429].includes(error.status);
      const status = statusIn(endpoint.declaration.format, error.code);
      const entry = ctx.record.entry(isDenied ? 'deny' : 'error', status, error.auditReason ?? error.code);
      try {
        await this.#toLogOfRegion(ctx, [entry]);
        await this.#kernel.refusals.record(entry, ctx.caller.principalOrNull !== null && error.status !== 429);
      } catch (failure) {
        error = this.#known(endpoint, ctx, failure);
      }
    }
    const headers = { ...(rate && rateHeaders(rate)), ...error.headers };
    if (error.retryAfterSeconds !== undefined) headers['Retry-After'] = String(error.retryAfterSeconds);
    const { accept } = ctx.call.headers;
    return errorReply(error, ctx.call.requestId, headers, { ...endpoint.declaration, accept });
  }

  /** Turns any error into one that may be shown to the caller. Unexpected errors are logged in full and reported as a 500. */
  #known({ declaration, declaredErrors }: ReadyEndpoint, ctx: Context, error: unknown): CofferError {
    const { log } = this.#kernel;
    const where = { endpoint: declaration.name, request_id: ctx.call.requestId };
    if (error instanceof UnsealError) {
      log.error({ err: error, ...where, what_to_do: NOT_OPENED }, 'a stored value cannot be decrypted');
      return new CofferError(
        'INTERNAL_ERROR',
        'A stored value was damaged or changed, and cannot be decrypted. Tell the operator of the service.',
      );
    }
    if (error instanceof ForgedRowError) {
      // The table and the row were logged where they were found.
      log.warn({ ...where }, 'a request needs a row that is refused');
      return new CofferError(
        'INTERNAL_ERROR',
        'A stored row was not written by the service, and is not trusted. Tell the operator of the service.',
      );
    }
    if (!(error instanceof CofferError)) {
      log.error({ err: error, ...where }, 'unexpected error');
      return new CofferError('INTERNAL_ERROR', 'The service failed. Give the request id to its operator.');
    }
    if (!declaredErrors.has(error.code)) log.error({ code: error.code, ...where }, 'undeclared error code');
    if (error.code === 'UNAVAILABLE') {
      log.warn({ err: error.cause, ...where, what_to_do: adviceFor(error.cause) }, 'unavailable');
    } else if (error.status >= 500) log.warn({ code: error.code, ...where }, 'a request failed');
    return error;
  }
}

/** A body that takes longer than this to arrive is a wait during which the caller's rights may have been revoked. */
const PROMPT_BODY_MS = 100;

const NOT_OPENED =
  'A stored value was damaged or changed. Keep a copy of the database, check its disk, and restore the value from a backup; other values are not affected.';

/** Some clients always send an object as the body. */
function isEmptyObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length === 0;
}

function refuseCaller(ctx: Context, error: unknown): never {
  if (error instanceof UnacceptedKind) refuseKind(ctx, error);
  if (error instanceof RefusedCredential && error.owner !== null)
    ctx.caller.identify(error.owner.tenantId, error.owner);
  if (error instanceof RefusedCredential && error.presented !== null) ctx.record.describe(error.presented);
  if (isRefusal(error)) limitFailures(ctx);
  throw error;
}

/** The caller is authenticated, so the refusal counts towards their own limit, not as a failed guess from their address. */
function refuseKind(ctx: Context, { principal, epoch, accepted }: UnacceptedKind): never {
  ctx.caller.become(principal, epoch);
  const rate = limitByTenant(ctx);
  const kinds = accepted.map((kind) => CREDENTIAL_NAMES[kind]).join(', ');
  throw new CofferError(
    'INSUFFICIENT_PRIVILEGE',
    `The credential is valid, but its kind is not accepted here. Accepted: ${kinds}.`,
    {
      auditReason: `a ${principal.credential} is not accepted here`,
      details: { accepted },
      headers: rateHeaders(rate),
    },
  );
}

function replyHeaders(
  ctx: Context,
  rate: RateState | null,
  { isReplay, hasBody }: { isReplay: boolean; hasBody: boolean },
): Record<string, string> {
  const headers: Record<string, string> = rate === null ? {} : rateHeaders(rate);
  if (isReplay) headers['Idempotency-Replayed'] = 'true';
  const { raw, format } = ctx.declaration;
  if (raw !== NONE) headers['Content-Type'] = raw;
  else if (format && hasBody) headers['Content-Type'] = contentTypeIn(format, ctx.call.headers.accept);
  for (const name in ctx.replyHeaders) headers[name] = ctx.replyHeaders[name] as string;
  return headers;
}

export function authorizeDeclared(ctx: Context): void {
  const { resource, credentials } = ctx.declaration;
  if (credentials === 'public') return;
  if (resource === NONE) ctx.access.authorizeCredentialOnly();
  else if (resource !== 'loaded') ctx.access.authorize(fillTemplate(resource, ctx.call.params));
}

function fillTemplate(template: string, params: Readonly<Record<string, string>>): string {
  return template.includes('{') ? template.replace(/\{([a-z_]+)\}/g, (_, name) => params[name] ?? '') : template;
}

/** A change that waits for approval ends its handler by throwing; the stored pending approval is then the response. */
function answerOf(endpoint: ReadyEndpoint, ctx: Context, input: Input): Promise<unknown> {
  const { declaration, handler, cursorPlace } = endpoint;
  if (cursorPlace !== null) return listPage(endpoint, ctx, cursorPlace, input);
  if (declaration.approval === NONE) return handler(ctx, input);
  return handler(ctx, input).catch((error) => {
    const { pending } = ctx;
    if (pending === null) throw error;
    return pending;
  });
}

async function listPage({ handler }: ReadyEndpoint, ctx: Context, place: CursorPlace, input: Input): Promise<unknown> {
  return withBoundCursor(ctx, await handler(ctx, await withPlainCursor(ctx, place, input)));
}

function finishedReply(endpoint: ReadyEndpoint, ctx: Context, result: unknown): Omit<Reply, 'headers'> {
  const { declaration } = endpoint;
  const { outcome } = ctx;
  if (outcome?.kind === 'pending') return { status: PENDING_STATUS, body: JSON.stringify(outcome.approval) };
  if (outcome !== null && outcome.result !== result) {
    throw new Error(`${declaration.name} must answer with what its change returned`);
  }
  ctx.access.refuseUndecided();
  if (result instanceof NotModified) {
    if (declaration.ifNoneMatch !== true) throw new Error(`${declaration.name} declares no If-None-Match`);
    return { status: NOT_MODIFIED_STATUS, body: null };
  }
  if (result instanceof Preserialized) return { status: declaration.status, body: result.text };
  if (result instanceof Streamed) {
    if (declaration.bulk !== true) throw new Error(`${declaration.name} streams, so it must be declared as bulk`);
    return { status: declaration.status, body: result.pieces };
  }
  if (declaration.raw !== NONE) return { status: declaration.status, body: result as string | Uint8Array };
  if (declaration.output === NONE) return { status: declaration.status, body: null };
  return { status: declaration.status, body: endpoint.serialize(result) };
}

/** No resource has an empty name. */
const CREDENTIAL_ALONE = '';

function keptAnswer(endpoint: ReadyEndpoint, status: number, ctx: Context, result: unknown): SavedAnswer {
  const { attributes, isCredentialEnough } = ctx.access;
  const resource = isCredentialEnough ? CREDENTIAL_ALONE : ctx.record.resource;
  const { output, status: own } = endpoint.declaration;
  if (status !== own) return { status, resource, attributes, body: JSON.stringify(result) };
  const kept = { status, resource, attributes };
  if (isBytes(endpoint, status)) return { ...kept, body: rawText(ctx, result as string | Uint8Array) };
  return { ...kept, body: output === NONE ? '' : endpoint.serialize(result) };
}

/** A raw response may be any bytes, so it is stored as base64 text. */
function isBytes({ declaration }: ReadyEndpoint, status: number): boolean {
  return declaration.raw !== NONE && status === declaration.status;
}

/** The headers are stored too, because one of them may hold the key that decrypts the bytes. */
function rawText({ replyHeaders }: Context, bytes: string | Uint8Array): string {
  return JSON.stringify({ headers: replyHeaders, base64: Buffer.from(bytes).toString('base64') });
}

function repeatedReply(endpoint: ReadyEndpoint, ctx: Context, { status, body }: SavedAnswer): Omit<Reply, 'headers'> {
  if (!isBytes(endpoint, status)) return { status, body };
  // Releases up to 0.4 stored the bytes without headers.
  const { headers, base64 } = body.startsWith('{') ? JSON.parse(body) : { headers: {}, base64: body };
  for (const name in headers) ctx.setHeader(name, headers[name]);
  return { status, body: Buffer.from(base64, 'base64') };
}

/** A `loaded` resource is authorized again, because rights may have changed since the response was stored. */
function replay(ctx: Context, saved: SavedAnswer): void {
  if (ctx.declaration.resource === 'loaded') {
    if (saved.resource === CREDENTIAL_ALONE) ctx.access.authorizeCredentialOnly();
    else ctx.access.authorize(saved.resource, saved.attributes);
  }
  ctx.record.describe({ idempotent_replay: true });
}
